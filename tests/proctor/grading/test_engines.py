"""Engines: the same results from local workers and from a cluster, also when workers die."""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from proctor.grading.engines import local
from proctor.grading.engines.local import Local, WorkerProcess
from proctor.grading.grade import grade_class, salt_of
from proctor.grading.journal import GradedSubmission
from proctor.grading.worker import Plan
from proctor.marking.submissions import Submission, collect
from proctor.sandbox import Fault, Limits, choose

pytestmark = pytest.mark.usefixtures("quick_start")


@pytest.fixture
def submissions(tmp_path: Path, sample: Any) -> list[Submission]:
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(6):
        wrong = {"double": "def double(x):\n    return 3 * x"} if number % 2 else {}
        (folder / f"student{number}.py").write_text(sample.code(**wrong))
    return collect(folder).submissions


def students(marked: Iterable[GradedSubmission]) -> list[str]:
    return sorted(one.student for one in marked)


def descendants() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def without_times(marked: Iterable[GradedSubmission]) -> dict[str, Any]:
    return {m.student: [replace(result, seconds=0.0) for result in m.results] for m in marked}


def test_local_workers_mark_everybody_and_leave_nothing_behind(plan: Plan, submissions: list[Submission]) -> None:
    before = descendants()
    found = without_times(Local(2)(plan, submissions))
    assert sorted(found) == [f"student{number}" for number in range(6)]
    assert {result.state for result in found["student0"]} == {"passed"}
    assert found["student1"][0].misconceptions == ("tripled",)
    assert descendants() <= before


def test_a_worker_has_its_next_submission_before_its_answer_is_noted(
    plan: Plan, submissions: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    give = WorkerProcess.give
    monkeypatch.setattr(WorkerProcess, "give", lambda self, task: (given.append(task.student), give(self, task)))
    answers = Local(1)(plan, submissions)
    next(answers)
    assert len(given) == 2
    assert len(students(answers)) == len(submissions) - 1


def test_nobody_to_mark(plan: Plan) -> None:
    assert list(Local(2)(plan, [])) == []


def test_a_worker_that_dies_is_replaced(
    plan: Plan, submissions: list[Submission], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calm = local.mark

    def fragile(plan: Plan, student: str, files: Any) -> GradedSubmission:
        if student == "student2" and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if student == "student4":
            os._exit(1)
        return calm(plan, student, files)

    monkeypatch.setattr(local, "mark", fragile)  # workers are forked, so they have it too
    found = without_times(Local(2)(plan, submissions))
    assert sorted(found) == [f"student{number}" for number in range(6)]
    assert found["student2"][0].state == "passed"
    assert {result.state for result in found["student4"]} == {"fault"}
    assert "ended the grader's own process, or took it too long, twice" in found["student4"][0].message


def test_a_failure_of_ours_costs_one_student_nothing_more(
    plan: Plan, submissions: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    from proctor.grading import worker

    calm = worker.mark_submission

    def fails(assignment: Any, examiners: Any, runner: Any, files: Any, *others: Any) -> Any:
        if "3 * x" in files[0].content.decode():
            raise ZeroDivisionError("ours")
        return calm(assignment, examiners, runner, files, *others)

    monkeypatch.setattr(worker, "mark_submission", fails)
    found = without_times(Local(1)(plan, submissions[:2]))
    assert found["student0"][0].state == "passed"
    assert "The grader itself failed (ZeroDivisionError: ours)." in found["student1"][0].message


@pytest.mark.slow
def test_a_cluster_gives_the_same_files_also_when_a_worker_is_killed(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    from proctor.grading.engines.cluster import Cluster, run_on_cluster
    from qkv.commands.grading import assignment

    folder = tmp_path / "class"
    folder.mkdir()
    right = "def similarity_scores(q, k):\n    return q @ k.transpose(-2, -1)\n"
    for number in range(24):
        text = right if number % 3 else right.replace("q @ k", "k @ q")
        (folder / f"student{number:02}.py").write_text(text)
    submissions = collect(folder).submissions
    plan = Plan(assignment, (("similarity_scores",),), salt_of(1), Limits(seconds=20, memory_mb=512))

    class Disturbed(Cluster):
        """A cluster that loses a worker when the first results are there."""

        def __call__(self, plan: Plan, submissions: Iterable[Submission]) -> Any:
            options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
            with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
                for number, marked in enumerate(run_on_cluster(client, plan, submissions)):
                    if number == 0:
                        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
                    yield marked

    outcome = grade_class(submissions, tmp_path / "cluster", plan, Disturbed(jobs=2), seed=1)
    grade_class(submissions, tmp_path / "local", plan, Local(1), seed=1)
    assert len(outcome.tally.standings) == 24
    for path in (tmp_path / "local").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "cluster" / path.relative_to(tmp_path / "local")).read_bytes(), (
            path.name
        )


def test_a_task_has_a_few_submissions_and_not_too_many_bytes(
    submissions: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from proctor.grading.engines import cluster

    size = len(submissions[0].load()[0].content)
    failed: list[str] = []

    def batches() -> list[Any]:
        return list(cluster.batches(submissions, lambda student, error: failed.append(f"{student}: {error}")))

    monkeypatch.setattr(cluster, "BATCH", 4)
    assert [len(batch) for batch in batches()] == [4, 2]
    monkeypatch.setattr(cluster, "MOST_BYTES", 2 * size)
    assert [len(batch) for batch in batches()] == [2, 2, 2]
    monkeypatch.setattr(cluster, "MOST_BYTES", 1)
    assert [student for batch in batches() for student, _ in batch] == [s.student for s in submissions]
    assert not failed

    def load(self: Submission) -> Any:
        raise MemoryError("too much")

    monkeypatch.setattr(Submission, "load", load)
    assert batches() == []
    assert failed == [f"{s.student}: too much" for s in submissions]


def test_the_sandbox_of_every_worker_is_told() -> None:
    pytest.importorskip("distributed")
    from proctor.grading.engines import cluster

    class Client:
        def run(self, function: Any, *given: Any, workers: list[str], on_error: str) -> dict[str, Any]:
            assert on_error == "return"
            answers = [function(*given), ("far", "landlock"), OSError("gone")]
            return dict(zip(workers, answers, strict=True))

    said: list[str] = []
    plan = Plan(dict, (), "salt", Limits(), tier="limits")
    cluster.introduce(Client(), plan, ["tcp://a:1", "tcp://b:2", "tcp://c:3"], said.append)  # type: ignore[arg-type]
    assert said[0].startswith(f"Sandbox of the worker tcp://a:1 on {platform.node()}: none, so nothing is marked there")
    assert said[1:] == [
        "Sandbox of the worker tcp://b:2 on far: landlock",
        "Sandbox of the worker tcp://c:3 on a host that did not answer: unknown (gone)",
    ]


@pytest.mark.slow
def test_a_cluster_that_is_already_there(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    from proctor.grading.engines.cluster import Cluster
    from qkv.commands.grading import assignment

    (tmp_path / "anna.py").write_text("def similarity_scores(q, k):\n    return q @ k.mT\n")
    plan = Plan(assignment, (("similarity_scores",),), salt_of(1), Limits(seconds=20, memory_mb=512))
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster:
        said: list[str] = []
        (marked,) = Cluster(cluster.scheduler_address, say=said.append)(plan, collect(tmp_path).submissions)
        (worker,) = cluster.scheduler_info["workers"]
    assert marked.results[0].state == "passed"
    assert said == [f"Sandbox of the worker {worker} on {platform.node()}: {choose()}"]
    assert list(Cluster("tcp://nowhere:1")(plan, [])) == []


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("tcp://127.0.0.1:9", "Timed out trying to connect to tcp://127.0.0.1:9 after 1 s"),
        ("nowhere", "missing port number in address 'nowhere'"),
    ],
)
def test_an_address_where_no_cluster_is(
    address: str, why: str, plan: Plan, submissions: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from proctor.grading.engines import cluster

    monkeypatch.setattr(cluster, "ANSWERS", 1)
    with pytest.raises(Fault) as caught:
        list(cluster.Cluster(address)(plan, submissions))
    assert str(caught.value) == (
        f"no Dask cluster answers at {address} ({why}). Is its scheduler running, and reachable from here? "
        "Its log tells the address, e.g. tcp://10.0.0.5:8786"
    )
