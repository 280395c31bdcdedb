"""On the meta device our short versions give the shapes and dtypes that torch gives, and its words for errors."""

from __future__ import annotations

import subprocess
import sys

CALLS = {
    "abs": "x.abs()",
    "abs of complex": "(x + 1j).abs()",
    "logsumexp": "torch.logsumexp(x, -1, keepdim=True)",
    "layer norm": "F.layer_norm(x, (4,), torch.ones(4, device=x.device), torch.zeros(4, device=x.device))",
    "layer norm over two": "F.layer_norm(x, (3, 4))",
    "its statistics": "torch.native_layer_norm(x, (3, 4), None, None, 1e-5)[1]",
    "var": "torch.var_mean(x, dim=(0, 2), correction=0)[0]",
    "var of all": "torch.var_mean(x)[1]",
    "var, kept": "torch.var_mean(x, dim=-1, keepdim=True)[0]",
    "layer norm of another size": "F.layer_norm(x, (5,))",
    "layer norm with a gain of another size": "F.layer_norm(x, (4,), torch.ones(5, device=x.device))",
    "var over a dimension that is not there": "torch.var_mean(x, dim=7)",
}
PROGRAM = """
import sys, torch
import torch.nn.functional as F
from proctor.inside.warmup import meta_kernels
if sys.argv[1] == "ours":
    meta_kernels.prefer_kernels()
for call in sys.argv[2:]:
    try:
        result = eval(call, {"torch": torch, "F": F, "x": torch.ones(2, 3, 4, device="meta")})
        print(tuple(result.shape), result.dtype, result.device)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
print("sympy" in sys.modules)
"""


def said(whose: str, *calls: str) -> list[str]:
    words = [sys.executable, "-c", PROGRAM, whose, *calls]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def test_results_are_those_of_torch():
    ours, theirs = said("ours", *CALLS.values())[:-1], said("torch", *CALLS.values())[:-1]
    assert dict(zip(CALLS, ours, strict=True)) == dict(zip(CALLS, theirs, strict=True))


def test_what_answers_are_full_of_does_not_load_sympy():
    right = [call for name, call in CALLS.items() if "another" not in name and "not there" not in name]
    assert said("ours", *right)[-1] == "False"
