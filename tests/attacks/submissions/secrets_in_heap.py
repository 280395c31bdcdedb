"""Reads the process's own heap byte by byte for the salt, the reference's text, and the submission before it.

Expected: nothing earned.
"""

import ctypes

# written backwards, and compared byte by byte, so that this file does not find itself
SECRETS = {"salt": b"@SALT-BACKWARDS@", "reference": b"@COMMENT-BACKWARDS@", "submission": b"@MARKER-BACKWARDS@"}
# what shows that the search works; long, since what is short lies in Python's own arenas and not on the heap
HERE = "".join(["a text that", " is certainly here", "." * 2000]).encode()
SECRETS["control"] = b"ereh yl" + b"niatrec si taht txet a"
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
END = libc.sbrk(0)


class MemoryInfo(ctypes.Structure):
    _fields_ = [(f"field{n}", ctypes.c_size_t) for n in range(10)]  # the first: bytes that the heap has taken


libc.mallinfo2.restype = MemoryInfo
START = END - libc.mallinfo2().field0


def search(piece, secret):
    begins = bytes(secret[:-5:-1])
    place = piece.find(begins)
    while place >= 0:
        whole = place + len(secret) <= len(piece)  # what a piece cuts off begins the next one
        if whole and all(piece[place + i] == secret[-1 - i] for i in range(len(secret))):
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
