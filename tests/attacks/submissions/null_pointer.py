"""Reads address zero.

Expected: stopped (crash).
"""

import ctypes


def softmax(scores, dim):
    return ctypes.string_at(0)
