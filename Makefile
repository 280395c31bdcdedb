# QKV. The two commands that matter: `make start` and, for authors, `make test`. Both make the environment .venv first,
# when it is missing or older than the lock file.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
QKV := $(BIN)/qkv
ENV := .venv/ready
ALL := .venv/all

.DEFAULT_GOAL := help
.PHONY: help start test check elsewhere book build lint format demo bench wheel lock clean

help: ## list what make can do
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 11

start: $(ENV) ## serve the book and JupyterLab on your notebooks (Ctrl-C ends both)
	@$(QKV) start $(ARGS)

test: export BEGAN := $(shell date +%s)
test: $(ALL) ## run what CI runs, a quarter of the longest each day; ARGS=all: everything
	@.ci/test $(ARGS)

check: $(ALL) ## style, types, stale editions, changed exercises, quick tests: a minute
	@$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy && $(QKV) build --check && \
	  $(QKV) lint --changed --salts 2 && \
	  OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist loadfile --quick -m "not slow and not browser"

elsewhere: $(ALL) ## run all solved editions on other processors and seeds
	@.ci/elsewhere $(ARGS)

book: $(ENV) ## build the HTML book into _build/html
	@$(QKV) book

build: $(ENV) ## make notebooks/ and solutions/ from book/chapters
	@$(QKV) build

lint: $(ALL) ## style, types, and the proof of every exercise
	@$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy && $(QKV) lint

format: $(ALL) ## let ruff mend what it can
	@$(BIN)/ruff check --fix && $(BIN)/ruff format

demo: $(ENV) ## grade the sample class in examples/class and show its summary
	@$(QKV) grade examples/class --out _build/demo --seed 1 --timeout 10
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
	  $(BIN)/python -m webbrowser "file://$(CURDIR)/_build/demo/summary.html"; fi

bench: $(ALL) ## measure against other graders, into benchmarks/RESULTS.md
	@$(BIN)/python benchmarks/run.py $(ARGS)

wheel: $(ENV) ## the course as one file for pip, with notebooks and book, in dist/
	@.ci/wheel

lock: ## pin what .venv has of all that the project needs
	@$(BIN)/python .ci/lock > requirements.new && mv requirements.new requirements.lock

clean: ## remove what was built (not .venv)
	rm -rf _build .mypy_cache .pytest_cache .ruff_cache

# .venv/ready and .venv/all name the folder for which .venv was made: a clone that was moved or copied gets a new one.
# `ready` has what the book and the notebooks need, `all` what tests and authors need as well.
ifneq ($(shell cat $(ENV) 2>/dev/null || cat $(ALL) 2>/dev/null),$(CURDIR))
.PHONY: $(ENV) $(ALL)
endif

$(ENV): requirements.lock pyproject.toml
	@$(call environment,learn)
	@printf '%s' "$(CURDIR)" > $(ENV)

$(ALL): requirements.lock pyproject.toml
	@$(call environment,all)
	@printf '%s' "$(CURDIR)" > $(ALL); printf '%s' "$(CURDIR)" > $(ENV)

define environment
$(or $(PYTHON),false) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
  { echo "QKV needs Python 3.11, 3.12 or 3.13. Name one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || .ci/tools python3-venv || exit 1; \
if ! $(BIN)/python -m pip --version >/dev/null 2>&1 || { [ -f $(ENV) ] && [ "$$(cat $(ENV))" != "$(CURDIR)" ]; }; then \
  echo "Making the environment .venv"; $(PYTHON) -m venv --clear .venv || exit 1; fi; \
$(BIN)/python .ci/install $(1)
endef
