"""Frames from one run, read under one total deadline and one total size.

A child sends a hundred small frames and none is needed before the last, so no frame wakes us: we look now and then,
and at once when the child hangs up.
"""

from __future__ import annotations

import math
import select
import socket
import time
from collections.abc import Iterator

from proctor.inside import frames
from proctor.inside.frames import TooLarge
from proctor.inside.rlimits import Limits

PART = 1 << 18
PAUSES = 0.004, 0.064  # seconds between two looks: the first, and the longest after many that found nothing


class Late(Exception):
    """The deadline passed."""


class Ended(Exception):
    """The other side closed the channel."""


class Reader:
    """Frames from one run, under one total deadline and one total size."""

    def __init__(self, channel: socket.socket, deadline: float, limits: Limits) -> None:
        self.channel, self.deadline = channel, deadline
        self.most, self.left = limits.frame_bytes, limits.result_bytes
        self.frames_left = 20_000
        self.running = ("", "")
        channel.setblocking(False)
        self._poll = select.poll()
        self._received = bytearray()  # and not taken yet

    def _left(self) -> float:
        """Seconds until the deadline."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Late
        return left

    def _wait(self, event: int, seconds: float) -> None:
        """Until this event, the end of the other side, or that time."""
        self._poll.register(self.channel, event)
        self._poll.poll(min(self._left(), seconds) * 1000)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._wait(select.POLLOUT, math.inf)
            try:
                view = view[self.channel.send(view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Ended from None

    def _exactly(self, count: int) -> bytes:
        while len(self._received) < count:
            self._receive()
        data = bytes(self._received[:count])
        del self._received[:count]
        return data

    def _receive(self) -> None:
        """Take what has come, up to `PART` bytes; wait until there is something."""
        pause, longest = PAUSES
        while self._left():
            try:
                part = self.channel.recv(PART)
                break
            except BlockingIOError:
                self._wait(0, pause)  # 0: none but the end of the other side
                pause = min(2 * pause, longest)
            except OSError:
                raise Ended from None
        if not part:
            raise Ended
        self._received += part

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        while True:
            kind, length = frames.HEAD.unpack(self._exactly(frames.HEAD.size))
            self.left -= length
            self.frames_left -= 1
            most = self.most if kind == frames.OBSERVED else frames.MAX_TEXT
            if length > most or self.left < 0 or self.frames_left < 0:
                raise TooLarge(f"a result may have {self.most:,} bytes")
            yield kind, self._exactly(length)
