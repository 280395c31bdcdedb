"""A Dask cluster: workers anywhere, each with a sandbox of its own.

Submissions travel as bytes, a few per task. A task whose worker is lost runs again on another; one that ends worker
after worker is taken apart, so that a single submission is to blame and the others are marked.
"""

from __future__ import annotations

import logging
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice

from distributed import Client, KilledWorker, LocalCluster, as_completed
from distributed.client import Future

from proctor.grading.engines.local import cores
from proctor.grading.journal import GradedSubmission
from proctor.grading.worker import Plan, close_sandbox, failed_submission, mark, unread_submission
from proctor.marking.submissions import File, Submission
from proctor.sandbox import Fault, Refused, choose

BATCH = 8  # submissions per task: a task costs some milliseconds of the scheduler's time
ANSWERS = 30  # seconds within which a scheduler has to, busy as it may be
MOST_BYTES = 64 * 2**20  # in one task, unless a single submission has more
AHEAD = 3  # tasks per worker that wait or run; the rest of the class stays on disk

Handed = tuple[str, list[File]]


class Cluster:
    """The engine.

    Args:
        scheduler: address of a running cluster; a cluster on this machine is started without one.
        jobs: worker processes of that local cluster.
        say: takes what an instructor should know: which sandbox each worker has.
    """

    def __init__(
        self, scheduler: str | None = None, jobs: int | None = None, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self.scheduler = scheduler
        self.jobs = jobs or cores()
        self.say = say

    def __call__(self, plan: Plan, submissions: Iterable[Submission]) -> Iterator[GradedSubmission]:
        waiting = list(submissions)
        if not waiting:
            return
        if self.scheduler is not None:
            with connected(self.scheduler) as client:
                yield from run_on_cluster(client, plan, waiting, self.say)
        else:
            with (
                LocalCluster(
                    n_workers=self.jobs, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
                ) as cluster,
                Client(cluster) as client,
            ):
                yield from run_on_cluster(client, plan, waiting, self.say)


def connected(scheduler: str) -> Client:
    """A client of a running cluster.

    Raises:
        Fault: there is no answer, or this is no address.
    """
    try:
        return Client(scheduler, timeout=ANSWERS)
    except (OSError, ValueError) as error:
        advice = (
            "Is its scheduler running, and reachable from here? Its log tells the address, e.g. tcp://10.0.0.5:8786"
        )
        raise Fault(f"no Dask cluster answers at {scheduler} ({error}). {advice}") from None


def run_on_cluster(
    client: Client, plan: Plan, submissions: Iterable[Submission], say: Callable[[str], None] = lambda text: None
) -> Iterator[GradedSubmission]:
    """Keep every worker busy, and give back what is done."""
    introduced: set[str] = set()  # workers whose sandbox was reported
    unread: list[GradedSubmission] = []
    waiting = batches(submissions, lambda student, error: unread.append(unread_submission(plan, student, error)))
    running: dict[Future[list[GradedSubmission]], list[Handed]] = {}
    done = as_completed()

    def submit(batch: list[Handed]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a notebook is large: its pictures are
            future = client.submit(mark_batch, plan, batch, pure=False, retries=1)
        running[future] = batch
        done.add(future)

    def fill() -> None:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        introduce(client, plan, [address for address in workers if address not in introduced], say)
        introduced.update(workers)
        for batch in islice(waiting, max(AHEAD * max(len(workers), 1) - len(running), 0)):
            submit(batch)

    fill()
    try:
        while running or unread:
            while unread:
                yield unread.pop()
            if not running:
                break
            future = next(done)
            batch = running.pop(future)
            try:
                yield from future.result()
            except KilledWorker:
                if len(batch) == 1:
                    yield failed_submission(plan, *batch[0], "Marking this submission ended one worker after another.")
                else:
                    for handed in batch:
                        submit([handed])
            future.release()
            fill()
    finally:
        with suppress(Exception):  # the cluster may be gone
            client.run(close_sandbox)


def introduce(client: Client, plan: Plan, workers: list[str], say: Callable[[str], None]) -> None:
    """Report the sandbox of each of these workers."""
    if not workers:
        return
    found = client.run(tier_here, plan.tier, plan.trust, workers=workers, on_error="return")
    for address in sorted(found):
        answer = found[address]
        host, tier = answer if isinstance(answer, tuple) else ("a host that did not answer", f"unknown ({answer})")
        say(f"Sandbox of the worker {address} on {host}: {tier}")


def tier_here(tier: str, trust: bool) -> tuple[str, str]:
    """The name of this machine, and the sandbox that a worker on it uses."""
    try:
        return platform.node(), choose(tier, trust)
    except Refused as refused:
        return platform.node(), f"none, so nothing is marked there: {refused}"


def batches(submissions: Iterable[Submission], failed: Callable[[str, Exception], None]) -> Iterator[list[Handed]]:
    """Submissions in groups, read when their turn comes; those that cannot be read are told."""
    group: list[Handed] = []
    size = 0
    for submission in submissions:
        try:
            files = submission.load()
        except Exception as error:  # what a student handed in can cost nobody else
            failed(submission.student, error)
            continue
        more = sum(len(file.content) for file in files)
        if group and size + more > MOST_BYTES:
            yield group
            group, size = [], 0
        group.append((submission.student, files))
        size += more
        if len(group) == BATCH:
            yield group
            group, size = [], 0
    if group:
        yield group


def mark_batch(plan: Plan, batch: list[Handed]) -> list[GradedSubmission]:
    """Mark a batch of submissions; runs in a worker."""
    return [mark(plan, student, files) for student, files in batch]
