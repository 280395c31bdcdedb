"""Frames from one sitting, read under one total deadline and one total size."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator

from proctor.sandbox import protocol
from proctor.sandbox.limits import Limits
from proctor.sandbox.protocol import TooLarge

PART = 1 << 18


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
        self._received = bytearray()  # and not taken yet

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
        while len(self._received) < count:
            self._receive()
        data = bytes(self._received[:count])
        del self._received[:count]
        return data

    def _receive(self) -> None:
        """Wait until something comes, and take what there is, up to `PART` bytes."""
        self._wait(select.POLLIN)
        try:
            part = self.channel.recv(PART)
        except BlockingIOError:
            return
        except OSError:
            raise Ended from None
        if not part:
            raise Ended
        self._received += part

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        while True:
            kind, length = protocol.HEAD.unpack(self._exactly(protocol.HEAD.size))
            self.left -= length
            self.frames_left -= 1
            most = self.most if kind == protocol.OBSERVED else protocol.MAX_TEXT
            if length > most or self.left < 0 or self.frames_left < 0:
                raise TooLarge(f"a result may have {self.most:,} bytes")
            yield kind, self._exactly(length)
