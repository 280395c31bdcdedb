"""Calls out: to this machine, to another, by name, by Unix socket, as a server.

Expected: nothing earned.
"""

import contextlib
import socket

with contextlib.suppress(OSError):
    socket.create_connection(("127.0.0.1", int("@PORT@")), timeout=0.3)
    print("LEAK connected")
with contextlib.suppress(OSError):
    socket.create_connection(("192.0.2.1", 80), timeout=0.3)
    print("LEAK connected outside")
with contextlib.suppress(OSError):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int("@PORT@")))
    print("LEAK sent")
with contextlib.suppress(OSError):
    socket.socket(socket.AF_UNIX).connect("@PLAYGROUND@/socket")
    print("LEAK connected to a Unix socket")
with contextlib.suppress(OSError):
    socket.socket(socket.AF_UNIX).connect(chr(0) + "@ABSTRACT@")
    print("LEAK connected to an abstract socket")
with contextlib.suppress(OSError):
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    print("LEAK listens")
with contextlib.suppress(OSError):
    socket.getaddrinfo("example.org", 80)
    print("LEAK resolved a name")


def softmax(scores, dim):
    return scores
