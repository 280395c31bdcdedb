"""Endless code ends, at the line where it is; nothing of the limit is left behind."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import traceback

import pytest

from proctor.examining.patience import OutOfTime, at_most


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
    with pytest.raises(OutOfTime) as caught, at_most(0.2):
        loop()
    assert "loop" in [frame.name for frame in traceback.extract_tb(caught.tb)]


def test_a_wait_ends() -> None:
    began = time.monotonic()
    with pytest.raises(OutOfTime), at_most(0.2):
        time.sleep(30)
    assert time.monotonic() - began < 20


def test_who_swallows_it_gets_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.examining.patience.AGAIN", 0.1)
    with pytest.raises(OutOfTime), at_most(0.1):
        stubborn()


def test_the_time_starts_anew() -> None:
    with at_most(0.5) as anew:
        for _ in range(4):
            time.sleep(0.2)
            anew()


def test_nothing_is_left_behind() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with at_most(0.05):
        pass
    time.sleep(0.1)
    assert signal.getsignal(signal.SIGALRM) is before
    with at_most(None) as anew:
        anew()


def test_beside_the_main_thread() -> None:
    ended: list[str] = []

    def work() -> None:
        try:
            with at_most(0.2):
                loop()
        except OutOfTime as error:
            ended.extend(frame.name for frame in traceback.extract_tb(error.__traceback__)[-1:])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert ended == ["loop"]
