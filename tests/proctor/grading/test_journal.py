"""What survives a kill, and what is kept beside new results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from proctor.examining.result import Explanation, Result
from proctor.grading.journal import GradedSubmission, Journal, archive_previous

RESULT = Result(
    "double",
    "not_yet",
    0.5,
    1,
    2,
    misconceptions=("tripled",),
    explanations=(Explanation("You triple x.", "Twice is enough."),),
    situation="three numbers",
    evidence=("y[0] is 3, expected 2.",),
    next_step="section",
    seconds=0.25,
    remarks=("You write 2.0 twice.", "A name would help."),
    help="named",
    line=7,
)


def marked(student: str, digest: str = "d") -> GradedSubmission:
    return GradedSubmission(student, digest, (RESULT,), ("a note",), "def double(x): ...")


def test_a_student_comes_back_whole() -> None:
    one = marked("陈 伟\n<b>")
    assert GradedSubmission.from_json(one.to_json()) == one


def test_a_run_is_taken_up_where_it_stopped(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {"seed": 1})
    journal.begin()
    for student in ("b", "a", "c"):
        journal.add(marked(student))
    again = Journal(tmp_path, {"seed": 1})
    assert again.unfinished_settings() == {"seed": 1}
    again.resume()
    assert [again.digest(student) for student in "abcd"] == ["d", "d", "d", None]
    assert [m.student for m in again.read(["a", "b", "c", "d"])] == ["a", "b", "c"]


def test_a_line_that_was_cut_off_is_not_taken_for_a_result(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {})
    journal.begin()
    journal.add(marked("a"))
    journal.add(marked("b"))
    whole = journal.lines.read_bytes()
    journal.lines.write_bytes(whole[:-20])
    again = Journal(tmp_path, {})
    again.resume()
    assert (again.digest("a"), again.digest("b")) == ("d", None)
    again.add(marked("b"))
    assert again.lines.read_bytes() == whole


@pytest.mark.parametrize("rubbish", [b"\0\0\0\n", b"[]\n", b'{"student": "b"}\n', b"\xff\n"])
def test_what_a_full_disk_leaves_is_not_taken_for_a_result(tmp_path: Path, rubbish: bytes) -> None:
    journal = Journal(tmp_path, {})
    journal.begin()
    journal.add(marked("a"))
    whole = journal.lines.read_bytes()
    journal.lines.write_bytes(whole + rubbish)
    again = Journal(tmp_path, {})
    again.resume()
    assert (again.digest("a"), again.digest("b")) == ("d", None)
    assert again.lines.read_bytes() == whole


def test_a_journal_from_before_a_field_was_there_can_be_read() -> None:
    data = json.loads(marked("a").to_json())
    for name in ("remarks", "help", "line"):
        del data["results"][0][name]
    (result,) = GradedSubmission.from_json(json.dumps(data)).results
    assert (result.remarks, result.help, result.line) == ((), None, None)


def test_the_last_line_of_a_student_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {})
    journal.begin()
    journal.add(marked("a", "old"))
    journal.add(marked("a", "new"))
    again = Journal(tmp_path, {})
    again.resume()
    assert [m.digest for m in again.read(["a"])] == ["new"]


def test_the_salt_is_for_us_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {"salt": "secret"})
    journal.begin()
    assert journal.folder.stat().st_mode & 0o077 == 0
    journal.finish()
    assert journal.unfinished_settings() is None
    assert list(tmp_path.iterdir()) == []


def test_earlier_results_are_kept_beside_the_new_ones(tmp_path: Path) -> None:
    assert archive_previous(tmp_path) is None
    for number in (1, 2):
        (tmp_path / "feedback").mkdir()
        for name in ("results.jsonl", "grades.csv", "summary.html", "feedback/a.html"):
            (tmp_path / name).write_text(f"{number}")
        assert archive_previous(tmp_path) == tmp_path / "earlier" / str(number)
    assert [p.name for p in tmp_path.iterdir()] == ["earlier"]
    assert (tmp_path / "earlier" / "2" / "feedback" / "a.html").read_text() == "2"


def test_a_run_that_is_killed_while_it_removes_its_journal_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path, {"seed": 1})
    journal.begin()
    journal.add(GradedSubmission("ann", "d", ()))

    def killed(place: Path, **options: object) -> None:
        next(place.glob("*.jsonl")).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            journal.finish()
    again = Journal(tmp_path, {"seed": 1})
    assert again.unfinished_settings() is None
    again.begin()
    assert [path.name for path in tmp_path.iterdir()] == [".grading"]
