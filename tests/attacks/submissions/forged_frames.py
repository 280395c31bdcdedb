"""Writes its own result frames to the channel, with zeros for values and a score, and ends.

Expected: nothing earned, or stopped (garbage or exit).
"""

import os
import struct

import torch

from proctor.inside import frames, protocol


def send(kind, payload=b""):
    os.write(3, struct.pack(">cI", kind, len(payload)) + payload)


for probe in ("along_the_last", "along_the_first"):
    send(frames.BEGIN, frames.pair("softmax", probe))
    note = {"raised": None, "called": [], "score": 1.0}
    send(frames.OBSERVED, protocol.encode({"weights": torch.zeros(2, 3, 5)}, note))
send(frames.END, b"")
os._exit(0)
