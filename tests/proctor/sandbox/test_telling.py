"""Remarks on what an instructor should look at, from the text alone."""

from __future__ import annotations

from proctor.sandbox import remarks


def test_telling_uses_are_listed_with_their_place_and_reason():
    source = (
        "import gc, torch\nfrom ctypes import CDLL\nfrom proctor.observe import observe\n"
        "def f(x):\n    frame = getattr(__import__('sys'), '_getframe')()\n    return frame.f_back\n"
    )
    assert remarks([("cell 2", source)]) == (
        "cell 2, line 1: `gc` lists the objects in memory",
        "cell 2, line 2: `ctypes` reads and writes memory directly",
        "cell 2, line 3: `proctor` touches the test harness",
        "cell 2, line 5: `__import__` runs text as code",
        "cell 2, line 5: `_getframe` looks at who called it",
        "cell 2, line 6: `f_back` looks at who called it",
    )


def test_ordinary_code_has_no_remarks():
    source = """
import math
import torch
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    '''A docstring that mentions gc and ctypes.'''
    def forward(self, x):
        self.eval()  # no text is run here
        return torch.compile(F.gelu)(x) / math.sqrt(x.shape[-1])
"""
    assert remarks([("a.py", source)]) == ()


def test_what_cannot_be_parsed_has_none():
    assert remarks([("a.py", "def ("), ("b.py", "\0"), ("c.py", "(" * 100_000)]) == ()
