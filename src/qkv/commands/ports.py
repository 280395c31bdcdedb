"""The address at which things are served: this machine alone, on a port that is free."""

from __future__ import annotations

import os
import socket

HOST = "127.0.0.1"


class NotServing(Exception):
    """An error that keeps the course from being served; the message is for the person at the terminal."""


def first_free_port(wanted: int, what: str) -> int:
    """`wanted`, or the first free port above it; says so when it is another one. `what` is to be served there."""
    for port in range(wanted, min(wanted + 200, 65536)):
        with socket.socket() as probe:
            if os.name != "nt":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just left counts as free
            try:
                probe.bind((HOST, port))
            except OSError as error:
                if isinstance(error, PermissionError):
                    raise NotServing(f"port {port} needs rights that you don't have; choose one above 1023.") from error
                continue
        if port != wanted:
            print(f"Port {wanted} is taken; {what} is on {port}.", flush=True)
        return port
    raise NotServing(f"no free port from {wanted} on; choose another with --port.")
