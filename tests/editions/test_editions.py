"""The real chapters: their editions are fresh and whole, and chapter, exercises and table of contents agree."""

from __future__ import annotations

import ast
import json
import re
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import nbformat
import pytest

from proctor import WeightsExercise
from qkv import course, exercises
from qkv.authoring.build.building import build_editions
from qkv.authoring.build.chapter import Code, Prose, Task, read_chapter
from qkv.authoring.build.editions import PREDICTION
from qkv.authoring.build.fingerprint import of_measures, of_outputs
from qkv.authoring.build.prose_numbers import unread
from qkv.authoring.publish.covers import cover
from qkv.course import Chapter, Course

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
CHAPTERS = COURSE.chapters()
CLOSING = ["What to take away", "Break it", "Further reading"]

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)


def headings(chapter: Chapter) -> list[str]:
    prose = "\n".join(part.text for part in read_chapter(chapter, COURSE) if isinstance(part, Prose))
    return [re.sub(r"[`*]", "", line.lstrip("#").strip()) for line in prose.splitlines() if line.startswith("#")]


def test_every_edition_is_what_its_source_gives() -> None:
    said: list[str] = []
    assert build_editions(check=True, course=COURSE, say=said.append) == 0, "\n".join(said)


def test_the_table_of_contents_counts_up() -> None:
    assert [chapter.number for chapter in CHAPTERS] == list(range(1, len(CHAPTERS) + 1))


def test_all_of_the_course_has_the_chapters_of_the_table_of_contents() -> None:
    assert list(exercises.CHAPTERS) == [chapter.stem for chapter in CHAPTERS]
    assert json.loads(course.PACKED.read_text("utf-8")) == [asdict(entry) for entry in course.entries()]


@each_chapter
def test_every_verdict_names_what_could_have_overturned_it(chapter: Chapter) -> None:
    claims = [claim for part in read_chapter(chapter, COURSE) if isinstance(part, Code) for claim in part.claims]
    assert [claim.id for claim in claims if claim.needs_control] == []
    assert [claim.id for claim in claims if claim.kind != "defined" and not claim.on] == []


@each_chapter
def test_every_number_in_prose_comes_from_somewhere(chapter: Chapter) -> None:
    assert list(unread(read_chapter(chapter, COURSE))) == []


@each_chapter
def test_the_opening_says_the_minutes_of_the_front_matter(chapter: Chapter) -> None:
    said = re.search(r"\*\*Time:\*\* (?:about )?(\d+) minutes", chapter.source.read_text("utf-8"))
    assert said is None or int(said[1]) == chapter.minutes  # None: in words, such as "two hours"


def test_a_definition_makes_those_chapters_stale_that_use_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    solved = {chapter: nbformat.read(chapter.solved, as_version=4) for chapter in CHAPTERS}

    def stale() -> list[str]:
        return [
            chapter.stem
            for chapter, notebook in solved.items()
            if of_measures(replace(chapter, root=tmp_path), notebook) != notebook.metadata["qkv"]["measures"]
        ]

    assert stale() == []
    lookup = tmp_path / "src" / "qkv" / "model" / "lookup.py"
    text = lookup.read_text("utf-8")
    lookup.write_text(text + "\n\ndef unrelated(q: Tensor) -> Tensor:\n    return q\n", "utf-8")
    assert stale() == []
    lookup.write_text(text.replace("torch.exp(", "torch.exp2("), "utf-8")
    assert len(stale()) > 1


def test_a_new_exercise_or_misconception_makes_no_claim_stale(tmp_path: Path) -> None:
    """Only what a claim's output can depend on counts: no card, no check, no exercise that nothing else uses."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    chapter = CHAPTERS[0]
    there, notebook = replace(chapter, root=tmp_path), nbformat.read(chapter.solved, as_version=4)
    before = of_measures(there, notebook)
    assert before == notebook.metadata["qkv"]["measures"]
    for path in (tmp_path / "src" / "qkv" / "exercises" / chapter.stem).glob("*.py"):
        path.write_text(path.read_text("utf-8") + "\n\ndef another_mistake() -> None: ...\n", "utf-8")
    model = tmp_path / "src" / "qkv" / "model" / f"{chapter.stem}.py"
    model.write_text(model.read_text("utf-8") + "\n\ndef nearest_key(q, k):\n    return q @ k\n", "utf-8")
    exercise = nbformat.v4.new_code_cell("def nearest_key(q, k):\n    return q @ k", metadata={"tags": ["exercise"]})
    check = nbformat.v4.new_code_cell("check(nearest_key)", metadata={"tags": ["check"]})
    notebook.cells[5:5] = [exercise, check]
    assert of_measures(there, notebook) == before
    notebook.cells.append(nbformat.v4.new_code_cell("print(nearest_key(1, 2))"))
    assert of_measures(there, notebook) != before


def test_an_edition_runs_again_for_what_its_cards_show(tmp_path: Path) -> None:
    chapter = CHAPTERS[0]
    parts, notebook = read_chapter(chapter, COURSE), nbformat.read(chapter.solved, as_version=4)
    cards = [part.facts.card for part in parts if isinstance(part, Task)]
    stored = notebook.metadata["qkv"]["inputs"]
    assert of_outputs(chapter, notebook, cards) == stored
    assert of_outputs(chapter, notebook, [(*cards[0], "a remark"), *cards[1:]]) != stored


def test_the_look_of_figures_changes_editions_and_no_measurement(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    chapters = {chapter: nbformat.read(chapter.solved, as_version=4) for chapter in CHAPTERS}
    before = {chapter.stem: of_outputs(replace(chapter, root=tmp_path), solved) for chapter, solved in chapters.items()}
    style = tmp_path / "src" / "qkv" / "figures" / "style.py"
    style.write_text(style.read_text("utf-8").replace('"font.size": 10.5', '"font.size": 11'), "utf-8")
    for chapter, notebook in chapters.items():
        there = replace(chapter, root=tmp_path)
        assert of_outputs(there, notebook) != before[chapter.stem]
        assert of_measures(there, notebook) == notebook.metadata["qkv"]["measures"]


def test_the_first_page_leads_to_every_chapter() -> None:
    index = (ROOT / "book" / "index.md").read_text("utf-8")
    for chapter in CHAPTERS:
        assert f"](chapters/{chapter.name}.md)" in index, f"book/index.md has no line for {chapter.name}"
        assert cover(ROOT, chapter.stem).is_file(), "each chapter has a drawing there: see covers.py"


@each_chapter
def test_a_chapter_has_exactly_its_exercises_in_order(chapter: Chapter) -> None:
    tasks = [part.name for part in read_chapter(chapter, COURSE) if isinstance(part, Task)]
    assert tasks == list(exercises.names_of(chapter.stem))


@each_chapter
def test_the_section_that_a_card_names_is_in_the_chapter(chapter: Chapter) -> None:
    found = headings(chapter)
    for exercise in exercises.of_chapter(chapter.stem):
        assert exercise.section in found, f"{exercise.name} sends the student to {exercise.section!r}"


@each_chapter
def test_a_chapter_opens_and_closes_as_all_do(chapter: Chapter) -> None:
    parts = read_chapter(chapter, COURSE)
    assert isinstance(parts[0], Prose)
    assert parts[0].text.startswith("# ")
    assert ":class: opening" in parts[0].text, "an admonition of this class comes first: see any chapter"
    first = next(part for part in parts if isinstance(part, Code))
    assert "setup" in first.tags
    for needed in ("figures.use()", "torch.manual_seed(", "torch.set_num_threads(1)"):
        assert needed in first.source
    assert headings(chapter)[-len(CLOSING) :] == CLOSING


@each_chapter
def test_the_student_edition_gives_nothing_away(chapter: Chapter) -> None:
    notebook = nbformat.read(chapter.student, as_version=4)
    nbformat.validate(notebook)
    cells = {cell.id: cell for cell in notebook.cells}
    assert not any(cell.get("outputs") for cell in notebook.cells)
    for exercise in exercises.of_chapter(chapter.stem):
        stub = cells[exercise.name.replace("_", "-")]
        if isinstance(weights := exercise, WeightsExercise):
            assert stub.source == weights.stub  # nothing is to be filled in
            assert cells[f"check-{stub.id}"].source == f'check("{exercise.name}")'
            continue
        assert "raise NotImplementedError" in stub.source
        assert (ast.get_docstring(ast.parse(stub.source).body[0]) or "").strip()  # type: ignore[arg-type]
        assert cells[f"check-{exercise.name.replace('_', '-')}"].source == f"check({exercise.name})"
    left = re.search(r"\b(TODO|FIXME|XXX)\b.*", "\n".join(cell.source for cell in notebook.cells))
    assert left is None, f"{chapter.where()} still says: {left[0]}"


@each_chapter
def test_your_part_of_an_earlier_chapter_is_yours_in_the_student_edition(chapter: Chapter) -> None:
    earlier = {name for other in CHAPTERS if other.number < chapter.number for name in exercised(other)}

    def imported(path: Path) -> dict[str, set[str]]:
        """Module -> what the notebook's cells take from it, under the names that they give it."""
        cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        found: dict[str, set[str]] = {}
        for node in (node for cell in cells for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.ImportFrom)):
            found.setdefault(node.module or "", set()).update(alias.asname or alias.name for alias in node.names)
        return found

    student, solved = imported(chapter.student), imported(chapter.solved)
    ours = set().union(*(names for module, names in solved.items() if module.startswith("qkv.model.")))
    assert student.pop("qkv.mine", set()) == ours & earlier
    left = set().union(*(names for module, names in student.items() if module.startswith("qkv.model.")))
    assert left == ours - earlier
    assert "qkv.mine" not in solved


def exercised(chapter: Chapter) -> list[str]:
    return list(exercises.names_of(chapter.stem))


@each_chapter
def test_every_prediction_has_a_place_to_be_written(chapter: Chapter) -> None:
    cells = nbformat.read(chapter.student, as_version=4).cells
    asked = [number for number, cell in enumerate(cells) if "> **Predict**" in cell.source]
    assert asked
    for number in asked:
        assert cells[number].cell_type == "markdown"
        assert (cells[number + 1].cell_type, cells[number + 1].source) == ("raw", PREDICTION)
    assert len([cell for cell in cells if cell.cell_type == "raw"]) == len(asked)
    assert not any(cell.cell_type == "raw" for cell in nbformat.read(chapter.solved, as_version=4).cells)


@each_chapter
def test_the_solved_edition_ran_without_a_fault(chapter: Chapter) -> None:
    from qkv.authoring.build.run import output_faults

    notebook = nbformat.read(chapter.solved, as_version=4)
    assert output_faults(notebook) == []
    ran = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert ran == list(range(1, len(ran) + 1))


@each_chapter
def test_claims_have_an_id_of_their_own(chapter: Chapter) -> None:
    everywhere = [
        found
        for other in CHAPTERS
        for found in re.findall(r"^# claim: (.+)$", other.source.read_text("utf-8"), re.MULTILINE)
    ]
    for claim in re.findall(r"^# claim: (.+)$", chapter.source.read_text("utf-8"), re.MULTILINE):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", claim)
        assert everywhere.count(claim) == 1, f"the claim {claim} stands twice"


def called_in(tree: ast.AST) -> set[str]:
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def steps_in(tree: ast.AST) -> bool:
    """Is there a loop that follows a gradient?"""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    return any(word in ast.unparse(loop) for loop in loops for word in (".backward(", "adam_step("))


@each_chapter
def test_a_claim_about_a_training_says_what_it_was_measured_on(chapter: Chapter) -> None:
    cells = [(part, ast.parse(part.source)) for part in read_chapter(chapter, COURSE) if isinstance(part, Code)]
    functions = [node for _, tree in cells for node in tree.body if isinstance(node, ast.FunctionDef)]
    trainers = {function.name for function in functions if steps_in(function)}
    for function in 2 * functions:  # and what calls them
        if called_in(function) & trainers:
            trainers.add(function.name)
    bare = [
        claim.id
        for part, tree in cells
        if steps_in(tree) or called_in(tree) & trainers
        for claim in part.claims
        if claim.kind != "defined" and not claim.on
    ]
    assert not bare, f"`# on:` is missing: {', '.join(bare)}"
