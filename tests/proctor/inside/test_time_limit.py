"""Endless code ends, at the line where it is; nothing of the limit is left behind."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import traceback

import pytest

from proctor.inside.time_limit import TimeLimit, time_limit


def loop() -> None:
    while True:
        pass


def stubborn() -> None:
    """Swallows the first exceptions that it meets."""
    for _ in range(2):
        with contextlib.suppress(BaseException):
            loop()
    loop()


def test_a_loop_ends_in_its_own_line() -> None:
    with pytest.raises(TimeLimit) as caught, time_limit(0.2):
        loop()
    assert "loop" in [frame.name for frame in traceback.extract_tb(caught.tb)]


def test_a_wait_ends() -> None:
    began = time.monotonic()
    with pytest.raises(TimeLimit), time_limit(30, by_the_clock=0.2):
        time.sleep(30)
    assert time.monotonic() - began < 20


def test_who_swallows_it_gets_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.inside.time_limit.AGAIN", 0.1)
    with pytest.raises(TimeLimit), time_limit(0.1):
        stubborn()


def test_waiting_is_not_counted_as_work() -> None:
    with time_limit(0.2, by_the_clock=20):
        time.sleep(0.5)


def test_limits_are_nested() -> None:
    """The inner one ends what is inside of it, and the outer one goes on with the time that it had left."""

    def inner() -> None:
        with contextlib.suppress(TimeLimit), time_limit(0.1):
            loop()
        loop()

    with pytest.raises(TimeLimit) as caught, time_limit(0.4):
        inner()
    assert "loop" in [frame.name for frame in traceback.extract_tb(caught.tb)]


def test_nothing_is_left_behind() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGPROF)]
    with time_limit(0.05, by_the_clock=0.05):
        pass
    time.sleep(0.1)
    assert [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGPROF)] == before
    assert signal.getitimer(signal.ITIMER_PROF) == signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_beside_the_main_thread() -> None:
    ended: list[str] = []

    def work() -> None:
        try:
            with time_limit(0.2):
                loop()
        except TimeLimit as error:
            ended.extend(frame.name for frame in traceback.extract_tb(error.__traceback__)[-1:])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert ended == ["loop"]
