"""Frames from one sitting, read under one total deadline and one total size."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator

from proctor.sandbox import protocol
from proctor.sandbox.limits import Limits
from proctor.sandbox.protocol import TooLarge


class Late(Exception):
    """The deadline passed."""


class Ended(Exception):
    """The other side closed the channel."""


class Reader:
    """Frames from one sitting, under one total deadline and one total size."""

    def __init__(self, channel: socket.socket, deadline: float, limits: Limits) -> None:
        self.channel, self.deadline = channel, deadline
        self.most, self.left = limits.frame_bytes, limits.result_bytes
        self.frames_left = 20_000
        self.running = ("", "")
        channel.setblocking(False)
        self._poll = select.poll()

    def _wait(self, event: int) -> None:
        left = self.deadline - time.monotonic()
        self._poll.register(self.channel, event)
        if left <= 0 or not self._poll.poll(left * 1000):
            raise Late

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._wait(select.POLLOUT)
            try:
                view = view[self.channel.send(view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Ended from None

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                part = self.channel.recv(min(count - len(data), 1 << 20))
            except BlockingIOError:
                self._wait(select.POLLIN)
                continue
            except OSError:
                raise Ended from None
            if not part:
                raise Ended
            data += part
            if time.monotonic() > self.deadline:
                raise Late
        return bytes(data)

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        while True:
            kind, length = protocol.HEAD.unpack(self._exactly(protocol.HEAD.size))
            self.left -= length
            self.frames_left -= 1
            most = self.most if kind == protocol.OBSERVED else protocol.MAX_TEXT
            if length > most or self.left < 0 or self.frames_left < 0:
                raise TooLarge(f"a result may have {self.most:,} bytes")
            yield kind, self._exactly(length)
