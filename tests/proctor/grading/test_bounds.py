"""What a hostile submission can make the grader itself do is bounded: time, memory, whose results it touches."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from proctor.grading import worker
from proctor.grading.deadline import bound_memory, deadline, end_with_parent
from proctor.grading.engines import local
from proctor.grading.engines.local import Local
from proctor.grading.folder_lock import NAME, locked
from proctor.grading.journal import GradedSubmission, Journal
from proctor.grading.worker import Plan
from proctor.marking.submissions import Submission, collect
from proctor.sandbox import Fault

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks the system for what only Linux has")


@pytest.fixture
def submissions(tmp_path: Path, sample: Any) -> list[Submission]:
    folder = tmp_path / "class"
    folder.mkdir()
    for name in ("ann", "eve"):
        (folder / f"{name}.py").write_text(sample.code())
    return collect(folder).submissions


@linux
def test_marking_that_does_not_end_ends_its_worker(
    plan: Plan, submissions: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = worker.mark_submission

    def endless(assignment: Any, examiners: Any, sandbox: Any, files: Any, *more: Any) -> Any:
        if files[0].name == "eve.py":
            while True:  # holds the interpreter as a regular expression or a parser does
                pass
        return calm(assignment, examiners, sandbox, files, *more)

    monkeypatch.setattr(worker, "mark_submission", endless)  # workers are forked, so they have it too
    monkeypatch.setattr(worker, "longest", lambda plan: 10.0)
    found = {one.student: one for one in Local(1)(plan, submissions)}
    assert {result.state for result in found["ann"].results} == {"passed"}
    assert {result.state for result in found["eve"].results} == {"fault"}
    assert "took it too long" in found["eve"].results[0].explanations[0].sentence


def test_files_that_cannot_be_read_are_their_students_alone(
    plan: Plan, submissions: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = Submission.load

    def load(self: Submission) -> Any:
        if self.student == "eve":
            raise MemoryError
        return calm(self)

    monkeypatch.setattr(Submission, "load", load)
    found = {one.student: one for one in Local(1)(plan, submissions)}
    assert found["ann"].results[0].state == "passed"
    assert found["eve"].results[0].explanations[0].sentence.startswith("Its files could not be read (MemoryError")


def test_a_submission_that_ended_two_workers_is_not_touched_again(
    plan: Plan, submissions: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.getpid()

    def load(self: Submission) -> Any:
        assert os.getpid() != here, "read in the grader's own process"
        os._exit(1)

    monkeypatch.setattr(Submission, "load", load)
    found = list(Local(2)(plan, submissions))
    assert {result.state for one in found for result in one.results} == {"fault"}


def test_a_deadline_that_is_met_does_nothing() -> None:
    with deadline(0.2):
        pass
    time.sleep(0.4)


@linux
def test_a_worker_cannot_take_all_memory() -> None:
    def greedy(answer: Any) -> None:
        bound_memory()
        try:
            answer.send(len(bytes(5 * 2**30)))
        except MemoryError:
            answer.send("MemoryError")

    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=greedy, args=(theirs,))
    process.start()
    assert ours.poll(60)
    assert ours.recv() == "MemoryError"
    process.join()


@linux
def test_workers_end_with_the_grader_however_it_ends() -> None:
    code = (
        "import multiprocessing, os, time\n"
        "from proctor.grading.deadline import end_with_parent\n"
        "def work(parent):\n"
        "    end_with_parent(parent)\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(600)\n"
        "multiprocessing.get_context('fork').Process(target=work, args=(os.getpid(),)).start()\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout is not None
        worker_process = psutil.Process(int(grader.stdout.readline()))
        grader.send_signal(signal.SIGKILL)
        assert worker_process.wait(timeout=30) is None or not worker_process.is_running()


@linux
def test_a_worker_whose_parent_is_gone_already_ends() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(end_with_parent, (os.getpid(),)) is None
    process = multiprocessing.get_context("fork").Process(target=end_with_parent, args=(1_000_000,))
    process.start()
    process.join()
    assert process.exitcode == 1


# ---- two graders on one folder


def test_a_second_grader_refuses(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(Fault, match="another grader is writing into"), locked(tmp_path):
        pass
    assert not (tmp_path / NAME).exists()
    with locked(tmp_path):
        pass


def test_reading_that_does_not_end_ends_its_worker(
    plan: Plan, submissions: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = Submission.load

    def load(self: Submission) -> Any:
        while self.student == "eve":
            pass
        return calm(self)

    monkeypatch.setattr(Submission, "load", load)
    monkeypatch.setattr(local, "OWN", 3.0)
    found = {one.student: one for one in Local(1)(plan, submissions)}
    assert {result.state for result in found["ann"].results} == {"passed"}
    assert "took it too long" in found["eve"].results[0].explanations[0].sentence


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom proctor.grading.folder_lock import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Fault), locked(tmp_path):
            pass
        holder.kill()
    with locked(tmp_path):
        pass


def test_a_line_of_another_student_is_never_reported(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {})
    journal.begin()
    journal.add(GradedSubmission("ann", "", ()))
    journal._at["eve"] = journal._at["ann"]
    with pytest.raises(Fault, match="the journal has 'ann' where 'eve' was noted"):
        list(journal.read(["ann", "eve"]))
