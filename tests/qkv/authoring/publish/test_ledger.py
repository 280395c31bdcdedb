"""The ledger is made from cells and their stored outputs, and says what the list of statements lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from qkv.authoring.build.building import build_editions
from qkv.authoring.publish.ledger import gaps, ledger
from qkv.authoring.publish.publishing import publish_book
from qkv.course import AuthoringError, Course

LIST = """minds = ["one-and-one"]

[chapters.second]
one-and-one = [1, 2]

[chapters.third]
title = "Chapter 3: more"
later = { of = [3], says = "Three comes after two." }

[[literature]]
of = [4]
says = "Four was found by Gauss."
verdict = "wrong"
why = "It is older."

[[undecided]]
of = [5]
says = "Five is beautiful."
why = "Taste."
"""
STATEMENTS = "1 One and one are two.\n2 Two is even.\n3 Three follows.\n4 Gauss found four.\n5 Five is beautiful.\n"


HEAD = """# claim: one-and-one
# says: One and one make two.
# verdict: holds
# on: two numbers
# measured: the sum is {sum}
# assert: {sum} > 1.5
"""


def claiming(course: Course) -> Course:
    """The tiny course with a claim in chapter 2, and a list."""
    source = course.chapters(["second"])[0].source
    text = source.read_text("utf-8").replace("print(1 + 1)", f'{HEAD}print("sum", 1 + 1)')
    source.write_text(text, "utf-8")
    (course.root / "book" / "claims.toml").write_text(LIST, "utf-8")
    (course.root / "book" / "statements.txt").write_text(STATEMENTS, "utf-8")
    return course


def run(course: Course, **how: bool) -> tuple[int, str]:
    said: list[str] = []
    return build_editions(["second"], course=course, say=said.append, **how), "\n".join(said)


@pytest.fixture(scope="module")
def claimed_once(built_once: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    folder = tmp_path_factory.mktemp("claimed") / "course"
    shutil.copytree(built_once.root, folder)
    course = claiming(Course(folder, built_once.facts))
    assert run(course, second_seeds=True)[0] == 0
    return course


@pytest.fixture
def claimed(claimed_once: Course, tmp_path: Path) -> Course:
    """A claim that was run, in a copy that a test may change."""
    shutil.copytree(claimed_once.root, tmp_path / "claimed")
    return Course(tmp_path / "claimed", claimed_once.facts)


def edit(course: Course, old: str, new: str) -> None:
    source = course.chapters(["second"])[0].source
    text = source.read_text("utf-8")
    assert old in text
    source.write_text(text.replace(old, new), "utf-8")


def test_an_entry_has_the_words_the_verdict_and_the_stored_number(claimed: Course) -> None:
    page = ledger(claimed)
    assert ":::{container} entry holds\n{.says}\n“One and one make two.”" in page
    link = "{ref}`Counting twice <claim-one-and-one>`"
    assert f"[holds]{{.verdict}}\n\n{{.below}}\nMeasured on: two numbers\n\n{{.below}}\nthe sum is 2 · {link}\n" in page
    assert page.startswith(
        "{.counts}\nOf **1** claims that have a cell, **1** hold, **0** hold under a condition, **0** are wrong, "
        "**0** are not shown, **0** are decided by a definition or an identity.\n\n"
        "{.sources}\n**0** of them are questions of the book's own. The others decide 2 of the 5 statements that are "
        "listed at the end of this page; 1 statements wait for their chapter, and 2 are left to the literature or "
        "cannot be decided here."
    )
    assert f"1. “One and one make two.” **Holds.** Measured: the sum is 2 (chapter 2, {link})." in page
    assert (
        f"2. Two is even. (chapter 2, {link})\n3. Three follows. (its chapter is to come)\n4. Gauss found four. ("
        in page
    )
    assert "entry literature\n{.says}\n“Four was found by Gauss.”\n\n{.below}\n[wrong]{.verdict}" in page
    assert "## Chapter 2: " in page
    assert "## Chapter 1" not in page  # it claims nothing
    assert "## Chapters to come\n\n### Chapter 3: more\n\n:::{container} entry to-come\n{.says}\n“Three comes" in page
    assert ":::{container} entry open\n{.says}\n“Five is beautiful.”\n\n{.below}\nTaste.\n:::" in page


def test_a_claim_that_no_statement_asks_for_is_the_books_own(claimed: Course) -> None:
    path = claimed.root / "book" / "claims.toml"
    path.write_text(LIST.replace("one-and-one = [1, 2]", "").replace('minds = ["one-and-one"]', ""), "utf-8")
    page = ledger(claimed)
    assert "<claim-one-and-one>` · the book's own question" in page
    assert "**1** of them are questions of the book's own." in page


def test_the_list_is_numbered_without_a_gap(claimed: Course) -> None:
    (claimed.root / "book" / "statements.txt").write_text(STATEMENTS.replace("3 Three", "7 Three"), "utf-8")
    with pytest.raises(AuthoringError, match=r"book/statements.txt: its lines are numbered from 1, without a gap."):
        gaps(claimed)


def test_the_number_is_the_one_that_is_stored(claimed: Course) -> None:
    solved = claimed.chapters(["second"])[0].solved
    solved.write_text(solved.read_text("utf-8").replace("sum 2", "sum 7"), "utf-8")
    assert "the sum is 7" in ledger(claimed)


def test_verdict_and_number_are_in_no_edition(claimed: Course) -> None:
    chapter = claimed.chapters(["second"])[0]
    for path in (chapter.student, chapter.solved):
        sources = [cell.source for cell in nbformat.read(path, as_version=4).cells]
        assert any("# says: " in source for source in sources)
        assert not any("# verdict" in source or "measured" in source or "assert" in source for source in sources)
    edit(claimed, "the sum is", "together:")
    assert run(claimed, check=True)[0] == 0  # nothing is stale, the book alone is to be made again
    assert "together: 2" in ledger(claimed)


def test_the_page_of_the_ledger_is_made_with_the_book(claimed: Course) -> None:
    (claimed.root / "book" / "claims.md").write_text("# Claims\n\n<!-- the claims of all chapters -->\n", "utf-8")
    with (claimed.root / "_toc.yml").open("a", encoding="utf-8") as toc:
        toc.write("- caption: Reference\n  chapters:\n  - file: book/claims\n")
    said: list[str] = []
    assert publish_book(claimed, said.append) == 0, said
    page = (claimed.root / "_build" / "html" / "book" / "claims.html").read_text("utf-8")
    assert 'href="chapters/02_second.html#claim-one-and-one"' in page
    assert "the claims of all chapters" not in page


def test_a_number_that_is_not_printed_is_told_when_the_chapter_is_built(claimed: Course) -> None:
    edit(claimed, "{sum}", "{product}")
    code, said = run(claimed)
    assert code == 1
    assert "02_second.md:" in said
    assert "claim one-and-one: 'product' is asked for, with which no printed line begins." in said


def test_a_verdict_that_the_number_contradicts_is_told_when_the_chapter_is_built(claimed: Course) -> None:
    edit(claimed, "# assert: {sum} > 1.5", "# assert: {sum} > 2.5")
    code, said = run(claimed)
    assert code == 1
    assert "claim one-and-one: `{sum} > 2.5` is not true here, where {sum} is 2.0. Mend the verdict, or what" in said


def test_a_claim_says_what_its_verdict_rests_on(claimed: Course) -> None:
    edit(claimed, "# assert: {sum} > 1.5\n", "")
    code, said = run(claimed)
    assert code == 1
    assert "the claim one-and-one needs a line `# assert: …`: what its verdict rests on" in said


def test_nbval_finds_the_assertion_in_the_solved_edition_alone(claimed: Course) -> None:
    chapter = claimed.chapters(["second"])[0]
    found = [
        [cell.metadata["asserts"] for cell in nbformat.read(path, as_version=4).cells if "asserts" in cell.metadata]
        for path in (chapter.student, chapter.solved)
    ]
    assert found == [[], [{"one-and-one": ["{sum} > 1.5"]}]]


def test_a_verdict_of_no_known_kind_is_refused_with_its_line(claimed: Course) -> None:
    edit(claimed, "# verdict: holds", "# verdict: perhaps")
    code, said = run(claimed)
    assert code == 1
    assert (
        "the claim one-and-one has the verdict 'perhaps'; a verdict begins with holds, holds if, wrong, or not shown"
        in said
    )


def test_a_cell_that_was_not_run_has_no_number(claimed: Course) -> None:
    edit(claimed, 'print("sum", 1 + 1)', 'print("sum", 1 + 2)')
    with pytest.raises(AuthoringError, match=r"02_second.md:\d+: was not run as it stands now. Run it with: qkv build"):
        ledger(claimed)


def test_ids_do_not_collide(claimed: Course) -> None:
    edit(
        claimed,
        "# claim: one-and-one\n",
        "# claim: one-and-one\n# says: Again.\n# verdict: wrong\n# assert: {sum} < 9\n# claim: one-and-one\n",
    )
    assert run(claimed)[0] == 0
    with pytest.raises(
        AuthoringError, match=r"Two cells have the same claim: one-and-one. Give one of them another id"
    ):
        ledger(claimed)


def test_what_the_list_lacks_is_told(claimed: Course) -> None:
    assert gaps(claimed) == []
    path = claimed.root / "book" / "claims.toml"
    path.write_text(
        LIST.replace("[1, 2]", "[1]\ntwo-and-two = [1]").replace('says = "Three comes after two."', 'says = ""'),
        "utf-8",
    )
    assert gaps(claimed) == [
        "[second] two-and-two: the chapter is in the book, but no cell of it measures this claim",
        "[third] later: the chapter is still to come, so say the claim: says = …",
        "statement 2 is covered by nothing",
    ]
