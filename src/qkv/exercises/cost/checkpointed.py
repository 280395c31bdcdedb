"""The exercise `checkpointed`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, whole
from proctor.inside.properties import keeps_inputs, same_in
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import CHECKPOINT
from qkv.model.cost import (
    checkpointed,
)

exercise = Exercise(
    checkpointed,
    section="Forget and compute again",
    minutes=15,
    difficulty=3,
    why="It trades time for memory in training; large models would not fit without it.",
    hints=[
        "Derive a class from `torch.autograd.Function`. What its forward calls is not recorded; you say what it saves.",
        "On the way back call the function on detached copies of the inputs, under `torch.enable_grad()`, and let "
        "autograd differentiate that. Which copies need a gradient? `ctx.needs_input_grad` knows.",
        "Dropout would draw other numbers in the second call. `torch.get_rng_state()` and `torch.set_rng_state()` move "
        "the generator; where does it have to stand afterwards?",
        "`torch.autograd.grad(output, inputs, incoming, allow_unused=True)` weighs by the gradient that comes in, and "
        "gives None for an input that was not used.",
    ],
    forbid=[CHECKPOINT],
)


class Watched:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *inputs: Tensor) -> Tensor:
        self.calls += 1
        return self.function(*inputs)


def curved(a: Tensor, b: Tensor) -> Tensor:
    return torch.tanh(a @ b).exp() * b.sum()


def with_chance(a: Tensor, b: Tensor) -> Tensor:
    """Drops a third of the entries, by torch's global generator."""
    product = a @ b
    kept = torch.rand(product.shape, dtype=product.dtype) > 0.33
    return torch.sin(product) * kept * torch.randn((), dtype=product.dtype)


def two_matrices(needs: str = "ab") -> list[Tensor]:
    n, m, d = distinct(3, 8, 3, seed="sizes")
    return [
        normal(n, m, seed="a", std=0.5).requires_grad_("a" in needs),
        normal(m, d, seed="b", std=0.5).requires_grad_("b" in needs),
    ]


def back(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """The gradients of a weighed sum of the output; 0 for an input that has none."""
    if not output.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(output, inputs, normal(*output.shape, seed="incoming"), allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


@exercise.probe
def there_and_back(checkpointed: Any) -> Seen:
    """two matrices that need a gradient, and how often the function is called"""
    function, inputs = Watched(curved), two_matrices()
    output = checkpointed(function, *inputs)
    first = function.calls
    gradients = back(output, inputs)
    return {
        "output": output,
        "calls on the way forward": first,
        "calls in all": function.calls,
        "gradient of a": gradients[0],
        "gradient of b": gradients[1],
    }


@exercise.probe
def with_random_numbers(checkpointed: Any) -> Seen:
    """a function that draws random numbers"""
    inputs = two_matrices()
    torch.manual_seed(whole(0, 10**9, seed="generator"))
    torch.rand(whole(1, 9, seed="before"))
    output = checkpointed(with_chance, *inputs)
    after_forward = torch.rand(3)
    gradients = back(output, inputs)
    return {
        "output": output,
        "numbers drawn after the way forward": after_forward,
        "gradient of a": gradients[0],
        "gradient of b": gradients[1],
        "numbers drawn after the way back": torch.rand(3),
    }


def picks(table: Tensor, ids: Tensor, fixed: Tensor, unused: Tensor) -> Tensor:
    return torch.sigmoid(table[ids] * fixed).square()


@exercise.probe
def inputs_of_all_kinds(checkpointed: Any) -> Seen:
    """an input that is no leaf, ids, one that needs no gradient, and one that is not used"""
    rows, width, count = distinct(3, 8, 3, seed="sizes")
    leaf, unused = normal(rows, width, seed="table").requires_grad_(), normal(2, seed="unused").requires_grad_()
    ids, fixed = integers(0, rows, count, seed="ids"), normal(width, seed="fixed")
    output = checkpointed(picks, 2 * leaf, ids, fixed, unused)
    gradients = back(output, [leaf, unused])
    return {"output": output, "gradient of the leaf": gradients[0], "gradient of the unused": gradients[1]}


@exercise.probe
def a_single_marked_input(checkpointed: Any) -> Seen:
    """only the second of two inputs needs a gradient"""
    inputs = two_matrices("b")
    output = checkpointed(curved, *inputs)
    (gradient,) = back(output, inputs[1:])
    return {"output": output, "gradient of b": gradient}


@exercise.probe
def nothing_to_differentiate(checkpointed: Any) -> Seen:
    """no input that needs a gradient"""
    function = Watched(curved)
    output = checkpointed(function, *two_matrices(""))
    return {"output": output, "calls": function.calls, "the output needs a gradient": output.requires_grad}


@exercise.probe
def one_after_the_other(checkpointed: Any) -> Seen:
    """two checkpoints, one on the output of the other, and an input used twice"""
    a, b = two_matrices()
    first = checkpointed(lambda x, y: torch.cos(x @ y), a, b)
    second = checkpointed(lambda x, y: x * y.sum() + x.square(), first, a)
    gradients = back(second, [a, b])
    return {"output": second, "gradient of a": gradients[0], "gradient of b": gradients[1]}


def long_chain(x: Tensor, scale: Tensor) -> Tensor:
    for _ in range(4):
        x = torch.exp(-(torch.sin(x) * scale).square())
    return x


@exercise.property
def keeps_no_more_than_its_inputs(checkpointed: Any) -> Seen:
    """what is kept for the way back

    Values and gradients are right, but more than the inputs is kept for the way back. What the function computes in
    between must be forgotten: call it where nothing is recorded.
    """
    inputs = normal(6, 5, seed="x").requires_grad_(), normal(5, seed="scale").requires_grad_()
    kept: list[int] = []

    def pack(x: Tensor) -> Tensor:
        kept.append(x.numel() * x.element_size())
        return x

    with saved_tensors_hooks(pack, lambda x: x):
        checkpointed(long_chain, *inputs)
    return {"no more than the inputs is kept": sum(kept) <= sum(x.numel() * x.element_size() for x in inputs)}


@exercise.property
def leaves_its_inputs_marked_as_they_were(checkpointed: Any) -> Seen:
    """how the inputs are marked afterwards

    Your code changes `requires_grad` of an input, or leaves a gradient in its `.grad`. Both belong to the caller: work
    on detached copies.
    """
    inputs = two_matrices("b")
    output = checkpointed(curved, *inputs)
    back(output, inputs[1:])
    return {
        "a requires a gradient": inputs[0].requires_grad,
        "b requires a gradient": inputs[1].requires_grad,
        "all .grad are empty": all(x.grad is None for x in inputs),
    }


@exercise.property
def where_nothing_is_recorded(checkpointed: Any) -> Seen:
    """a call under torch.no_grad()

    Under `torch.no_grad()` nothing needs a gradient: one call of the function is enough, and the output needs none.
    """
    function = Watched(curved)
    with torch.no_grad():
        output = checkpointed(function, *two_matrices())
    return {"output": output, "calls": function.calls, "the output needs a gradient": output.requires_grad}


def values_and_gradients(checkpointed: Any) -> Any:
    def call(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        inputs = [a.requires_grad_(), b.requires_grad_()]
        output = checkpointed(curved, *inputs)
        return output, *back(output.to(torch.float32), inputs)

    return call


def plain_matrices() -> tuple[Tensor, ...]:
    return tuple(two_matrices(""))


exercise.property(keeps_inputs(plain_matrices, values_and_gradients))


for dtype in (torch.float64, torch.float16, torch.bfloat16):
    exercise.property(same_in(dtype, plain_matrices, values_and_gradients))


def call_again(
    function: Any,
    inputs: Any,
    *,
    before: Any = torch.get_rng_state,
    start_from: Any = torch.set_rng_state,
    afterwards: Any = torch.set_rng_state,
    marked: Any = lambda needed: needed,
    differentiate: Any = None,
    after_forward: Any = lambda state: None,
    extra_calls: int = 0,
) -> Any:
    """A checkpoint whose steps can be replaced."""
    state = before()

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> Tensor:
            ctx.save_for_backward(*inputs)
            for _ in range(extra_calls):
                function(*inputs)
            output = function(*inputs)
            after_forward(state)
            return output

        @staticmethod
        def backward(ctx: Any, incoming: Tensor) -> Any:
            needs = marked(ctx.needs_input_grad)
            copies = [x.detach().requires_grad_(n) for x, n in zip(ctx.saved_tensors, needs, strict=True)]
            here = torch.get_rng_state()
            start_from(state)
            with torch.enable_grad():
                output = function(*copies)
            afterwards(here)
            return (differentiate or differentiated)(output, copies, incoming)

    return Recomputed.apply(*inputs)


def differentiated(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
    wanted = [x for x in copies if x.requires_grad]
    found = iter(torch.autograd.grad(output, wanted, incoming, allow_unused=True))
    return tuple(next(found) if x.requires_grad else None for x in copies)


def nothing(state: Any) -> None:
    return None


@exercise.misconception
def just_called(function: Any, *inputs: Tensor) -> Tensor:
    """You call the function and let autograd keep everything.

    Values and gradients are right, but nothing is saved: all that is computed in between is kept for the way back.
    """
    return function(*inputs)


@exercise.misconception
def graph_cut(function: Any, *inputs: Tensor) -> Tensor:
    """Your output has no graph, so no gradient reaches the inputs.

    Under `no_grad`, or after `detach`, there is no way back. It has to be told how to get there: that is what the
    backward of a `torch.autograd.Function` is for.
    """
    with torch.no_grad():
        return function(*inputs)


@exercise.misconception
def other_random_numbers(function: Any, *inputs: Tensor) -> Tensor:
    """In the second call the function draws other random numbers than in the first.

    The gradient then belongs to another dropout mask than the output. Keep the generator's state from before the first
    call, and start the second from it.
    """
    return call_again(function, inputs, start_from=nothing)


@exercise.misconception
def generator_turned_back(function: Any, *inputs: Tensor) -> Tensor:
    """After the way back the generator does not stand where it stood before it.

    The second call repeats numbers that were drawn before. Whoever draws next must not get them again: put the state
    back.
    """
    return call_again(function, inputs, afterwards=nothing)


@exercise.misconception
def generator_turned_back_at_once(function: Any, *inputs: Tensor) -> Tensor:
    """After the way forward the generator stands where it stood before the call.

    The next layer would draw the same numbers again. Turn it back for the second call only.
    """
    return call_again(function, inputs, after_forward=torch.set_rng_state)


@exercise.misconception
def seeded_anew(function: Any, *inputs: Tensor) -> Tensor:
    """You seed the generator yourself, so that both calls draw the same.

    Then every call, in every layer and every step, draws the same numbers, and the caller's seed is lost. Keep the
    state that you find.
    """
    torch.manual_seed(0)
    return call_again(function, inputs, start_from=lambda state: torch.manual_seed(0))


@exercise.misconception
def state_taken_too_late(function: Any, *inputs: Tensor) -> Tensor:
    """You take the generator's state after the first call.

    The second call then starts where the first one ended. Take it before.
    """
    return call_again(function, inputs, start_from=lambda state: torch.set_rng_state(late[0]), after_forward=note_state)


late: list[Tensor] = []


def note_state(state: Tensor) -> None:
    late[:] = [torch.get_rng_state()]


@exercise.misconception
def incoming_gradient_ignored(function: Any, *inputs: Tensor) -> Tensor:
    """You ignore the gradient that comes in, and return the gradient of the output's sum.

    What comes in says how much each entry of the output matters for what follows. Weigh by it.
    """

    def of_the_sum(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
        return differentiated(output, copies, torch.ones_like(output))

    return call_again(function, inputs, differentiate=of_the_sum)


@exercise.misconception
def called_once_too_often(function: Any, *inputs: Tensor) -> Tensor:
    """You call the function twice on the way forward.

    Two calls in all are enough: one forward, one on the way back.
    """
    state = torch.get_rng_state()
    return call_again(function, inputs, before=lambda: state, extra_calls=1)


@exercise.misconception
def called_for_each_input(function: Any, *inputs: Tensor) -> Tensor:
    """On the way back you call the function once for each input.

    One call gives the gradients of all inputs: `torch.autograd.grad` takes a list.
    """

    def one_by_one(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
        for _ in range(sum(x.requires_grad for x in copies) - 1):
            state = torch.get_rng_state()
            function(*copies)
            torch.set_rng_state(state)
        return differentiated(output, copies, incoming)

    return call_again(function, inputs, differentiate=one_by_one)


@exercise.misconception
def first_input_alone(function: Any, *inputs: Tensor) -> Tensor:
    """Only the first input gets a gradient.

    Return one for each input that needs it, in the order of the inputs, and None for the others.
    """

    def of_the_first(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
        found = differentiated(output, copies, incoming)
        return found[0], *(None for _ in found[1:])

    return call_again(function, inputs, differentiate=of_the_first)


@exercise.misconception
def every_input_marked(function: Any, *inputs: Tensor) -> Tensor:
    """You mark every input as one that needs a gradient, ids too.

    Only floating tensors can have one, and not every floating input needs one: `ctx.needs_input_grad` says which.
    """
    return call_again(function, inputs, marked=lambda needed: [True] * len(needed))


@exercise.misconception
def unused_input_forgotten(function: Any, *inputs: Tensor) -> Tensor:
    """An input that the function does not use stops your way back.

    `torch.autograd.grad` refuses inputs that the output does not depend on, unless `allow_unused` is set.
    """

    def all_used(output: Tensor, copies: list[Tensor], incoming: Tensor) -> Any:
        wanted = [x for x in copies if x.requires_grad]
        found = iter(torch.autograd.grad(output, wanted, incoming))
        return tuple(next(found) if x.requires_grad else None for x in copies)

    return call_again(function, inputs, differentiate=all_used)


@exercise.misconception
def inputs_marked_for_good(function: Any, *inputs: Tensor) -> Tensor:
    """You mark the caller's own tensors as needing a gradient.

    Which inputs need one is the caller's decision. Mark detached copies instead.
    """
    for x in inputs:
        if x.is_floating_point() and x.is_leaf:
            x.requires_grad_()
    return call_again(function, inputs)
