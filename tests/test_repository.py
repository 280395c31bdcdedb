"""What must hold of the repository as a whole: it names no machine, the lock is plain, the README tells the truth."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from qkv import __version__
from qkv.authoring.build.editions import INSTALL
from qkv.commands.cli import main
from qkv.notebook.workspace import ALSO_READ

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text("utf-8").splitlines()


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_folder_of_tests_is_passed_over(request: pytest.FixtureRequest) -> None:
    """pytest leaves folders out by their names, without a word."""
    ignored = request.config.getini("norecursedirs")
    folders = {
        parent for path in tracked() for parent in path.relative_to(ROOT).parents if path.name.startswith("test_")
    }
    assert [str(folder) for folder in folders if any(fnmatch(folder.name, pattern) for pattern in ignored)] == []


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in tracked():
        try:
            found.append((path, path.read_text("utf-8")))
        except UnicodeDecodeError:
            continue  # a picture or a font
    return found


# ---- no machine's paths


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    home = re.compile(r"(?<![\w.$}])/(?:home|Users|root|work)/[\w.]+")
    here = str(ROOT)
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path, text in texts()
        if path != Path(__file__)
        for number, line in enumerate(text.splitlines(), 1)
        if home.search(line) or (len(ROOT.parts) > 2 and here in line)
    ]
    assert not wrong, "paths of one machine in tracked files:\n" + "\n".join(wrong)


def test_no_file_is_large() -> None:
    """Solved editions are the largest: they hold every figure twice, for wide pages and for phones."""
    large = [
        f"{path.relative_to(ROOT)}: {path.stat().st_size >> 10} KB" for path in tracked() if path.stat().st_size > 2**21
    ]
    assert not large


# ---- advice for AI assistants


def test_assistants_read_the_same_by_every_name() -> None:
    advice = (ROOT / "AGENTS.md").read_text("utf-8")
    for name in ALSO_READ:
        assert (ROOT / name).read_text("utf-8") == advice, name


# ---- the lock file


def test_the_lock_is_plain_pins_in_order() -> None:
    wrong = [line for line in LOCK if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9A-Za-z.]+", line)]
    assert not wrong, f"only name==version, without addresses or local labels such as +cpu: {wrong}"
    names = [canonicalize_name(line.split("==")[0]) for line in LOCK]
    assert len(names) == len(set(names))
    assert sorted(LOCK, key=str.upper) == LOCK


def declared(*extras: str) -> list[Requirement]:
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("requirement", declared(*PROJECT["optional-dependencies"]), ids=lambda needed: needed.name)
def test_what_the_project_declares_is_pinned_within_its_range(requirement: Requirement) -> None:
    pins = {canonicalize_name(name): version for name, version in (line.split("==") for line in LOCK)}
    assert canonicalize_name(requirement.name) in pins, "pin it: see CONTRIBUTING.md, 'Change a dependency'"
    assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


def test_the_lock_holds_all_that_is_needed_and_nothing_else() -> None:
    now = subprocess.run([sys.executable, ROOT / ".ci" / "lock"], capture_output=True, text=True, check=True).stdout
    assert now.splitlines() == LOCK, "`make lock` writes it anew"


# declared because they are run, read or found by others, not imported
NOT_IMPORTED = {"numpy", "jupyterlab", "ipykernel", "jupyter-book", "sphinx-mathjax-offline"}


def imported(folder: str = "src") -> dict[str, Path]:
    """What source or notebooks import beside ours and Python's own: top-level name -> a file that does."""
    found: dict[str, Path] = {}
    for path in sorted([*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.ipynb")]):
        for node in ast.walk(ast.parse(code_of(path))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for top in {name.split(".")[0] for name in names} - {"qkv", "proctor"} - sys.stdlib_module_names:
                found.setdefault(top, path.relative_to(ROOT))
    return found


def code_of(path: Path) -> str:
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")


def test_the_project_declares_what_its_source_imports_and_nothing_else() -> None:
    known = packages_distributions()
    used = {top: {canonicalize_name(name) for name in known.get(top, [top])} for top in imported()}
    needed = {canonicalize_name(requirement.name) for requirement in declared("chapters", "notebooks", "book")}
    optional = {
        canonicalize_name(requirement.name)
        for requirement in declared("chapters", "notebooks", "book", "cluster", "similarity", "pretrained")
    }
    undeclared = {top: str(path) for top, path in imported().items() if not used[top] & optional}
    assert not undeclared, "imported, but not in pyproject.toml"
    assert needed - set().union(*used.values()) <= NOT_IMPORTED, "declared, but not imported"


@pytest.mark.parametrize(
    "folder", ["notebooks", *(f"src/qkv/{part}" for part in ("figures", "tasks", "model", "exercises"))]
)
def test_colab_gets_all_that_the_chapters_need(folder: str) -> None:
    known = packages_distributions()
    there = {canonicalize_name(requirement.name) for requirement in declared("chapters")} | {"ipython"}
    missing = {top for top in imported(folder) if there.isdisjoint(map(canonicalize_name, known.get(top, [top])))}
    assert not missing, "add them to the extra `chapters` in pyproject.toml"
    assert 'pip install -q "./qkv[chapters]"' in (ROOT / "book" / "guides" / "students.md").read_text("utf-8")


def test_the_first_cell_installs_what_the_chapters_need_and_no_jupyterlab() -> None:
    (line,) = re.findall(r'needs = "(.*)"', INSTALL)
    wanted = {canonicalize_name(requirement.name) for requirement in [*declared(), *declared("chapters")]}
    assert set(map(canonicalize_name, line.split())) == wanted
    assert not {"jupyterlab", "ipykernel", "ipython"} & wanted, "it would take the place of the one that is running"


def test_every_folder_of_the_source_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "src").rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]


def test_one_version() -> None:
    assert PROJECT["version"] == __version__
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], " AND ".join(citation["license"])) == (__version__, PROJECT["license"])
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]


# ---- the documents tell the truth


def shell_lines(document: str) -> list[str]:
    text = (ROOT / document).read_text("utf-8")
    blocks = re.findall(r"^```(sh|bash|bat|console|powershell)\n(.*?)^```", text, flags=re.M | re.S)
    inline = re.findall(r"`((?:make|qkv|\.venv/bin/qkv) [^`\n]*)`", text)
    lines = [line for kind, block in blocks for line in block.splitlines() if kind != "console" or line[:2] == "$ "]
    return [line.removeprefix("$ ").split(" #")[0].strip() for line in lines if line.strip()] + inline


GUIDES = [f"book/guides/{path.name}" for path in sorted((ROOT / "book" / "guides").glob("*.md"))]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "book/index.md", *GUIDES]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_of_the_documents_exist(document: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.M))
    commands = [re.sub(r"^(\S*[/\\])?(make|qkv)\b", r"\2", line).split() for line in shell_lines(document)]
    ours = [command for command in commands if command[0] in {"make", "qkv"}]
    assert ours or document in GUIDES, f"{document} names no command"
    for command in ours:
        if command[0] == "make":
            assert set(command[1:]) - {word for word in command if "=" in word} <= targets, command
        else:
            known = main.get_command(click.Context(main), command[1])
            if isinstance(known, click.Group):  # such as `qkv new exercise`
                known = known.get_command(click.Context(known), command[2])
            assert known is not None, f"{document} says `{' '.join(command)}`; there is no such command"
            options = {name for parameter in known.params for name in parameter.opts}
            used = {word.split("=")[0] for word in command if word.startswith("--")}
            assert used <= options, f"{document}: `qkv {command[1]}` has no {used - options}"
            for option in (p for p in known.params if isinstance(p.type, click.Choice)):
                said = [command[i + 1] for i, word in enumerate(command[:-1]) if word in option.opts]
                assert set(said) <= set(option.type.choices), f"{document}: `{' '.join(command)}`"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_links_of_the_documents_lead_somewhere(document: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / document).read_text("utf-8"))
    missing = [link for link in links if not (ROOT / document).parent.joinpath(link).exists()]
    assert not missing


def test_the_feedback_in_the_readme_is_what_a_student_gets() -> None:
    from qkv import check

    text = (ROOT / "README.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    (shown,) = re.findall(r"^```text\n(.*?)^```", text, flags=re.M | re.S)
    written: dict[str, Any] = {"__name__": "__main__"}
    exec(code, written)
    assert str(check(written["scaled_dot_product_attention"])) == shown.strip()
