"""From chapter sources to notebooks: what they hold, when they run, when they are stale."""

from __future__ import annotations

import json
import os
import re
from datetime import date

import nbformat
import pytest
import torch

from qkv.authoring.build.building import build_editions, carry_outputs
from qkv.authoring.build.chapter import Code, Ids, Prose, Task, read_chapter, without_links_ahead
from qkv.authoring.build.editions import solved_edition, student_edition
from qkv.authoring.build.fingerprint import meaning, of_outputs, reached
from qkv.course import AuthoringError, Chapter, Course


def run_build(course: Course, *stems: str, **options: bool) -> tuple[int, str]:
    said: list[str] = []
    code = build_editions(stems or None, course=course, say=said.append, **options)
    return code, "\n".join(said)


def chapter(course: Course, stem: str = "tiny") -> Chapter:
    return course.chapters([stem])[0]


def edit(course: Course, before: str, after: str, stem: str = "tiny") -> None:
    path = chapter(course, stem).source
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


# ---- reading


def test_chapters_are_found_by_stem_number_and_name(tiny: Course) -> None:
    assert [c.name for c in tiny.chapters()] == ["01_tiny", "02_second"]
    for wanted in ("second", "2", "02", "02_second", "book/chapters/02_second.md"):
        assert [c.number for c in tiny.chapters([wanted])] == [2]
    with pytest.raises(AuthoringError, match=r"No chapter third in book/chapters; there are: tiny, second."):
        tiny.chapters(["third"])


def test_a_draft_is_built_when_it_is_asked_for(tiny: Course) -> None:
    toc = tiny.root / "_toc.yml"
    toc.write_text(toc.read_text("utf-8").replace("  - file: book/chapters/02_second\n", ""), "utf-8")
    assert [c.name for c in tiny.chapters()] == ["01_tiny"]
    assert [c.name for c in tiny.chapters(["second"])] == ["02_second"]
    assert [c.name for c in tiny.on_disk()] == ["01_tiny", "02_second"]


def test_a_chapter_that_is_listed_but_not_written_is_told(tiny: Course) -> None:
    chapter(tiny, "second").source.unlink()
    with pytest.raises(
        AuthoringError, match=r"_toc.yml lists book/chapters/02_second.md, which does not exist: write it"
    ):
        tiny.chapters()


def test_the_parts_of_a_chapter_know_their_lines(tiny: Course) -> None:
    parts = read_chapter(chapter(tiny), tiny)
    lines = chapter(tiny).source.read_text("utf-8").splitlines()
    tasks = [part for part in parts if isinstance(part, Task)]
    assert [(task.number, task.name, task.terms) for task in tasks] == [
        ("1.1", "mean", ["2 points", "about 10 minutes, ●○○"]),
        ("1.2", "Counter", ["1 point"]),
    ]
    assert tasks[0].forbidden == "Not allowed here: the statistics module."
    for part in parts:
        if isinstance(part, Prose):
            assert lines[part.line - 1] == part.text.splitlines()[0]
        else:
            assert lines[part.line - 1].startswith("```{code-cell}")
    assert isinstance(parts[1], Code)
    assert parts[1].tags == ("setup",)


def test_links_to_chapters_that_nobody_has_written_yet_are_text() -> None:
    text = "[Two](02_second.md#a), [`three` and](03_third.md#why-x) [four](04_fourth.md), [out](https://x.org/05_x.md)"
    assert without_links_ahead(text, {1, 2}) == "[Two](02_second.md#a), `three` and four, [out](https://x.org/05_x.md)"


def test_mistakes_in_a_chapter_are_told_with_their_line(tiny: Course) -> None:
    edit(tiny, "\nCounter\n", "\nmean\n")
    with pytest.raises(AuthoringError, match=r"01_tiny.md:\d+: the exercise mean stands in this chapter twice"):
        read_chapter(chapter(tiny), tiny)
    edit(tiny, "[exercise]\n\nmean", "[exercise]\n\nmean(x)")
    with pytest.raises(AuthoringError, match=r"holds the exercise's name alone, not 'mean\(x\)'"):
        read_chapter(chapter(tiny), tiny)
    edit(tiny, "mean(x)", "median")
    with pytest.raises(AuthoringError, match=r"01_tiny.md:\d+: .*tiny.py defines no function or class median"):
        read_chapter(chapter(tiny), tiny)


# ---- editions


def test_the_student_edition_has_stubs_and_no_outputs(tiny: Course) -> None:
    parts = read_chapter(chapter(tiny), tiny)
    notebook = student_edition(tiny, chapter(tiny), parts)
    nbformat.validate(notebook)
    cells = {cell.id: cell for cell in notebook.cells}
    assert cells["mean"].source.endswith("raise NotImplementedError(\"write it, or skip('mean')\")")
    assert cells["check-mean"].source == "check(mean)"
    assert cells["exercise-mean"].source.startswith("> **Exercise 1.1: `mean`** (2 points, about 10 minutes, ●○○)")
    assert "Not allowed here: the statistics module." in cells["exercise-mean"].source
    assert "total / len" not in nbformat.writes(notebook)
    assert all(
        cell.outputs == [] and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code"
    )
    assert notebook.cells[0].source.startswith("# A tiny chapter")
    order = [cell.id for cell in notebook.cells if cell.id in ("exercise-mean", "mean", "check-mean")]
    assert order == ["exercise-mean", "mean", "check-mean"]


def test_the_solved_edition_has_the_source_of_the_reference(tiny: Course) -> None:
    parts = read_chapter(chapter(tiny), tiny)
    notebook = solved_edition(tiny, chapter(tiny), parts)
    cells = {cell.id: cell for cell in notebook.cells}
    assert "# the sum first: it may overflow" in cells["mean"].source
    assert "@expects" not in nbformat.writes(notebook)
    assert "[the student edition](../notebooks/01_tiny.ipynb)" in notebook.cells[0].source


def test_ids_change_with_their_own_cell_alone(tiny: Course) -> None:
    before = [cell.id for cell in student_edition(tiny, chapter(tiny), read_chapter(chapter(tiny), tiny)).cells]
    edit(tiny, "## Counting\n", "## Counting on\n")
    after = [cell.id for cell in student_edition(tiny, chapter(tiny), read_chapter(chapter(tiny), tiny)).cells]
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    ids = Ids()
    assert [ids.of("x = 1") == ids.of("x = 1"), ids.named("Self_Attention"), ids.named("Self_Attention")] == [
        False,
        "Self-Attention",
        "Self-Attention-2",
    ]


def test_hidden_input_is_folded_in_jupyterlab_too(tiny: Course) -> None:
    edit(tiny, "```{code-cell} ipython3\nprint(", "```{code-cell} ipython3\n:tags: [hide-input]\n\nprint(")
    notebook = student_edition(tiny, chapter(tiny), read_chapter(chapter(tiny), tiny))
    hidden = [cell for cell in notebook.cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert [cell.source.split("(")[0] for cell in hidden if cell.id != "install"] == ["print"]


# ---- building


def test_the_solved_edition_is_run_and_says_on_what(built: Course) -> None:
    text = chapter(built).solved.read_text("utf-8")
    notebook = nbformat.reads(text, as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    assert cells["check-mean"].outputs[0].text == "mean: passed\n"
    figure = next(o for c in notebook.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {}))
    alt = "The mean rises from 3.3 at p = 0.5 towards 7 as p grows."
    assert figure.metadata["image/png"] == {"width": 688, "height": 320, "alt": alt}
    assert figure.data["text/plain"] == f"Figure: {alt}"
    assert set(notebook.metadata) == {"kernelspec", "language_info", "qkv"}
    assert notebook.metadata.language_info == {"name": "python", "pygments_lexer": "ipython3"}
    made = notebook.metadata.qkv.made
    assert re.fullmatch(r".+ \((DEFAULT|AVX2|AVX512|.+)\)", made.processor)
    assert (made.torch, made.date) == (torch.__version__.partition("+")[0], date.today().isoformat())
    assert str(built.root) not in text
    assert "execution" not in {key for cell in notebook.cells for key in cell.metadata}
    assert [c.execution_count for c in notebook.cells if c.cell_type == "code"] == list(range(1, 8))


def test_a_second_build_runs_nothing_and_changes_nothing(built: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "qkv.authoring.build.building.run_solved_edition", lambda *_: pytest.fail("ran a fresh chapter")
    )
    before = {path: path.read_bytes() for path in built.root.glob("*/*.ipynb")}
    code, said = run_build(built)
    assert code == 0
    assert said.count("fresh") == 4
    assert before == {path: path.read_bytes() for path in built.root.glob("*/*.ipynb")}
    assert run_build(built, check=True) == (0, "2 chapters: all editions are fresh.")


def test_a_build_elsewhere_that_runs_nothing_leaves_the_name_of_the_machine(built: Course) -> None:
    solved = chapter(built).solved
    text = solved.read_text("utf-8")
    made = nbformat.reads(text, as_version=4).metadata.qkv.made
    solved.write_text(text.replace(made.processor, "Babbage's engine").replace(made.date, "1843-07-10"), "utf-8")
    assert run_build(built, check=True)[0] == 0
    assert run_build(built)[0] == 0
    assert "Babbage's engine" in solved.read_text("utf-8")
    notebook = nbformat.read(solved, as_version=4)
    del notebook.metadata.qkv["made"]
    nbformat.write(notebook, solved)
    assert run_build(built, check=True)[0] == 1  # numbers of nobody knows which machine are made again


def test_new_prose_does_not_run_the_chapter_again(built: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "qkv.authoring.build.building.run_solved_edition", lambda *_: pytest.fail("ran for a change of prose")
    )
    edit(built, "What is a mean?", "What is an average?")
    code, said = run_build(built, check=True)
    assert code == 1
    assert "stale    notebooks/01_tiny.ipynb differs from what its source gives" in said
    assert "stale    solutions/01_tiny.ipynb differs from what its source gives" in said
    assert said.endswith("stale: 2. Refresh with: qkv build tiny")
    assert run_build(built)[0] == 0
    solved = nbformat.read(chapter(built).solved, as_version=4)
    assert "What is an average?" in solved.cells[1].source
    assert {c.id: c for c in solved.cells}["check-mean"].outputs[0].text == "mean: passed\n"


def test_a_comment_or_a_docstring_does_not_run_the_chapter_again(
    built: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qkv.authoring.build.building.run_solved_edition", lambda *_: pytest.fail("ran for a comment"))
    model = chapter(built).model
    text = model.read_text("utf-8").replace("# back again", "# and back").replace("The power mean of", "Average")
    model.write_text(text, "utf-8")
    edit(built, 'print(f"{mean(', '# the same\nprint(f"{mean(')
    assert run_build(built, check=True)[0] == 1
    code, said = run_build(built)
    assert code == 0
    assert "written  solutions/01_tiny.ipynb" in said
    solved = nbformat.read(chapter(built).solved, as_version=4)
    cells = {cell.id: cell for cell in solved.cells}
    assert "# and back" in cells["mean"].source
    assert cells["check-mean"].outputs[0].text == "mean: passed\n"


@pytest.mark.parametrize(
    "changed",
    ["a cell", "the reference", "the stored code", "the stored file"],
    ids=lambda name: name.replace(" ", "-"),
)
def test_changed_code_is_stale_until_it_has_run(built: Course, changed: str) -> None:
    solved = chapter(built).solved
    if changed == "a cell":
        edit(built, "power=2.0", "power=3.0")
    elif changed == "the reference":
        model = chapter(built).model
        model.write_text(model.read_text("utf-8").replace("1 / power)  #", "1.0 / power)  #"), "utf-8")
    elif changed == "the stored code":
        solved.write_text(solved.read_text("utf-8").replace("power=2.0", "power=4.0"), "utf-8")
    else:
        solved.write_text("{}", "utf-8")
    code, said = run_build(built, check=True)
    assert code == 1
    assert "solutions/01_tiny.ipynb " in said
    code, said = run_build(built, "tiny")
    assert code == 0
    assert "written  solutions/01_tiny.ipynb, run in" in said
    assert run_build(built, check=True)[0] == 0


def test_a_students_work_is_never_overwritten(built: Course) -> None:
    mine = chapter(built).student
    notebook = nbformat.read(mine, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.id == "mean")
    cell.source, cell.execution_count = "def mean(values, power=1.0):\n    return 42", 3
    nbformat.write(notebook, mine)
    for n in (1, 2):
        code, said = run_build(built, "tiny")
        assert code == 0
        assert (f"kept     notebooks/01_tiny.mine-{n}.ipynb: somebody has worked in 01_tiny.ipynb" in said) == (n == 1)
    assert "return 42" in (mine.parent / "01_tiny.mine-1.ipynb").read_text("utf-8")
    assert "return 42" not in mine.read_text("utf-8")
    assert run_build(built, check=True)[0] == 0


def test_force_runs_again(built: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(
        "qkv.authoring.build.building.run_solved_edition", lambda notebook, chapter: ran.append(chapter.stem)
    )
    run_build(built, "second", force=True)
    assert ran == ["second"]


def test_an_edition_whose_chapter_is_gone_is_stale(built: Course) -> None:
    chapter(built, "second").source.unlink()
    toc = built.root / "_toc.yml"
    toc.write_text(toc.read_text("utf-8").replace("  - file: book/chapters/02_second\n", ""), "utf-8")
    code, said = run_build(built, check=True)
    assert code == 1
    assert "stale    notebooks/02_second.ipynb has no chapter in book/chapters; delete it" in said


def test_a_cell_that_fails_is_told_and_writes_nothing(tiny: Course) -> None:
    edit(tiny, "print(1 + 1)", "print(1 / 0)", "second")
    code, said = run_build(tiny, "second")
    assert code == 1
    assert "failed   book/chapters/02_second.md: a cell failed." in said
    assert "ZeroDivisionError" in said
    assert not chapter(tiny, "second").solved.exists()


def test_prose_has_the_numbers_of_the_cells(tiny: Course) -> None:
    edit(tiny, "print(1 + 1)\n```", "print('sum', 1 + 1)\n```\n\nTogether they are {sum}, not 0.93.", "second")
    code, said = run_build(tiny, "second")
    assert code == 0, said
    for path in (chapter(tiny, "second").student, chapter(tiny, "second").solved):
        assert nbformat.read(path, as_version=4).cells[-1].source == "Together they are 2, not 0.93."
    assert "note     book/chapters/02_second.md: numbers in prose that come from no cell: 0.93 (line" in said
    assert run_build(tiny, "second", check=True)[0] == 0


def test_a_slot_without_its_number_is_told_and_the_run_is_kept(tiny: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(tiny, "print(1 + 1)\n```", "print('sum', 1 + 1)\n```\n\nTogether they are {total}.", "second")
    code, said = run_build(tiny, "second")
    assert code == 1
    assert "in the text that begins there: the slot {total} names 'total', with which no line printed above" in said
    monkeypatch.setattr("qkv.authoring.build.building.run_solved_edition", lambda *_: pytest.fail("ran again"))
    edit(tiny, "{total}", "{sum}", "second")
    assert run_build(tiny, "second")[0] == 0


def test_lines_that_do_not_fit_the_page_are_told(tiny: Course) -> None:
    edit(tiny, "print(1 + 1)", f"print('{'x' * 90}')", "second")
    code, said = run_build(tiny, "second")
    assert code == 0
    line = chapter(tiny, "second").source.read_text("utf-8").splitlines().index(f"print('{'x' * 90}')")
    assert f"02_second.md: 1 lines of code are wider than the page (87), first in the cell at {line}" in said
    assert "note     book/chapters/02_second.md: printed lines are wider than the page (87): 'xxx" in said


def test_an_unknown_chapter_is_told(tiny: Course) -> None:
    assert run_build(tiny, "third") == (1, "No chapter third in book/chapters; there are: tiny, second.")


def test_outputs_are_carried_only_between_equal_cells(built: Course) -> None:
    stored = nbformat.read(chapter(built).solved, as_version=4)
    other = nbformat.read(chapter(built, "second").solved, as_version=4)
    with pytest.raises(ValueError, match="shorter"):
        carry_outputs(stored, other)


# ---- freshness

CARDS = ("proctor.examining.result",)


def test_the_fingerprint_follows_the_modules_that_a_chapter_reaches(tiny: Course) -> None:
    source = tiny.root / "src" / "qkv"
    files = {
        "figures/__init__.py": "from qkv.figures.style import show\n",
        "figures/style.py": "import matplotlib\n",
        "figures/tiny.py": "",
        "figures/tiny.html": "",
        "figures/second.py": "",
        "tasks/retrieval.py": "from qkv.tasks import words\n",
        "tasks/words.py": "",
        "exercises/tiny/first.py": "from qkv.model.later import thing\n",
        "model/earlier.py": "from qkv.model.expect import expects\n",
        "model/expect.py": "",
        "model/later.py": "",
        "../proctor/examining/result.py": "",
        "notebook/checking.py": "",
    }
    for name, text in files.items():
        (source / name).resolve().parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, "utf-8")
    cells = [
        "from qkv import check, figures\nfrom qkv.figures.tiny import plot",
        "%time x\n",
        "import qkv.tasks.retrieval as r\nfrom qkv.model.earlier import thing",
    ]
    found = {os.path.relpath(path, source).replace(os.sep, "/") for path in reached(chapter(tiny), cells, CARDS)}
    assert found == {
        "figures/__init__.py", "figures/style.py", "figures/tiny.py", "figures/tiny.html",
        "tasks/retrieval.py", "tasks/words.py",
        "model/earlier.py", "../proctor/examining/result.py",
    }  # fmt: skip
    notebook = solved_edition(tiny, chapter(tiny), read_chapter(chapter(tiny), tiny))
    notebook.cells.append(nbformat.v4.new_code_cell(cells[2]))
    before = of_outputs(chapter(tiny), notebook)
    (source / "model" / "later.py").write_text("x = 1\n", "utf-8")
    assert of_outputs(chapter(tiny), notebook) == before
    (source / "model" / "expect.py").write_text("expects = 1\n", "utf-8")  # what refuses bad input computes nothing
    assert of_outputs(chapter(tiny), notebook) == before
    (source / "model" / "earlier.py").write_text("def unrelated():\n    return thing\n", "utf-8")
    assert of_outputs(chapter(tiny), notebook) == before  # nothing here uses it
    (source / "model" / "earlier.py").write_text("thing = 1\n", "utf-8")
    assert of_outputs(chapter(tiny), notebook) != before


def test_the_meaning_of_code_is_what_can_change_an_output() -> None:
    code = 'def f(x):\n    """Words."""\n    # why\n    return (x + 1)\n'
    assert meaning(code) == meaning("def f(x):\n    return x+1")
    assert meaning(code) != meaning(code.replace("1", "1.0"))
    assert meaning(code) != meaning(code.replace("x + 1", "1 + x"))
    assert meaning("x = 'a'") != meaning("x = b'a'")
    assert meaning("%time x") == "%time x"


def test_the_file_is_the_same_on_every_system(built: Course) -> None:
    raw = chapter(built).student.read_bytes()
    assert raw.endswith(b"}\n")
    assert b"\r" not in raw
    assert json.loads(raw)["nbformat_minor"] == 5
