"""A device that is not there: tensors that claim it, compute on the CPU, and refuse to meet one that is on the CPU.

    python tests/editions/stand_in.py solutions/01_lookup.ipynb

runs the cells of a solved edition with `QKV_DEVICE=standin`, as a GPU would see them. What a GPU refuses is refused: an
operation whose tensors are in two places, numbers drawn with the other place's generator, a NumPy array of what is not
in the processor's memory. Numbers are not in question here, so trainings are cut to a few steps and seeds; what did not
run is printed as JSON. Without a name it reads them, each with its steps and seeds, from its input, and answers one by
one, each in a fork of its own: what takes long to import is imported once.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import nbformat
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import Tensor, nn
from torch.utils._mode_utils import no_dispatch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "standin"
CPU = torch.device("cpu")
aten = torch.ops.aten
MOVES = {aten.copy_.default, aten._to_copy.default, aten._copy_from.default, aten._copy_from_and_resize.default}
RECURRENT = {"lstm", "gru", "lstm_cell", "gru_cell"}  # of which GPUs have kernels of their own


class TwoPlaces(RuntimeError):
    """Tensors of the stand-in and of the CPU in one operation."""


class StandIn(Tensor):
    """A tensor that says it is elsewhere."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> StandIn:
        wrapper: StandIn = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            storage_size=2**40,  # of nothing; room for every shape that it may take
            dtype=inner.dtype,
            device=torch.device(NAME, 0),
        )
        wrapper.inner = inner
        return wrapper

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["inner"], None  # modules that change their dtype put new tensors in the place of such as have this

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], *_: Any) -> StandIn:
        return StandIn(inner["inner"])

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in RECURRENT:
            refuse(func, list(leaves(args)))
            inside = mapped(lambda value: value.cpu() if isinstance(value, StandIn) else value, args)
            return mapped(lambda value: value.to(NAME) if isinstance(value, Tensor) else value, func(*inside))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        given = [*leaves(args), *leaves(kwargs)]
        if any(isinstance(leaf, Tensor) and leaf.is_meta for leaf in given) and func not in MOVES:
            return func(*mapped(shape_of, args), **mapped(shape_of, kwargs))  # of which only shapes are asked
        if func not in MOVES:
            refuse(func, given)
        to = kwargs.get("device")
        if to is not None:
            kwargs["device"] = CPU
        known = {id(leaf.inner): leaf for leaf in given if isinstance(leaf, StandIn)}
        result = func(*mapped(within, args), **mapped(within, kwargs))
        for outside in known.values():
            if outside.shape != outside.inner.shape:  # `squeeze_`, or an empty `out=`: it takes the new shape, too
                with no_dispatch():
                    aten.as_strided_(outside, outside.inner.shape, outside.inner.stride(), 0)
        here = func is aten.copy_.default and not isinstance(args[0], StandIn)
        here = here or (to is not None and torch.device(to).type == "cpu")

        def outwards(value: Any) -> Any:
            if not isinstance(value, Tensor) or here:
                return value
            return known.get(id(value)) if id(value) in known else StandIn(value)

        return args[0] if func is aten.copy_.default else mapped(outwards, result)

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.inner.untyped_storage()  # for whoever counts what is kept in memory

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"{self.detach().cpu()!r} on {NAME}"

    def __format__(self, spec: str) -> str:
        return format(self.detach().cpu(), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.inner.__reduce_ex__(protocol)


def leaves(value: Any) -> Iterator[Any]:
    """What the lists, tuples and dicts of an operation's arguments hold. torch's `pytree` does the same for whatever
    else there is, and a quarter of the time of a chapter would be spent in it."""
    if type(value) in (tuple, list):
        for item in value:
            yield from leaves(item)
    elif type(value) is dict:
        yield from leaves(list(value.values()))
    else:
        yield value


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """The same lists, tuples and dicts, each leaf changed."""
    kind = type(value)
    if kind in (tuple, list):
        return kind([mapped(change, item) for item in value])
    if kind is dict:
        return {key: mapped(change, item) for key, item in value.items()}
    return change(value)


def within(value: Any) -> Any:
    return value.inner if isinstance(value, StandIn) else value


def shape_of(value: Any) -> Any:
    return value.inner.to("meta") if isinstance(value, StandIn) else value


def refuse(func: Any, given: list[Any]) -> None:
    """Raise what CUDA would; it lets a single number from the CPU pass."""
    there = [leaf for leaf in given if isinstance(leaf, StandIn)]
    here = [leaf for leaf in given if isinstance(leaf, Tensor) and not isinstance(leaf, StandIn) and leaf.dim() > 0]
    if there and here:
        shapes = [tuple(leaf.shape) for leaf in here]
        raise TwoPlaces(f"{func}: tensors on the CPU {shapes} meet tensors on {NAME} {[tuple(t.shape) for t in there]}")
    for leaf in given:
        if isinstance(leaf, torch._C.Generator) and there and leaf._cdata not in Chance.made:
            raise TwoPlaces(f"{func}: a generator of the CPU for tensors on {NAME}")


class Chance(torch._C.Generator):
    """A generator, of the stand-in or of the CPU. An operation is handed a copy of it, so its address has to tell."""

    made: ClassVar[dict[int, Chance]] = {}

    def __new__(cls, device: Any = "cpu") -> Any:
        new = super().__new__(cls)
        if torch.device(device).type == NAME:
            cls.made[new._cdata] = new
        return new

    @property
    def device(self) -> torch.device:
        return torch.device(NAME, 0) if self._cdata in self.made else CPU


def install() -> None:
    """Make `torch.device("standin")` something to compute on."""
    _setup_privateuseone_for_python_backend(NAME)
    module = getattr(torch, NAME)
    module.manual_seed_all = lambda seed: None  # what it draws is drawn by the CPU's generator
    module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]
    library = torch.library.Library("aten", "IMPL")
    autocast = torch.library.Library("_", "IMPL")
    autocast.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")  # nothing is lowered there
    globals()["_libraries"] = library, autocast  # as long as they live, so do their kernels

    def empty(size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, **_: Any) -> Tensor:
        return StandIn(torch.empty(size, dtype=dtype, device=CPU))

    def empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
        return StandIn(torch.empty_strided(size, stride, dtype=dtype, device=CPU))

    def copy_from(source: Tensor, to: Tensor, non_blocking: bool = False) -> Tensor:
        within(to).copy_(within(source))
        return to

    library.impl("_local_scalar_dense", lambda one: one.inner.item(), "PrivateUse1")
    library.impl("_copy_from", copy_from, "PrivateUse1")
    library.impl("empty.memory_format", empty, "PrivateUse1")
    library.impl("empty_strided", empty_strided, "PrivateUse1")
    torch.Generator = Chance  # type: ignore[misc, assignment]


@dataclass(frozen=True)
class Shorter(ast.NodeTransformer):
    """The same code, with fewer steps of each training and fewer seeds of each experiment."""

    steps: int = 2
    seeds: int = 2

    def visit_For(self, loop: ast.For) -> ast.AST:
        self.generic_visit(loop)
        within = [node for line in loop.body for node in ast.walk(line) if isinstance(node, ast.For)]
        if trains(loop) and not any(map(trains, within)):
            loop.iter = cut(loop.iter, self.steps)
        elif over_seeds(loop):
            loop.iter = cut(loop.iter, self.seeds)
        return loop

    def visit_comprehension(self, loop: ast.comprehension) -> ast.AST:
        self.generic_visit(loop)
        if over_seeds(loop):
            loop.iter = cut(loop.iter, self.seeds)
        return loop


def trains(loop: ast.For) -> bool:
    return ".backward(" in ast.unparse(loop) or "steps" in ast.unparse(loop.iter)


def over_seeds(loop: ast.For | ast.comprehension) -> bool:
    return isinstance(loop.target, ast.Name) and loop.target.id == "seed"


def cut(iterated: ast.expr, most: int) -> ast.expr:
    short = ast.parse(f"__import__('itertools').islice(x, {most})", mode="eval").body
    assert isinstance(short, ast.Call)
    short.args[0] = iterated
    return short


def run(path: Path, shorter: Shorter) -> dict[str, str]:
    """Run the cells of a solved edition. First line of a cell -> why it did not run, or did not pass its check.

    A name of the notebook that ends up on the CPU is a fault as well.
    """
    os.environ |= {"QKV_DEVICE": NAME, "QKV_PROGRESS": "off", "MPLBACKEND": "agg"}
    install()
    os.chdir(path.parent)
    shell, faults = InteractiveShell.instance(), {}
    for cell in nbformat.read(path.name, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        tags, first = cell.metadata.get("tags", ()), cell.source.partition("\n")[0]
        tree = ast.parse(cell.source)
        if "exercise" not in tags:  # a solution is checked, so it stays what it is
            tree = ast.fix_missing_locations(shorter.visit(tree))
        with redirect_stdout(io.StringIO()):
            result = shell.run_cell(ast.unparse(tree))
        if not result.success and "raises-exception" not in tags:
            error = result.error_before_exec or result.error_in_exec
            faults[first] = f"{type(error).__name__}: {str(error)[:300]}"
        elif "check" in tags and getattr(result.result, "state", "") != "passed":
            faults[first] = repr(result.result)
    return faults | {name: "is on the CPU" for name, value in shell.user_ns.items() if on_the_cpu(value)}


def on_the_cpu(value: Any) -> bool:
    """Is it, or is a parameter of it, where a chapter should have left nothing?"""
    tensors = list(value.parameters()) if isinstance(value, nn.Module) else [value]
    return any(isinstance(tensor, Tensor) and tensor.device == CPU for tensor in tensors)


def answer(path: str, *shorter: int) -> None:
    print(json.dumps(run(Path(path).resolve(), Shorter(*shorter))), file=sys.__stdout__, flush=True)


def serve() -> None:
    """Answer each line of the input, a list as JSON, with a line."""
    import matplotlib.pyplot  # noqa: F401 # what cells import, but for ours, which looks at the device that is set

    for line in sys.stdin:
        if os.fork() == 0:
            answer(*json.loads(line))
            os._exit(0)
        if status := os.wait()[1]:
            print(json.dumps({"the run": f"ended with status {status}"}), flush=True)


if __name__ == "__main__":
    answer(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else serve()
