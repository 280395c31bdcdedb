"""Honest code does not notice that torch's compiler is not loaded. In processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proctor.inside.warmup.stub_compiler import KNOWN

BEGIN = """
import sys
import inspect
import torch
from torch.nn import functional as F
from proctor.inside.warmup.stub_compiler import KNOWN, StandIn, bring_back, leave_out
leave_out()
leave_out()
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "torch.var_mean(F.layer_norm(torch.ones(2, 3, device='meta'), (3,)), -1)",
        "w = torch.ones(2, requires_grad=True); o = torch.optim.Adam([w], 0.1); w.sum().backward(); o.step()",
        "torch.func.vmap(torch.func.grad(lambda x: x.square().sum()))(torch.ones(2, 3))",
        "torch.where(torch.ones(2, 1, device='meta') > 0, torch.ones(3, device='meta'), 0.0)",
        "assert torch.broadcast_shapes((2, 1), (1, 3)) == (2, 3)",
        "inspect.getmodule(F.softmax); inspect.getsource(torch.nn.Linear)",
        "torch.nn.TransformerEncoderLayer(4, 2, 8)(torch.ones(1, 2, 4)).sum().backward()",
    ],
)
def test_what_students_do_needs_no_compiler(code: str) -> None:
    assert run(code + "\nprint({type(sys.modules[name]) is StandIn for name in KNOWN})") == "{True}"


def test_no_module_outside_torch_is_replaced() -> None:
    code = """
import sympy
from sympy import *
from torch.fx.experimental.symbolic_shapes import ShapeEnv
print(sympy.__version__ > "1", isinstance(sympy.Symbol("x"), sympy.Basic), Symbol("n") + 1, type(ShapeEnv()).__name__)
"""
    assert run(code) == "True True n + 1 ShapeEnv"
    assert all(name.startswith("torch.") for name in KNOWN)


@pytest.mark.parametrize("text", ["import torch._dynamo", "from torch.fx.experimental import symbolic_shapes", "x = 1"])
def test_a_submission_that_names_one_gets_the_real_ones(text: str) -> None:
    code = f"bring_back([{text!r}])\nprint({{isinstance(sys.modules[name], StandIn) for name in KNOWN}})"
    assert run(code) == ("{True}" if text == "x = 1" else "{False}")


@pytest.mark.parametrize("code", ["import torch._dynamo as real; real.config", "import torch._dynamo.config"])
def test_who_asks_for_it_gets_it(code: str) -> None:
    assert (
        run(code + "\nprint(type(sys.modules['torch._dynamo']) is StandIn, torch._dynamo.config.verbose)")
        == "False False"
    )


def test_what_was_left_out_is_as_if_it_had_always_been_there() -> None:
    """A notebook compiles after a check: no function of torch's keeps what the stand-in told it."""
    code = """
torch.empty(1, device="meta").sub(1)
asked = [f for f in stub_compiler._not_disabled]
assert asked and isinstance(sys.modules["torch._dynamo"], StandIn)
compiled = torch.compile(torch.nn.Linear(3, 3), backend="eager")
compiled(torch.ones(2, 3)).sum().backward()
assert not isinstance(sys.modules["torch._dynamo"], StandIn)
assert not stub_compiler._not_disabled and not any("__dynamo_disable" in vars(f) for f in asked)
torch.empty(1, device="meta").sub(1)
print(*[f.__dynamo_disable is not f for f in asked if "__dynamo_disable" in vars(f)])
"""
    assert set(run("from proctor.inside.warmup import stub_compiler\n" + code).split()) == {"True"}


def test_a_function_that_somebody_disables_is_disabled_by_the_real_one() -> None:
    code = """
@torch._dynamo.disable
def loud(x):
    return x + 1
print(type(sys.modules["torch._dynamo"]) is StandIn, hasattr(loud, "_torchdynamo_disable"))
"""
    assert run(code).split() == ["False", "True"]
