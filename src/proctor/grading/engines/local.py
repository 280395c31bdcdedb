"""Worker processes on this machine, each with a sandbox of its own.

A worker that dies is replaced. The submission that it had is given to another worker once more; if that one dies as
well, the submission is reported as our fault and the class goes on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from proctor.grading.deadline import bound_memory, deadline, end_with_parent
from proctor.grading.journal import GradedSubmission
from proctor.grading.worker import (
    OWN,
    Plan,
    close_sandbox,
    failed_submission,
    mark,
    prepared,
    sandbox_of,
    unread_submission,
)
from proctor.marking.submissions import Submission
from proctor.sandbox import Fault, launch

ENDED = "Marking this submission ended the grader's own process, or took it too long, twice."


class Local:
    """The engine: `jobs` worker processes."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or cores()

    def __call__(self, plan: Plan, submissions: Iterable[Submission]) -> Iterator[GradedSubmission]:
        waiting = deque(submissions)
        if not waiting:
            return
        prepared(plan)  # before forking: the workers share it
        workers = [WorkerProcess(plan) for _ in range(min(self.jobs, len(waiting)))]
        second: set[str] = set()  # students whose first worker died
        try:
            while waiting or any(worker.task for worker in workers):
                for worker in workers:
                    if waiting and worker.task is None:
                        worker.give(waiting.popleft())
                busy = {worker.connection: worker for worker in workers if worker.task is not None}
                for connection in wait(list(busy)):
                    worker = busy[connection]  # type: ignore[index]
                    task = worker.task
                    assert task is not None
                    answer = worker.take()
                    if answer is not None:
                        if waiting:
                            worker.give(waiting.popleft())  # it goes on while the answer is noted
                        yield answer
                        continue
                    workers[workers.index(worker)] = WorkerProcess(plan)
                    if task.student in second:
                        yield failed_submission(plan, task.student, [], ENDED)  # it is not touched again
                    else:
                        second.add(task.student)
                        waiting.appendleft(task)
        finally:
            for worker in workers:
                worker.end()


class WorkerProcess:
    """One process, and the submission that it is working on."""

    def __init__(self, plan: Plan) -> None:
        # a fork shares the examiners; where there is none, a worker makes its own
        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=work, args=(plan, theirs, self.connection, os.getpid()), name="proctor worker"
        )
        self.process.start()
        launch.leave_spare()  # this worker has it
        theirs.close()
        self.task: Submission | None = None

    def give(self, task: Submission) -> None:
        self.task = task
        with suppress(OSError):  # it died; `take` finds out
            self.connection.send(task)

    def take(self) -> GradedSubmission | None:
        """The result, or None if the worker died over it."""
        self.task = None
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            return None
        if isinstance(answer, GradedSubmission):
            return answer
        raise answer

    def end(self) -> None:
        """End the process: ask first, then kill."""
        with suppress(OSError):  # it died
            self.connection.send(None)
        self.connection.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def work(plan: Plan, connection: Connection, others: Connection, parent: int) -> None:
    """Main loop of a worker: mark submissions until a stop message, or until the connection closes."""
    others.close()
    end_with_parent(parent)
    bound_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader, which then ends us
    try:
        sandbox_of(plan)
    except (Fault, RuntimeError, OSError) as error:
        connection.send(error if isinstance(error, Fault) else Fault(str(error)))
        return
    try:
        while (submission := connection.recv()) is not None:
            connection.send(mark_read(plan, submission))
    except (EOFError, OSError):
        pass
    finally:
        close_sandbox()
        sys.stdout.flush()
        os._exit(0)


def mark_read(plan: Plan, submission: Submission) -> GradedSubmission:
    """Read and mark a submission. Reading that takes too long ends this process, as marking does."""
    try:
        with deadline(OWN):
            files = submission.load()
    except Exception as error:
        return unread_submission(plan, submission.student, error)
    return mark(plan, submission.student, files)


def cores() -> int:
    """Number of processes that can run at once on this machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
