"""Reads the process's own heap byte by byte for the salt, the reference's text, and the submission before it.

Expected: nothing earned.
"""

import ctypes

# written backwards, and compared byte by byte, so that this file does not find itself
SECRETS = {"salt": b"@SALT-BACKWARDS@", "reference": b"@COMMENT-BACKWARDS@", "submission": b"@MARKER-BACKWARDS@"}
HERE = "".join(["a text that", " is certainly here"]).encode()  # what shows that the search works
SECRETS["control"] = b"ereh yl" + b"niatrec si taht txet a"
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
END = libc.sbrk(0)
START = min(id(object()), id(SECRETS), id([1]), id(1.5), id(HERE))


def search(piece, secret):
    begins = bytes(secret[:-5:-1])
    place = piece.find(begins)
    while place >= 0:
        if all(piece[place + i] == secret[-1 - i] for i in range(min(len(secret), len(piece) - place))):
            return True
        place = piece.find(begins, place + 1)
    return False


FOUND = set()
if START < END < START + (1 << 32):
    for place in range(START, END - 4096, 1 << 20):
        piece = ctypes.string_at(place, min((1 << 20) + 200, END - place))
        for name, secret in SECRETS.items():
            if search(piece, secret):
                FOUND.add(name)
if {"control"} != FOUND:
    print("LEAK", FOUND)


def softmax(scores, dim):
    return scores
