"""Forbidden calls are found by what runs, whatever the spelling: gone inside the block, back after it."""

from __future__ import annotations

import contextlib
import cProfile
import importlib
import sys
import threading
import time
from types import FunctionType

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from proctor.forbid import Family, python_functions, watch
from proctor.forbid.replace import Blocker, Forbidden
from qkv.exercises import forbidden
from qkv.exercises.forbidden import FUSED_ATTENTION, LAYER_NORM, MULTIHEAD, SOFTMAX

X = torch.randn(2, 3, 4)
EYE = torch.eye(4).expand(1, 1, 4, 4).contiguous()
rename = torch.softmax
CALLS = {
    "torch.softmax": (SOFTMAX, lambda: torch.softmax(X, -1)),
    "a method": (SOFTMAX, lambda: X.softmax(-1)),
    "with gradient": (SOFTMAX, lambda: torch.softmax(X.clone().requires_grad_(), -1)),
    "F.softmax": (SOFTMAX, lambda: F.softmax(X, dim=-1)),
    "nn.Softmax": (SOFTMAX, lambda: nn.Softmax(dim=-1)(X)),
    "special": (SOFTMAX, lambda: torch.special.softmax(X, -1)),
    "masked": (SOFTMAX, lambda: torch.masked.softmax(X, -1)),
    "log-softmax": (SOFTMAX, lambda: F.log_softmax(X, -1)),
    "gumbel": (SOFTMAX, lambda: F.gumbel_softmax(X)),
    "by name": (SOFTMAX, lambda: getattr(torch, "soft" + "max")(X, -1)),
    "renamed": (SOFTMAX, lambda: rename(X, -1)),
    "an operator": (SOFTMAX, lambda: torch.ops.aten.softmax.int(X, -1)),
    "a kernel": (SOFTMAX, lambda: torch.ops.aten._softmax(X, -1, False)),
    "vmap": (SOFTMAX, lambda: torch.func.vmap(lambda row: torch.softmax(row, -1))(X)),
    "a function mode disabled": (SOFTMAX, lambda: without_modes(lambda: torch.softmax(X, -1))),
    "a distribution": (SOFTMAX, lambda: torch.distributions.Categorical(logits=X).probs),
    "fused attention": (FUSED_ATTENTION, lambda: F.scaled_dot_product_attention(X, X, X)),
    "fused attention, an operator": (FUSED_ATTENTION, lambda: torch.ops.aten.scaled_dot_product_attention(X, X, X)),
    "fused attention, C": (FUSED_ATTENTION, lambda: torch._C._nn.scaled_dot_product_attention(X, X, X)),
    "multi-head": (MULTIHEAD, lambda: nn.MultiheadAttention(4, 2, batch_first=True).eval()(X, X, X)),
    "multi-head, training": (MULTIHEAD, lambda: nn.MultiheadAttention(4, 2)(X, X, X)),
    "layer norm": (LAYER_NORM, lambda: nn.LayerNorm(4)(X)),
    "batch norm": (forbidden.BATCH_NORM, lambda: nn.BatchNorm1d(3)(X)),
    "gelu": (forbidden.GELU, lambda: F.gelu(X)),
    "dropout": (forbidden.DROPOUT, lambda: F.dropout(X, 0.5)),
    "lstm cell": (forbidden.RECURRENT, lambda: nn.LSTMCell(4, 5)(X[0])),
    "cross-entropy": (forbidden.CROSS_ENTROPY, lambda: F.cross_entropy(X[0], torch.tensor([0, 1, 2]))),
}


def without_modes(action):
    with torch._C.DisableTorchFunction():
        return action()


def called(family, action) -> tuple[str, ...]:
    blocker = Blocker()
    with blocker.without([family]):
        with contextlib.suppress(RuntimeError):
            action()
        return blocker.pop_calls()


@pytest.mark.parametrize("name", CALLS)
def test_every_spelling_is_seen(name):
    family, call = CALLS[name]
    assert called(family, call) == (family.title,)
    call()  # given back


def decomposed():
    from torch._decomp import decompositions

    return decompositions._softmax(X, -1, False)


def referred():
    import torch._refs as refs

    return refs.softmax(X, -1)


def gelu_in_python():
    from torch._refs.nn import functional

    return functional.gelu(X)


def norm_in_python():
    import torch._refs as refs

    return refs.native_layer_norm(X, [4], None, None, 1e-5)


def quantizable():
    from torch.ao.nn.quantizable import MultiheadAttention

    return MultiheadAttention(4, 2)(X, X, X)


@pytest.mark.parametrize(
    ("family", "action"),
    [
        (SOFTMAX, decomposed),
        (SOFTMAX, referred),
        (forbidden.GELU, gelu_in_python),
        (LAYER_NORM, norm_in_python),
        (MULTIHEAD, quantizable),
    ],
)
def test_torchs_own_versions_in_python_are_seen(family, action):
    assert called(family, action) == (family.title,)


@pytest.mark.parametrize(
    ("family", "action"),
    [
        (SOFTMAX, lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(EYE, EYE, EYE)),
        (SOFTMAX, lambda: F.scaled_dot_product_attention(EYE, EYE, EYE)),
        (forbidden.GELU, lambda: torch.ops.mkldnn._linear_pointwise(X, torch.eye(4), None, "gelu", [], "none")),
        (forbidden.GELU, lambda: torch.ops.aten._addmm_activation(X[0, 0], X[0], torch.eye(4), use_gelu=True)),
    ],
)
def test_kernels_that_contain_the_forbidden_thing_are_named(family, action):
    (said,) = called(family, action)[:1]
    assert said.endswith(f"(it contains {family.title})")
    assert said.startswith("`")


def test_a_kernel_that_was_taken_aside_inside_the_block_refuses():
    blocker = Blocker()
    with blocker.without([SOFTMAX]):
        kernel = torch.library.get_kernel("aten::_softmax", "CPU")
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    assert torch.library.get_kernel("aten::_softmax", "CPU").call_boxed(cpu, X, -1, False).equal(X.softmax(-1))
    with pytest.raises(RuntimeError, match="invalidated"):
        kernel.call_boxed(cpu, X, -1, False)


def test_what_torch_has_in_python_refuses_and_comes_back():
    import torch._refs as refs

    before = refs.softmax(X, -1)
    with Blocker().without([SOFTMAX]), pytest.raises(Forbidden):
        refs.softmax(X, -1)
    assert refs.softmax(X, -1).equal(before)


def test_a_function_with_cells_of_its_own_refuses_as_well():
    def made(factor):
        def softmax_of_a_closure():
            return factor

        return softmax_of_a_closure

    function, refused = made(2), []
    function.__code__ = function.__code__.replace(co_filename=python_functions.TORCH + "/made_up.py")
    found = [(function, "it")]
    loaded = type("Loaded", (), {"named_by": lambda self, family: found})()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python_functions, "LOADED", loaded)
        with python_functions.refusing([SOFTMAX], lambda said: lambda: refused.append(said)):
            function()
    assert refused == ["it"]
    assert function() == 2


def test_a_part_of_torch_that_is_imported_inside_the_block_is_seen(tmp_path, monkeypatch):
    """Too late for its functions to be exchanged: from its import on, calls are watched."""
    name = "torch._a_part_to_come"
    (tmp_path / "_a_part_to_come.py").write_text("def softmax(x):\n    return x\n")
    monkeypatch.setattr(torch, "__path__", [*torch.__path__, str(tmp_path)])
    monkeypatch.setattr(watch, "TORCH", str(tmp_path))

    def late():
        return importlib.import_module(name).softmax(X)

    try:
        assert called(SOFTMAX, late) == (SOFTMAX.title,)
    finally:
        sys.modules.pop(name, None)


def test_what_is_not_forbidden_is_not_noted():
    weights = (X - X.amax(-1, keepdim=True)).exp()
    assert called(SOFTMAX, lambda: weights / weights.sum(-1, keepdim=True)) == ()
    assert called(SOFTMAX, lambda: X - torch.logsumexp(X, -1, keepdim=True)) == ()
    assert called(SOFTMAX, lambda: F.binary_cross_entropy(X.sigmoid(), X.sigmoid())) == ()
    assert called(forbidden.CROSS_ENTROPY, lambda: F.kl_div(X.log_softmax(-1), X.softmax(-1))) == ()
    assert called(MULTIHEAD, lambda: nn.MultiheadAttention(4, 2)) == ()


def test_a_function_that_is_withheld_is_told():
    code = called.__code__
    blocker = Blocker()
    with blocker.without([], {(code.co_filename, "called"): "the course's own answer"}):
        called(SOFTMAX, lambda: None)
    assert blocker.pop_calls() == ("the course's own answer",)


def test_the_refusal_says_what_is_refused():
    blocker = Blocker()
    with blocker.without([SOFTMAX]), pytest.raises(Forbidden) as caught:
        X.softmax(-1)
    assert str(caught.value) == "this exercise asks you to do without torch's own softmax"


def test_everything_else_stays():
    blocker = Blocker()
    with blocker.without([SOFTMAX]):
        assert F.gelu(X).shape == (*F.layer_norm(X.exp() @ X.mT, (3,)).shape[:2], 4)
        assert blocker.pop_calls() == ()


def test_nothing_forbidden_is_nothing_done():
    blocker = Blocker()
    with blocker.without([]):
        X.softmax(-1)
    assert blocker.pop_calls() == ()


def test_a_family_of_unknown_names_is_no_error():
    blocker, unknown = Blocker(), Family.of("a thing of the future", "thing_of_the_future")
    with blocker.without([unknown]):
        X.softmax(-1)


@pytest.mark.parametrize("tolerant", [True, False])
def test_whoever_profiles_goes_on_profiling(tolerant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.12 on a second profiler is refused; that must not cost a verdict."""

    class Intolerant(cProfile.Profile):
        def enable(self, *args: bool, **options: bool) -> None:
            raise ValueError("Another profiling tool is already active")

    profiler = cProfile.Profile()
    profiler.enable()
    if not tolerant:
        monkeypatch.setattr(watch.cProfile, "Profile", Intolerant)
    try:
        with Blocker().without([SOFTMAX]):
            X.exp()
        F.relu(X)
    finally:
        profiler.disable()
    assert any(getattr(entry.code, "co_name", "") == "relu" for entry in profiler.getstats())


def test_a_look_at_all_objects_disturbs_no_other_thread() -> None:
    """A tuple that is half filled when all objects are listed must not be held when its thread goes on."""
    looked, failures = threading.Event(), []

    def fill() -> None:
        while not looked.is_set():
            try:
                tuple(i for i in range(30))
            except SystemError as error:
                failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=fill)
    thread.start()
    try:
        found = [python_functions.all_functions() for _ in range(5)]
    finally:
        looked.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert not failures
    assert fill in found[-1]
    assert F.softmax in found[-1]
    assert {type(thing) for thing in found[-1]} == {FunctionType}


def test_whoever_checks_while_another_thread_looks_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, begun = python_functions.LoadedFunctions(), threading.Event()
    everything = python_functions.all_functions

    def slowly() -> list[FunctionType]:
        begun.set()
        time.sleep(1)
        return everything()

    monkeypatch.setattr(python_functions, "all_functions", slowly)
    warm_up = threading.Thread(target=loaded.scan)
    warm_up.start()
    begun.wait()
    assert loaded.named_by(MULTIHEAD)  # and not the nothing that is known while it looks
    warm_up.join()


def test_what_lingers_stays_away_until_the_next_block():
    blocker = Blocker(keep_blocked=True)
    try:
        blocker.take_away([SOFTMAX])
        with pytest.raises(Forbidden):
            torch.softmax(X, -1)
        kept = blocker.libraries[SOFTMAX]
        with blocker.without([SOFTMAX, LAYER_NORM]), pytest.raises(Forbidden):
            F.layer_norm(X, (4,))
        assert blocker.libraries[SOFTMAX] is kept, "it was replaced before"
        with blocker.without([]):
            torch.softmax(X, -1)
        assert blocker.libraries == {}
    finally:
        blocker.take_away([])
    F.layer_norm(torch.softmax(X, -1), (4,))
