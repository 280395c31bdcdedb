"""Sends a tensor whose shape and offsets claim more than there is.

Expected: stopped (garbage).
"""

import json
import os
import struct

NOTE = json.dumps({"exercise": "softmax", "probe": "along_the_last", "values": True, "raised": None, "called": []})
TENSOR = {"dtype": "F32", "shape": [2**31, 2**31, 2**31], "data_offsets": [0, 2**62]}
HEADER = json.dumps({"__metadata__": {"note": NOTE}, "weights": TENSOR}).encode()
PAYLOAD = struct.pack("<Q", len(HEADER)) + HEADER + b"1234"
os.write(3, struct.pack(">cI", b"O", len(PAYLOAD)) + PAYLOAD)


def softmax(scores, dim):
    return scores
