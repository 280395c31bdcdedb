"""Probes that many exercises share, made from a function that gives one set of arguments.

Most exercises want all of them: `usual(exercise, make)`. Each maker also stands alone and returns a probe:
`exercise.property(keeps_inputs(make))`. For a class, `build` turns it into the callable that is looked at, for example
`lambda cls: seeded(cls(8, 2))`. Arguments and results may be nested: a cache is a tuple of tensors.

A property that fails says what was seen, and not what is usually the reason: see `explain` of each probe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from proctor.inside.observe import Observation
from proctor.inside.plain_errors import in_plain_words

Make = Callable[[], tuple[Any, ...]]
Build = Callable[[Any], Callable[..., Any]]
ProbeFunction = Callable[[Any], Mapping[str, Any]]
Explain = Callable[[Observation, Observation], str]

DTYPES = (torch.float64, torch.float16, torch.bfloat16)
FLOATING = ("gradients", *(f"in_{str(dtype).removeprefix('torch.')}" for dtype in DTYPES))  # of no use to whole numbers


def as_is(implementation: Callable[..., Any]) -> Callable[..., Any]:
    return implementation


class TakesProperties(Protocol):
    """An exercise, as far as it matters here: `proctor.examining.exercise` stays outside of the sandbox."""

    def property(self, function: ProbeFunction) -> ProbeFunction: ...


def usual(
    exercise: TakesProperties,
    make: Make,
    build: Build = as_is,
    *,
    alike: Make | None = None,
    without: Iterable[str] = (),
) -> None:
    """Add the property probes that the course asks of every function: inputs unchanged, gradients, no_grad, every
    dtype, another device.

    Args:
        make: gives one set of arguments.
        alike: the same with all shapes alike, so that writing into *any* argument fits; where `make` has such already,
            leave it out.
        without: names of properties that this exercise does not ask for (`gradients`, `in_float16`, …).
    """
    found = [keeps_inputs(make, build)]
    if alike is not None:
        found.append(keeps_inputs(alike, build, "keeps_inputs_of_one_shape"))
    found += [gradients(make, build), under_no_grad(make, build)]
    found += [same_in(dtype, make, build) for dtype in DTYPES]
    found.append(other_device(make, build))
    for probe in found:
        if probe.__name__ not in without:
            exercise.property(probe)


def explained_by(explain: Explain) -> Callable[[ProbeFunction], ProbeFunction]:
    """Attach the function that explains a failure of this property from the observed and the expected values."""

    def attach(probe: ProbeFunction) -> ProbeFunction:
        probe.explain = explain  # type: ignore[attr-defined]
        return probe

    return attach


def of_portability(probe: ProbeFunction) -> ProbeFunction:
    """Mark a property that decides whether code runs elsewhere: on another device, in half precision, without
    gradients. It says nothing of whether the code is right here."""
    probe.portability = True  # type: ignore[attr-defined]
    return probe


def how_it_raised(seen: Observation, when: str) -> str:
    """`Your code raised TypeError at line 3 …`, and when."""
    assert seen.raised is not None
    if seen.raised.ours:
        return f"What your code gives cannot be compared {when}: {seen.raised.message}"
    where = f" at {seen.raised.where}" if seen.raised.where else ""
    return f"Your code raised {seen.raised.kind}{where} {when}. {in_plain_words(seen.raised.message)}".strip()


# ---- inputs


AGAIN, STAYS = "a second call gives the same", "the first result stays as it is after a second call"
NEW = "other arguments give another result"
REMEMBERS = (
    "Called a second time with the same arguments, your code gives something else. It remembers something from one "
    "call to the next: look for what is made outside of the function, or only once."
)
SHARES = (
    "A second call changes what the first one returned: both give the same object, and the second writes into it. Make "
    "a new one in every call."
)
KEEPS_A_RESULT = (
    "Called with other numbers in the same shapes, your code gives what it gave before. It keeps a result from one "
    "call to the next: compute a new one in every call."
)


def why_inputs_changed(seen: Observation, expected: Observation) -> str:
    if seen.raised is not None:
        return how_it_raised(seen, "where it was called twice, and its inputs were looked at afterwards")
    changed = {
        name for name, value in (expected.values or {}).items() if not same(value, (seen.values or {}).get(name))
    }
    if NEW in changed and changed <= {AGAIN, STAYS, NEW}:
        return KEEPS_A_RESULT
    if changed == {AGAIN}:
        return REMEMBERS
    if changed and changed <= {AGAIN, STAYS}:
        return SHARES
    return (
        "Your code changes a tensor that it was given. The caller still needs it: compute a new one instead of writing "
        "into it."
    )


def keeps_inputs(make: Make, build: Build = as_is, name: str = "keeps_inputs") -> ProbeFunction:
    """Are the arguments the same after the call as before, lists and tuples of tensors included, and is a second call
    like the first, with a call between them that has other numbers in the same shapes?"""

    @explained_by(why_inputs_changed)
    def probe(implementation: Any) -> Mapping[str, Any]:
        """inputs that the caller goes on using"""
        arguments = make()
        others = [mapped(arguments, change) for change in CHANGES]  # made before they may be written into
        noted = Noted(implementation, [a for a in arguments if isinstance(a, torch.Generator)])
        function = build(noted.implementation)
        first = called(function, arguments, noted)
        after = {f"{place} after the call": copied(value) for place, value in leaves(arguments, "argument")}
        stale = False
        for other in others:
            try:
                stale = same(first, called(function, other, noted))
            except Exception:  # what is valid one way need not be so another way
                continue
            if not stale:
                break
        stays = noted.unchanged()  # before the next call writes the same into them
        again = called(function, arguments, noted)
        return after | {AGAIN: same(first, again), STAYS: stays and noted.unchanged(), NEW: not stale}

    probe.__name__ = name
    if name != "keeps_inputs":
        probe.__doc__ = "inputs of one shape that the caller goes on using"
    return probe


def turned_round(tensor: Tensor) -> Tensor:
    """Another tensor of the same shape and kind: its first dimension of several entries read backwards."""
    dim = next((dim for dim, size in enumerate(tensor.shape) if size > 1), None)
    return tensor.clone() if dim is None else tensor.flip(dim)


def turned_and_halved(tensor: Tensor) -> Tensor:
    """The same with smaller numbers, for what does not depend on an order."""
    return turned_round(tensor) / 2 if is_floating(tensor) else turned_round(tensor)


CHANGES = turned_round, turned_and_halved


class Noted:
    """An implementation whose results are noted, to see later whether they are still what they were.

    Args:
        generators: that it is called with; each call finds them as they are now.
    """

    def __init__(self, implementation: Any, generators: Iterable[torch.Generator] = ()) -> None:
        self.generators = [(generator, generator.get_state()) for generator in generators]
        self.results: list[tuple[Any, Any]] = []  # what each call gave, and how it was then
        self.implementation = implementation
        if not isinstance(implementation, type):  # the calls of its instances are noted where they are made

            @wraps(implementation)
            def noting(*arguments: Any, **options: Any) -> Any:
                return self.note(implementation(*arguments, **options))

            self.implementation = noting

    def note(self, result: Any) -> Any:
        """The result itself, noted."""
        self.results.append((result, frozen(result)))
        return result

    def unchanged(self) -> bool:
        return all(same(then, frozen(result)) for result, then in self.results)


def why_not_repeatable(seen: Observation, expected: Observation) -> str:
    if seen.raised is not None:
        return how_it_raised(seen, "where it was called again")
    return SHARES if not (seen.values or {}).get(STAYS, True) else REMEMBERS


def repeats(*probes: Callable[[Any], Any]) -> ProbeFunction:
    """Does it give the same again after it was called with other arguments, and do earlier results stay as they were?

    For a function that takes no tensors, or makes more of its arguments than `keeps_inputs` can.

    Args:
        probes: functions of an implementation, such as probes that are there already. They are run one after the other,
            and then the first of them once more.
    """

    @explained_by(why_not_repeatable)
    def repeats(implementation: Any) -> Mapping[str, Any]:
        """the same again, after calls with other arguments"""
        noted = Noted(implementation)
        first = frozen(probes[0](noted.implementation))
        for probe in probes[1:]:
            probe(noted.implementation)
        stays = noted.unchanged()  # before the next call writes the same into them
        again = frozen(probes[0](noted.implementation))
        return {AGAIN: same(first, again), STAYS: stays and noted.unchanged()}

    return repeats


def frozen(value: Any) -> Any:
    """A copy of a result that nobody else can change: its tensors and what holds them."""
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return dict(enumerate(map(frozen, value)))
    return copied(value)


def called(function: Callable[..., Any], arguments: tuple[Any, ...], noted: Noted) -> dict[str, Any]:
    """A copy of the results of a call, which is noted. Chance is the same in every call."""
    chance = torch.default_generator.get_state()
    torch.default_generator.manual_seed(0)  # `torch.manual_seed` asks every kind of device, which takes its time
    try:
        for generator, state in noted.generators:
            generator.set_state(state)
        result = noted.note(function(*arguments))
    finally:
        torch.default_generator.set_state(chance)
    return {place: copied(value) for place, value in leaves(result, "output")}


def copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def same(one: Any, other: Any) -> bool:
    """Are these values, or all of these values, the same but for rounding? A product of matrices may differ in its last
    digits from one call to the next, by where in memory they lie."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, Tensor):
        if not isinstance(other, Tensor) or (one.shape, one.dtype) != (other.shape, other.dtype):
            return False
        if torch.equal(one, other):
            return True
        one, other = one.double(), other.double()
        largest = float(one[one.isfinite()].abs().max()) if one.isfinite().any() else 0.0
        return torch.allclose(one, other, rtol=1e-4, atol=1e-4 * largest, equal_nan=True)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4) or (math.isnan(one) and math.isnan(other))
    try:
        return bool(one == other)
    except Exception:  # an array, say, which has no one answer
        return one is other


# ---- gradients


def why_gradients_differ(seen: Observation, expected: Observation) -> str:
    if seen.raised is not None:
        return how_it_raised(seen, "on the way to its gradients")
    return (
        "The values are right but the gradients are not. Something on the way cuts or bends the graph: `.detach()`, "
        "`.data`, `.item()`, `float()`, `torch.tensor(…)` of a tensor, `torch.no_grad()`."
    )


def gradients(make: Make, build: Build = as_is) -> ProbeFunction:
    """The gradient in every floating argument, and in every parameter. A result without a graph has the gradient 0."""

    @explained_by(why_gradients_differ)
    def gradients(implementation: Any) -> Mapping[str, Any]:
        """the gradients with respect to every input"""
        arguments = mapped(make(), lambda t: t.requires_grad_() if t.is_floating_point() else t)
        function = build(implementation)
        inputs = {place: a for place, a in leaves(arguments, "argument") if is_floating(a)}
        if isinstance(function, nn.Module):
            inputs |= dict(function.named_parameters())
        results = [t for t in named(function(*arguments)).values() if is_floating(t)]
        total = sum((random_projection(t) for t in results), torch.zeros(()))
        found: Iterable[Tensor | None] = [None] * len(inputs)
        if total.requires_grad:
            found = torch.autograd.grad(total, list(inputs.values()), allow_unused=True)
        grads = {n: torch.zeros_like(inputs[n]) if g is None else g for n, g in zip(inputs, found, strict=True)}
        return {f"gradient of {name}": grad for name, grad in without_noise(grads).items()}

    return gradients


NO_FLOAT = "no floating dtype"


def why_no_grad_differs(seen: Observation, expected: Observation) -> str:
    if seen.raised is not None:
        return how_it_raised(seen, "under `torch.no_grad()`")
    asked, got = floating_dtype(expected), floating_dtype(seen)
    if asked == NO_FLOAT != got:
        return f"Your result is {got}, and no floating numbers are asked for."
    if asked != got:
        return f"Your result is {got}, expected {asked}, as its floating inputs are."
    return (
        "Under `torch.no_grad()` your code gives other numbers. Whether gradients are recorded should decide nothing: "
        "look for `is_grad_enabled` and `requires_grad`."
    )


def under_no_grad(make: Make, build: Build = as_is) -> ProbeFunction:
    """Does it give the same values where no gradients are recorded?"""

    @of_portability
    @explained_by(why_no_grad_differs)
    def under_no_grad(implementation: Any) -> Mapping[str, Any]:
        """the same inputs under torch.no_grad()"""
        arguments = make()
        function = build(implementation)
        with torch.no_grad():
            return named(function(*arguments))

    return under_no_grad


# ---- dtypes


def why_dtype_differs(seen: Observation, expected: Observation) -> str:
    if seen.raised is not None:
        return how_it_raised(seen, f"with {floating_dtype(expected)} inputs")
    asked, got = floating_dtype(expected), floating_dtype(seen)
    if asked != got:
        return (
            f"Your code does not keep the dtype: with {asked} inputs the result should be {asked} too, and it is "
            f"{got}. Look for tensors that you make yourself, and for fixed dtypes."
        )
    if asked == "float64":
        return (
            "With float64 inputs the dtype of your result is right, but its numbers are not: something on the way may "
            "be computed in float32, or rounded, or random numbers may be drawn in the dtype of the inputs."
        )
    return (
        f"With {asked} inputs the dtype of your result is right, but its numbers are not. In another dtype a constant "
        "of yours may be too large or too small, or a formula lose more digits than it should."
    )


def floating_dtype(observation: Observation) -> str:
    """The dtype of the floating results; several of them joined, in one order, whichever way the results came."""
    values = (observation.values or {}).values()
    found = {str(t.dtype).removeprefix("torch.") for t in values if t.is_floating_point()}
    return " and ".join(sorted(found)) or NO_FLOAT


def same_in(dtype: torch.dtype, make: Make, build: Build = as_is) -> ProbeFunction:
    """Does it work in another floating dtype, and give its result in that dtype?"""
    name = str(dtype).removeprefix("torch.")

    @explained_by(why_dtype_differs)
    def probe(implementation: Any) -> Mapping[str, Any]:
        arguments = mapped(make(), lambda t: t.to(dtype) if t.is_floating_point() else t)
        function = build(implementation)
        if isinstance(function, nn.Module):
            function = function.to(dtype)
        return named(function(*arguments))

    if dtype in (torch.float16, torch.bfloat16):
        of_portability(probe)
    probe.__name__ = f"in_{name}"
    probe.__doc__ = f"{name} inputs"
    return probe


def follows_default_dtype(make: Callable[[Any], Tensor]) -> ProbeFunction:
    """A remark for functions without floating inputs: a float32 result is right, and so is torch's default dtype; the
    remark points out the first.

    Add it with `exercise.remark`.
    """

    def follows_default_dtype(implementation: Any) -> Mapping[str, Any]:
        """float64 as torch's default dtype

        Your result is float32 although torch's default dtype was set to float64. Both are right here; a result that
        follows `torch.get_default_dtype()` needs no cast by whoever works in float64.
        """
        with default_dtype(torch.float64):
            result = make(implementation)
        return {"follows": not is_floating(result) or result.dtype == torch.float64}

    return follows_default_dtype


class default_dtype:
    """Context manager: torch makes tensors of another dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def __enter__(self) -> None:
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)

    def __exit__(self, *error: object) -> None:
        torch.set_default_dtype(self.before)


def in_either_default(result: Any) -> Any:
    """A result without floating inputs as it is compared: float32 and torch's default dtype count alike."""
    accepted = (torch.float32, torch.get_default_dtype())
    return result.to(torch.get_default_dtype()) if is_floating(result) and result.dtype in accepted else result


# ---- devices


def why_device_differs(seen: Observation, expected: Observation) -> str:
    if seen.raised is not None and "numpy" in seen.raised.message:
        return (
            "Your code hands a tensor to numpy, which works on the CPU alone, so it would fail on a GPU. torch has the "
            "same functions, and they work where the tensor is."
        )
    if seen.raised is not None:
        return how_it_raised(seen, "when its inputs were on another device")
    return (
        "Your code makes a tensor on the CPU whatever the inputs' device is, so it would fail on a GPU. Where you make "
        "it, say `device=` and the device of an argument, or move the result back."
    )


def other_device(make: Make, build: Build = as_is) -> ProbeFunction:
    """Is every tensor made on the device of the inputs? torch's `meta` device shows it without a GPU."""

    @of_portability
    @explained_by(why_device_differs)
    def other_device(implementation: Any) -> Mapping[str, Any]:
        """inputs on another device"""
        arguments = mapped(make(), lambda t: t.to("meta"))
        function = build(implementation)
        if isinstance(function, nn.Module):
            function = function.to("meta")
        watch = Meeting()
        try:
            with watch:
                results = named(function(*arguments))
        except Exception as error:
            if watch.mixed:
                return {"everything is on the inputs' device": False}
            if "numpy" in str(error):
                raise
            # reads numbers, which meta does not have, and would run on a GPU; or fails wherever the inputs are
            if watch.reads or reads_data(error) or fails(lambda: build(implementation)(*make())):
                return {"everything is on the inputs' device": True}
            raise
        there = all(t.device.type == "meta" for t in results.values() if isinstance(t, Tensor))
        return {"everything is on the inputs' device": there and not watch.mixed}

    return other_device


def fails(action: Callable[[], Any]) -> bool:
    try:
        action()
    except Exception:
        return True
    return False


class Meeting(TorchFunctionMode):
    """Notes whether tensors of two devices meet, and whether a tensor's numbers are taken out into Python.

    torch's own kernels for `meta` do not all mind a tensor of the CPU beside one of theirs; a GPU does.
    """

    READS = frozenset({"tolist", "item", "numpy", "cpu", "__bool__", "__float__", "__int__", "__index__"})
    # these may take a tensor of the CPU beside one of a GPU
    ALLOWED = frozenset({"__getitem__", "__setitem__", "to", "copy_", "__get__", "__set__", "type_as"})

    def __init__(self) -> None:
        super().__init__()
        self.reads = False
        self.mixed = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        self.reads = self.reads or name in self.READS
        if name not in self.ALLOWED:
            given = [t for _, t in leaves((args, tuple((kwargs or {}).values())), "") if isinstance(t, Tensor)]
            devices = {t.device.type for t in given if t.dim()}  # a 0-d tensor of the CPU may meet anybody
            self.mixed = self.mixed or len(devices) > 1
        return func(*args, **(kwargs or {}))


def reads_data(error: BaseException) -> bool:
    """Is this torch saying that the result depends on numbers that are not there?"""
    signs = "meta tensors", "Meta tensors", "data-dependent", "data-independent"
    return any(sign in str(error) for sign in signs)


# ---- what arguments and results hold


def leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """All comparable values in nested lists, tuples and dicts with their places, and the lengths of lists."""
    if isinstance(value, Tensor | bool | int | float):
        yield place, value
    elif isinstance(value, list | tuple | dict):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        if isinstance(value, list | dict):
            yield f"length of {place}", len(value)
        for key, item in inner:
            yield from leaves(item, f"{place} {key}")


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A copy of a nested structure with every tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(item, change) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, change) for item in value)
    return value


def named(results: Any, place: str = "output") -> dict[str, Any]:
    """A function's result, or its nested tuple of results, under names."""
    if isinstance(results, list | tuple) and not all(isinstance(item, int) for item in results):
        found: dict[str, Any] = {}
        for i, item in enumerate(results):
            found |= named(item, f"{place} {i}")
        return found
    return {place: results}


def random_projection(output: Tensor) -> Tensor:
    """A fixed linear form with a different coefficient for each entry, so that no gradient cancels."""
    weights = torch.cos(torch.arange(1, output.numel() + 1, dtype=torch.float64)).to(output.dtype)
    return (output.flatten() * weights).sum()


def without_noise(grads: dict[str, Tensor]) -> dict[str, Tensor]:
    """Gradients in which what is only rounding beside the largest of them is 0, as the bias of keys has it."""
    loudness = {name: float(g.abs().max()) for name, g in grads.items() if g.numel()}
    loudest = max(loudness.values(), default=0.0)
    return {
        name: torch.zeros_like(g)
        if name in loudness and loudness[name] <= 100 * torch.finfo(g.dtype).eps * loudest
        else g
        for name, g in grads.items()
    }


def is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
