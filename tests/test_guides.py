"""The guides tell the truth: what they show is what the commands print, and what deploys the book fits the Makefile."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from proctor.grading import similarity
from proctor.sandbox import describe_tiers
from qkv import check
from qkv.commands.cli import main
from qkv.course import Course
from qkv.exercises.lookup import softmax

ROOT = Path(__file__).resolve().parents[1]
STUDENTS, INSTRUCTORS, DEPLOYING = (
    (ROOT / "book" / "guides" / f"{name}.md").read_text("utf-8") for name in ("students", "instructors", "deploying")
)
ANYTHING = "…"


def fences(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.M | re.S)


def transcripts(text: str) -> list[tuple[str, list[str]]]:
    """What guides show of a terminal: (command, the lines that it prints)."""
    found: list[tuple[str, list[str]]] = []
    for line in "".join(fences(text, "console")).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def shown_of(text: str, beginning: str) -> list[list[str]]:
    return [lines for command, lines in transcripts(text) if command.startswith(beginning)]


def is_shown(lines: list[str], printed: str) -> bool:
    """Were these lines printed, in this order? An ellipsis stands for any others.

    How many exercises a chapter has, and so how many points a class can get, is no matter of the guides: `3 of 13` is
    shown by `0 of 4`.
    """
    lines, printed = [counts_aside(line) for line in lines], counts_aside(printed)
    pattern = "\n".join(".*" if line == ANYTHING else re.escape(line) for line in lines).replace("\n.*", "(\n.*)?")
    return re.search(rf"(?s)\A{pattern}\Z", printed.strip()) is not None


def counts_aside(text: str) -> str:
    return re.sub(r"[\d.]+ of [\d.]+\b", "# of #", text)


def test_transcripts_are_compared_line_by_line() -> None:
    assert is_shown(["a 1 of 4 b"], "a 2.5 of 13 b")
    assert not is_shown(["a 1 of 4 b"], "a 2 out of 13 b")
    assert is_shown(["a", ANYTHING, "d"], "a\nb\nc\nd\n")
    assert is_shown(["a", ANYTHING], "a\n")
    assert not is_shown(["a", "c"], "a\nb\nc")
    assert not is_shown(["b"], "a\nb")


# ---- students


def test_hints_and_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    shown = [(command, lines) for command, lines in transcripts(STUDENTS) if command.split()[1] in ("hint", "status")]
    assert len(shown) == 3
    for command, lines in shown:
        assert is_shown(lines, CliRunner().invoke(main, command.split()[1:]).output), command


def test_the_card() -> None:
    (code,), (card, _) = fences(STUDENTS, "python"), fences(STUDENTS, "text")
    written: dict[str, Any] = {"__name__": "__main__"}
    exec(code, written)
    assert str(check(written["softmax"])) == card.strip()


def test_the_card_of_the_first_page() -> None:
    text = (ROOT / "book" / "index.md").read_text("utf-8")
    (code,), (card,) = fences(text, "python"), fences(text, "text")
    written: dict[str, Any] = {"__name__": "__main__"}
    exec(code, written)
    assert str(check(written["scaled_dot_product_attention"])) == card.strip()


def test_the_result_of_the_first_page_is_what_the_trained_model_wrote() -> None:
    text = (ROOT / "book" / "index.md").read_text("utf-8")
    printed = (ROOT / "solutions" / "08_transformer.ipynb").read_text("utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| ([^a-z|]+) \|$", text, flags=re.M)
    assert len(rows) == 2
    for words, numeral in rows:
        assert re.search(rf"{words} +{numeral}", printed), words


# ---- instructors


def test_the_doctor() -> None:
    (lines,) = shown_of(INSTRUCTORS, "qkv doctor")
    _, works, reason = describe_tiers()[0]
    if works:
        assert lines[1] == f"sandbox: bubblewrap  in force: {reason}"


@pytest.mark.slow
def test_a_class_is_graded_and_exported_as_shown(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command, lines in transcripts(INSTRUCTORS):
        if command.split()[1] in ("grade", "export"):
            limits = ["--timeout", "6"] if command.split()[1] == "grade" else []
            words = [sys.executable, "-m", "qkv", *shlex.split(command)[1:], *limits]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            shown = lines[lines.index(ANYTHING) + 1 :] if ANYTHING in lines else lines
            assert is_shown(shown, done.stdout), done.stdout
    assert {"canvas.csv", "moodle.csv", "class.zip", "results"} <= {path.name for path in tmp_path.iterdir()}
    alike = (tmp_path / "results" / "summary.html").read_text("utf-8").partition("look alike")[2]
    if similarity.copydetect_available():
        assert re.search(r"maya</a>.*ulla</a>.*100 %", alike, flags=re.S)
        assert "| maya | ulla | 100 % |" in INSTRUCTORS


def test_the_numbers_of_the_security_section() -> None:
    assert len(list((ROOT / "tests" / "attacks" / "submissions").glob("*.py"))) > 60
    assert f"at least {similarity.NEARLY:.0%}".replace("%", " %") in INSTRUCTORS


def test_each_plan_has_every_chapter_once() -> None:
    chapters = [chapter.number for chapter in Course(ROOT).chapters()]
    for plan in fences(INSTRUCTORS, "{syllabus}"):
        weeks = [line.partition(":")[2].strip() for line in plan.splitlines()]
        planned = [int(n) for week in weeks if re.fullmatch(r"[\d, ]+", week) for n in week.split(",")]
        assert set(chapters) <= set(planned), "book/guides/instructors.md: give the chapter a week in both plans"
        assert planned == sorted(set(planned))


# ---- authors


def test_the_misconception_that_contributors_read_is_one_of_ours() -> None:
    (shown,) = re.findall(r"^   ```python\n(.*?)^   ```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M | re.S)
    assert textwrap.dedent(shown).strip() in inspect.getsource(softmax)


# ---- what deploys the book

CONTAINER = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
WORKFLOW, TESTING = WORKFLOWS["book"], WORKFLOWS["test"]
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_what_the_container_copies_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    copies = [line.split()[1:] for line in CONTAINER.splitlines() if line.startswith("COPY")]
    sources = [source for words in copies if not words[0].startswith("--from") for source in words[:-1]]
    assert "requirements.lock" in sources
    assert [source for source in sources if not (ROOT / source).exists() or source in ignored] == []


def test_they_run_what_the_makefile_has() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = {*re.findall(r"^([a-z]+):", makefile, flags=re.M), *re.findall(r"^ENV := (\S+)$", makefile, flags=re.M)}
    runs = [line.split()[1:] for line in CONTAINER.splitlines() if line.startswith("RUN make")]
    runs += [step["run"].split() for step in STEPS if "run" in step]
    assert ["make", "book"] in runs
    assert all(run[0] == "make" and set(run[1:]) <= targets for run in runs)


def test_all_publish_the_folder_that_is_built() -> None:
    uploads = [step["with"]["path"] for step in STEPS if "upload-pages" in step.get("uses", "")]
    assert uploads == ["_build/html"]
    assert "/_build/html " in CONTAINER
    assert "`_build/html`" in DEPLOYING


def test_every_python_that_is_promised_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    tested = TESTING["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert [name.rsplit(" ", 1)[1] for name in project["classifiers"] if ":: Python ::" in name] == tested
    first, last = tested[0], tested[-1]
    assert project["requires-python"] == f">={first},<3.{int(last.split('.')[1]) + 1}"
    words = f"{', '.join(tested[:-1])} or {last}"
    for page in ("README.md", "Makefile", "book/index.md", "book/guides/students.md", "book/guides/instructors.md"):
        assert f"Python {words}" in (ROOT / page).read_text("utf-8"), page
    assert TESTING["jobs"]["test"]["steps"][-1]["run"] == "make PYTHON=python test"


def test_quick_checks_come_first_and_everything_runs_at_night() -> None:
    jobs = TESTING["jobs"]
    assert jobs["quick"]["steps"][-1]["run"] == "make PYTHON=python check"
    assert {job["needs"] for name, job in jobs.items() if name != "quick"} == {"quick"}
    (night,) = WORKFLOWS["nightly"]["jobs"].values()
    assert night["steps"][-1]["run"] == "make PYTHON=python test ARGS=all"


def test_windows_and_mac_take_the_steps_of_the_readme() -> None:
    """The README's command for Windows is the one that a job runs; what it checks is there and is what it says."""
    first_steps = TESTING["jobs"]["first-steps"]
    assert first_steps["strategy"]["matrix"]["system"] == ["windows-latest", "macos-latest"]
    runs = [step["run"] for step in first_steps["steps"] if "run" in step]
    (commands,) = fences((ROOT / "README.md").read_text("utf-8"), "bat")
    assert commands.splitlines()[0] in runs
    named = [path for run in runs for path in re.findall(r"answers/\S+\.py", run)]
    codes = [CliRunner().invoke(main, ["check", str(ROOT / path)]).exit_code for path in named]
    assert [path.split("/")[2] for path in named] == ["right", "wrong"]
    assert codes == [0, 1]


def test_actions_are_pinned_and_may_do_little() -> None:
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", "a@" + "0" * 40)), step
    assert "pull_request" in WORKFLOW["jobs"]["publish"]["if"]


def test_binder_installs_the_lock_and_the_course() -> None:
    first, second = (ROOT / "binder" / "requirements.txt").read_text("utf-8").split("\n")[:2]
    assert (ROOT / "binder" / first.removeprefix("-r ")).resolve() == ROOT / "requirements.lock"
    assert second == "-e ."


def test_the_settings_of_the_buttons_are_jupyter_books_own() -> None:
    import jupyter_book

    known = yaml.safe_load(Path(jupyter_book.__file__).with_name("default_config.yml").read_text("utf-8"))
    (shown,) = fences(DEPLOYING, "yaml")
    for section, settings in yaml.safe_load(shown).items():
        assert set(settings) <= set(known[section]), section


def test_the_card_of_the_first_page_s_choice_is_the_one_that_its_line_gets() -> None:
    """Of the four lines one is wrong, and the page shows what `check` says to the four."""
    page = (ROOT / "book" / "index.md").read_text("utf-8")
    (block,) = re.findall(r'<fieldset class="try">.*?</fieldset>', page, re.S)
    lines = [unescape(line) for line in re.findall(r"<label[^>]*><code>(.*?)</code>", block)]
    (head,) = re.findall(r"<legend><code>(.*?)</code>", block)
    (card,) = re.findall(r"<pre[^>]*>(.*?)</pre>", block, re.S)
    written: dict[str, Any] = {"__name__": "__main__"}
    exec("\n    ".join([head, *lines]), written)
    assert str(check(written["scaled_dot_product_attention"])) == unescape(card).strip()
    masked = "scores = scores if mask is None else scores.masked_fill(~mask, float('-inf'))"
    right = [lines[0], masked, lines[1], lines[3]]  # with the mask before the softmax, the other three lines stand
    exec("\n    ".join([head, *right]), written)
    assert check(written["scaled_dot_product_attention"]).state == "passed"
    answers = re.findall(r'</label>\n<(p|div) class="try-answer">', block)
    assert answers == ["p", "p", "div", "p"]
