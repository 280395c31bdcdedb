"""`qkv review-class` from its start to Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import zipfile
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from proctor.examining.result import Explanation, Result
from proctor.grading.journal import GradedSubmission
from proctor.points import corrections
from proctor.report.write import write_reports
from proctor.review.code import code_of
from qkv.assignments import assignment
from qkv.commands import reviewing
from qkv.commands.cli import main


@pytest.fixture
def results(tmp_path: Path) -> Path:
    why = (Explanation("You leave the mean out."),)
    answer = Result("score_variance", "not_yet", 0.5, 1, 2, ("no_mean",), why)
    write_reports(tmp_path, assignment(("score_variance",)), [GradedSubmission("ann", "", (answer,), (), "x = 1")])
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="ends it as a terminal on Linux and macOS does")
def test_from_the_terminal_to_the_file(results: Path) -> None:
    words = [sys.executable, "-m", "qkv", "review-class", str(results), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = None
        while found is None:
            line = process.stdout.readline()
            assert line, "it ended before it said its address"
            found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", line)
        body = {"exercise": "score_variance", "key": "named no_mean", "at": 0, "points": "0.75", "comment": "Nearly."}
        headers = {"Origin": found[1], "X-Review-Token": found[2]}
        with urlopen(Request(f"{found[1]}/correct", json.dumps(body).encode(), headers)) as answer:
            assert json.load(answer)["mark"]["points"] == "0.75"
        process.send_signal(signal.SIGINT)
        said, trouble = process.communicate()
    assert (process.returncode, trouble) == (0, "")
    assert "1 corrections in" in said or "1 correction in" in said
    assert [c.comment for c in corrections.read(results / corrections.NAME)] == ["Nearly."]


def test_the_code_comes_from_what_grade_took(results: Path, tmp_path: Path) -> None:
    own = "def score_variance(d, sigma, mean=0.0):\n    return d * sigma**4\n"
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.py").write_text(own)
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as archive:  # as Canvas calls them
        archive.writestr("annant_1234_5678_work.py", own)
    for place, student in ((tmp_path / "class", "ann"), (tmp_path / "submissions.zip", "annant")):
        with ExitStack() as stack:
            files = reviewing.files_of(place, results, stack)
            (name,) = files
            assert name.startswith(student)
            marked = GradedSubmission(name, "", ())
            assert code_of(marked, "score_variance", files).text == own.strip()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("results.jsonl", None, "Name a folder that `qkv grade --out` wrote."),
        ("marked.jsonl", None, "These results cannot be reviewed (No such file or directory"),
        ("marked.jsonl", "{", "marked.jsonl is damaged"),
        ("corrections.csv", "folder,exercise,points\nann,score_variance,9\n", "line 2: score_variance is worth 1"),
    ],
)
def test_what_cannot_be_reviewed_is_said_in_a_sentence(
    results: Path, name: str, content: str | None, sentence: str
) -> None:
    if content is None:
        (results / name).unlink()
    else:
        (results / name).write_text(content)
    done = CliRunner().invoke(main, ["review-class", str(results), "--no-browser"])
    assert done.exit_code == 2
    assert sentence in done.output
    assert "Traceback" not in done.output
