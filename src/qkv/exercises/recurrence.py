"""Chapter 10: the steps of RNN and LSTM, a task of memory, gradient by distance, receptive field, path length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, generator, normal, whole
from proctor.inside.properties import usual
from qkv.exercises.forbidden import RECURRENT
from qkv.model.recurrence import (
    delayed_copy,
    gradient_by_distance,
    lstm_step,
    path_length,
    receptive_field,
    rnn_step,
)

Seen = dict[str, Any]

# rnn_step -------------------------------------------------------------------------------------------------------------

rnn = Exercise(
    rnn_step,
    section="One step of an RNN",
    minutes=10,
    difficulty=1,
    why="One vector has to carry all that was read: that is the bottleneck which attention removed.",
    hints=[
        "Write the shapes: x (..., d_in), w_x (d_in, d), h (..., d), w_h (d, d). Which products give (..., d)?",
        "Input and memory are added before they are squashed, the bias with them.",
        "One tanh, around everything.",
    ],
    forbid=[RECURRENT],
)


def rnn_arguments() -> tuple[Tensor, ...]:
    shapes = {"x": (2, 3), "h": (2, 5), "w_x": (3, 5), "w_h": (5, 5), "b": (5,)}
    return tuple(normal(*shape, seed=name, std=0.6) for name, shape in shapes.items())


@rnn.probe
def a_batch_of_two(rnn_step: Any) -> Seen:
    """a batch of two, three inputs, a state of five"""
    return {"h": rnn_step(*rnn_arguments())}


@rnn.probe
def a_single_one(rnn_step: Any) -> Seen:
    """one input and one state of the same width, without a batch"""
    shapes = {"x": (4,), "h": (4,), "w_x": (4, 4), "w_h": (4, 4), "b": (4,)}
    return {"h": rnn_step(*(normal(*shape, seed=name, std=0.6) for name, shape in shapes.items()))}


@rnn.probe
def three_steps(rnn_step: Any) -> Seen:
    """three steps in a row"""
    _, h, w_x, w_h, b = rnn_arguments()
    for t in range(3):
        h = rnn_step(normal(2, 3, seed=t), h, w_x, w_h, b)
    return {"h": h}


def sizes_with_ones(seed: str) -> list[tuple[tuple[int, ...], int, int]]:
    """Leading dimensions, width of the input, width of the state: each size in turn is 1, and there are two batches."""
    batch, d_in, d = distinct(2, 9, 3, seed=seed)
    return [
        ((1,), d_in, d),
        ((batch,), 1, d),
        ((batch,), d_in, 1),
        ((), 1, 1),
        ((batch, 1), d_in, d),
        ((2, 3), d_in, d),
    ]


@rnn.probe
def widths_of_one(rnn_step: Any) -> Seen:
    """sizes of 1, and two batch dimensions"""
    found: Seen = {}
    for leading, d_in, d in sizes_with_ones("rnn"):
        shapes = {"x": (*leading, d_in), "h": (*leading, d), "w_x": (d_in, d), "w_h": (d, d), "b": (d,)}
        arguments = [normal(*shape, seed=name, std=0.6) for name, shape in shapes.items()]
        found[f"h, x {shapes['x']}, state {d}"] = rnn_step(*arguments)
    return found


def rnn_arguments_of_one_shape() -> tuple[Tensor, ...]:
    return *(normal(4, seed=name) for name in ("x", "h")), recurrent(4), recurrent(4), normal(4, seed="b")


usual(rnn, rnn_arguments, alike=rnn_arguments_of_one_shape)


@rnn.assembled
def rnn_in_steps(
    x: Tensor,
    h: Tensor,
    w_x: Tensor,
    w_h: Tensor,
    b: Tensor,
    *,
    recall: Any = lambda h, w_h: h @ w_h,
    offset: Any = lambda b: b,
    squash: Any = torch.tanh,
) -> Tensor:
    return squash(x @ w_x + recall(h, w_h) + offset(b))


@rnn.instead_of("squash")
def not_squashed(total: Tensor) -> Tensor:
    """You leave the tanh out.

    Then the state is multiplied by w_h again and again and can grow without bound.
    """
    return total


@rnn.instead_of("squash")
def squashed_by_a_sigmoid(total: Tensor) -> Tensor:
    """You squash with a sigmoid.

    It maps to 0 … 1, so the state could never be negative; and its slope is at most 1/4, so gradients vanish faster
    still.
    """
    return torch.sigmoid(total)


@rnn.instead_of("recall")
def weights_turned(h: Tensor, w_h: Tensor) -> Tensor:
    """You multiply the state by w_h turned.

    Column j of w_h makes component j of the new state: h @ w_h.
    """
    return h @ w_h.T


@rnn.instead_of("recall")
def nothing_remembered(h: Tensor, w_h: Tensor) -> Tensor:
    """You do not use the state.

    Without h there is no recurrence: each step would forget everything before it.
    """
    return torch.zeros_like(h)


@rnn.instead_of("recall")
def remembered_unchanged(h: Tensor, w_h: Tensor) -> Tensor:
    """You add the state as it is, without w_h.

    How the past is mixed into the present is what w_h learns.
    """
    return h


@rnn.instead_of("offset")
def bias_forgotten(b: Tensor) -> Tensor:
    """You leave the bias out.

    Without it a component cannot lean to one side when input and state are 0.
    """
    return torch.zeros_like(b)


@rnn.misconception
def squashed_apart(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """You squash input and memory separately and then add.

    The sum can then leave the range -1 … 1. Add first, squash once.
    """
    return torch.tanh(x @ w_x + b) + torch.tanh(h @ w_h)


@rnn.misconception
def bias_twice(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """You add the bias twice.

    torch keeps two of them, one with the input and one with the state. Here there is one, and it is added once.
    """
    return rnn_step(x, h, w_x, w_h, 2 * b)


@rnn.misconception
def rectified(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """You squash with ReLU.

    It does not bound the state from above, and a component below 0 says nothing any more. tanh keeps both signs.
    """
    return (x @ w_x + h @ w_h + b).clamp(min=0)


@rnn.misconception
def one_batch_only(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """Your code takes x apart as (batch, d_in), so it works only with exactly one batch dimension.

    `...` may be none, one or several. `@` works for all of them; only the last dimension has to be known.
    """
    _, _ = x.shape
    return rnn_step(x, h, w_x, w_h, b)


@rnn.misconception
def matrices_only(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """Your product takes matrices only (`torch.mm`), so it works only with exactly one batch dimension.

    `...` may be none, one or several. `@` works for all of them.
    """
    return torch.tanh(torch.mm(x, w_x) + torch.mm(h, w_h) + b)


# lstm_step ------------------------------------------------------------------------------------------------------------

lstm = Exercise(
    lstm_step,
    section="One step of an LSTM",
    minutes=15,
    difficulty=2,
    why="Gates and a sum instead of a product: why gradients last longer here.",
    hints=[
        "One matrix product gives all four gates at once: 4·d columns, in the order i, f, g, o.",
        "Gates say how much, so they lie between 0 and 1. The candidate g says what, so it may be negative.",
        "New cell: what is kept of the old one plus what is written. Shown: the output gate times the squashed cell.",
    ],
    forbid=[RECURRENT],
)


def lstm_arguments() -> tuple[Tensor, ...]:
    shapes = {"x": (2, 3), "h": (2, 5), "c": (2, 5), "w_x": (3, 20), "w_h": (5, 20), "b": (20,)}
    return tuple(normal(*shape, seed=name, std=0.7) for name, shape in shapes.items())


@lstm.probe
def two_cells(lstm_step: Any) -> Seen:
    """a batch of two, three inputs, a cell of five"""
    h, c = lstm_step(*lstm_arguments())
    return {"h": h, "c": c}


@lstm.probe
def one_cell(lstm_step: Any) -> Seen:
    """without a batch"""
    shapes = {"x": (3,), "h": (2,), "c": (2,), "w_x": (3, 8), "w_h": (2, 8), "b": (8,)}
    h, c = lstm_step(*(normal(*shape, seed=name) for name, shape in shapes.items()))
    return {"h": h, "c": c}


@lstm.probe
def four_steps(lstm_step: Any) -> Seen:
    """four steps in a row"""
    _, h, c, w_x, w_h, b = lstm_arguments()
    for t in range(4):
        h, c = lstm_step(normal(2, 3, seed=t), h, c, w_x, w_h, b)
    return {"h": h, "c": c}


@lstm.probe
def cells_of_width_one(lstm_step: Any) -> Seen:
    """sizes of 1, and two batch dimensions"""
    found: Seen = {}
    for leading, d_in, d in sizes_with_ones("lstm"):
        shapes = {
            "x": (*leading, d_in), "h": (*leading, d), "c": (*leading, d),
            "w_x": (d_in, 4 * d), "w_h": (d, 4 * d), "b": (4 * d,),
        }  # fmt: skip
        h, c = lstm_step(*(normal(*shape, seed=name) for name, shape in shapes.items()))
        found |= {f"h, x {shapes['x']}, cell {d}": h, f"c, x {shapes['x']}, cell {d}": c}
    return found


def lstm_arguments_of_one_shape() -> tuple[Tensor, ...]:
    shapes = {"x": (3,), "h": (3,), "c": (3,), "w_x": (3, 12), "w_h": (3, 12), "b": (12,)}
    return tuple(normal(*shape, seed=name) for name, shape in shapes.items())


usual(lstm, lstm_arguments, alike=lstm_arguments_of_one_shape)


def parted(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    return (x @ w_x + h @ w_h + b).chunk(4, -1)


def remember(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    return torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)


def show(c: Tensor, o: Tensor) -> Tensor:
    return torch.sigmoid(o) * torch.tanh(c)


@lstm.assembled
def lstm_in_steps(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w_x: Tensor,
    w_h: Tensor,
    b: Tensor,
    *,
    part: Any = parted,
    forget: Any = lambda f: f,
    update: Any = remember,
    output: Any = show,
) -> tuple[Tensor, Tensor]:
    i, f, g, o = part(x, h, w_x, w_h, b)
    c = update(c, i, forget(f), g)
    return output(c, o), c


@lstm.instead_of("part")
def output_before_candidate(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You read the columns in the order i, f, o, g.

    The order is a convention, but it must be the same everywhere: i, f, g, o here and in torch.
    """
    i, f, o, g = parted(x, h, w_x, w_h, b)
    return i, f, g, o


@lstm.instead_of("part")
def forget_before_input(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You exchange input gate and forget gate.

    The first quarter of the columns is the input gate, the second the forget gate.
    """
    f, i, g, o = parted(x, h, w_x, w_h, b)
    return i, f, g, o


@lstm.instead_of("part")
def candidate_before_forget(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You read the columns in the order i, g, f, o.

    TensorFlow's old cells have it so (they write i, j, f, o). Here and in torch it is i, f, g, o.
    """
    i, g, f, o = parted(x, h, w_x, w_h, b)
    return i, f, g, o


@lstm.instead_of("part")
def every_fourth_column(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You take every fourth column for a gate.

    The columns of one gate stand together: first d of the input gate, then d of the forget gate, and so on.
    """
    return (x @ w_x + h @ w_h + b).unflatten(-1, (-1, 4)).unbind(-1)


@lstm.instead_of("forget")
def forget_bias_added(f: Tensor) -> Tensor:
    """You add 1 to the forget gate.

    A useful start for training, but it belongs into the initial bias; the step adds nothing.
    """
    return f + 1


@lstm.instead_of("part")
def bias_left_out(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You leave the bias out.

    It sets what the gates do when nothing special comes in; a forget gate that starts open needs it.
    """
    return parted(x, h, w_x, w_h, torch.zeros_like(b))


@lstm.instead_of("update")
def what_is_not_kept_is_written(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    """You write what the forget gate does not keep; the input gate is not used.

    One gate for both is a GRU's way. Here keeping and writing are two decisions.
    """
    return torch.sigmoid(f) * c + (1 - torch.sigmoid(f)) * torch.tanh(g)


@lstm.instead_of("update")
def candidate_not_squashed(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    """You write the candidate without its tanh.

    Then a single step can write a number of any size into the cell.
    """
    return torch.sigmoid(f) * c + torch.sigmoid(i) * g


@lstm.instead_of("update")
def candidate_as_a_gate(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    """You squash the candidate with a sigmoid, as if it were a gate.

    The cell could then only ever grow. The candidate is a content, and may be negative.
    """
    return torch.sigmoid(f) * c + torch.sigmoid(i) * torch.sigmoid(g)


@lstm.instead_of("update")
def nothing_forgotten(c: Tensor, i: Tensor, f: Tensor, g: Tensor) -> Tensor:
    """You keep the whole old cell; the forget gate is not used.

    The cell then adds up everything it ever read.
    """
    return c + torch.sigmoid(i) * torch.tanh(g)


@lstm.instead_of("output")
def cell_shown_unsquashed(c: Tensor, o: Tensor) -> Tensor:
    """You show the cell without its tanh.

    The cell may have grown large; what is shown should stay between -1 and 1.
    """
    return torch.sigmoid(o) * c


@lstm.instead_of("output")
def output_not_gated(c: Tensor, o: Tensor) -> Tensor:
    """You show the whole cell; the output gate is not used.

    Some memory is for later: the output gate keeps it from disturbing now.
    """
    return torch.tanh(c)


@lstm.misconception
def old_cell_shown(x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You show the old cell instead of the new one.

    What was just written should be visible at once: h is made from the new c.
    """
    i, f, g, o = parted(x, h, w_x, w_h, b)
    return show(c, o), remember(c, i, f, g)


@lstm.misconception
def cell_and_output_exchanged(x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You return (c, h) instead of (h, c).

    First what is shown, then the memory: otherwise the next step reads its memory as its output.
    """
    h, c = lstm_step(x, h, c, w_x, w_h, b)
    return c, h


@lstm.misconception
def one_batch_of_cells_only(x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You part the columns along dimension 1, which is the last one only with exactly one batch dimension.

    `...` may be none, one or several dimensions. The columns are always in the last: -1.
    """
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=1)
    c = remember(c, i, f, g)
    return show(c, o), c


# delayed_copy ---------------------------------------------------------------------------------------------------------

copying = Exercise(
    delayed_copy,
    section="A task of pure memory",
    minutes=10,
    difficulty=1,
    why="A task in which nothing but memory helps, so that it measures memory.",
    hints=[
        "Draw the inputs with exactly the call that the docstring gives.",
        "Write inputs 5 6 7 8 and delay 2: what are the targets?",
        "A shift is not a rotation: what falls off at the end is gone, and zeros come in at the front.",
    ],
    equivalents={
        "inputs = torch.randint(1, vocab, size, generator=generator, device=device)"
        "  ->  inputs = torch.randint(1, vocab, size, generator=generator)": ("the probes' generators live on the CPU"),
        "return (inputs, F.pad(inputs, (delay, 0))[:, :length])"
        "  ->  return (inputs, F.pad(inputs, (delay, 1))[:, :length])": "what is padded at the end is cut off",
    },
)


def both(pair: Any) -> Seen:
    inputs, targets = pair
    return {"inputs": inputs, "targets": targets}


def settled(name: str) -> torch.Generator:
    """A generator to hand over. torch's own starts anew, so that who draws from that one always draws the same."""
    torch.manual_seed(whole(0, 2**31, seed=f"torch's own {name}"))
    return generator(name)


@copying.probe
def short_delays(delayed_copy: Any) -> Seen:
    """six sequences of eleven tokens, two delays between 2 and 4"""
    found: Seen = {}
    for delay in distinct(2, 5, 2, seed="delays"):
        result = both(delayed_copy(6, 11, delay, 23, settled(f"a {delay}")))
        found |= {f"{name} at delay {delay}": value for name, value in result.items()}
    return found


@copying.probe
def no_delay(delayed_copy: Any) -> Seen:
    """delay 0"""
    return both(delayed_copy(4, 7, 0, 17, settled("b")))


@copying.probe
def delay_beyond_the_end(delayed_copy: Any) -> Seen:
    """delays shorter than the sequence by one, as long as it, and longer"""
    length, more = distinct(4, 9, 2, seed="length")
    found: Seen = {}
    for delay in (length - 1, length, length + 1, length + more):
        result = both(delayed_copy(3, length, delay, 16, settled(f"c {delay}")))
        found |= {f"{name} at delay {delay} of {length}": value for name, value in result.items()}
    return found


@copying.probe
def twice_from_one_generator(delayed_copy: Any) -> Seen:
    """two batches from one generator"""
    source = settled("d")
    first, second = (both(delayed_copy(4, 6, 3, 19, source)) for _ in range(2))
    return {**first, "inputs of the second": second["inputs"]}


@copying.probe
def tasks_of_size_one(delayed_copy: Any) -> Seen:
    """one sequence, sequences of one token, and a vocabulary of a single token"""
    n = whole(5, 12, seed="n")
    found: Seen = {}
    for batch, length, delay, vocab in [(1, n, 2, 30), (n, 1, 0, 30), (n, 1, 1, 30), (n, n + 1, 1, 2), (1, 1, 1, 2)]:
        result = both(delayed_copy(batch, length, delay, vocab, settled(f"{batch} {length} {delay}")))
        found |= {f"{name}, {batch} × {length}, delay {delay}, vocab {vocab}": t for name, t in result.items()}
    return found


def drawn(batch: int, length: int, vocab: int, generator: torch.Generator, low: int = 1) -> Tensor:
    return torch.randint(low, vocab, (batch, length), generator=generator)


def delayed(inputs: Tensor, delay: int) -> Tensor:
    targets = torch.zeros_like(inputs)
    targets[:, delay:] = inputs[:, : max(inputs.shape[1] - delay, 0)]
    return targets


@copying.misconception
def rotated(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You rotate: what falls off at the end comes in at the front.

    The first targets then lie in the future, where a recurrent network cannot have been.
    """
    inputs = drawn(batch, length, vocab, generator)
    return inputs, inputs.roll(delay, dims=1)


@copying.misconception
def shifted_the_other_way(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You shift the other way: the target is what comes `delay` steps later.

    That would be prophecy, not memory.
    """
    inputs = drawn(batch, length, vocab, generator)
    targets = torch.zeros_like(inputs)
    targets[:, : max(length - delay, 0)] = inputs[:, delay:]
    return inputs, targets


@copying.misconception
def one_step_too_far(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """Your delay is one too long.

    With delay 0 the target is the input of the same step.
    """
    inputs = drawn(batch, length, vocab, generator)
    return inputs, delayed(inputs, delay + 1)


@copying.misconception
def zero_among_the_tokens(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """Your tokens include 0.

    0 means "nothing yet" and must not be a token: draw from 1 on.
    """
    inputs = drawn(batch, length, vocab, generator, low=0)
    return inputs, delayed(inputs, delay)


@copying.misconception
def global_randomness(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You do not use the generator that you are given: the same inputs come every time.

    A training run then sees one batch for ever, and no run can be repeated by seeding its generator.
    """
    inputs = drawn(batch, length, vocab, torch.Generator().manual_seed(0))
    return inputs, delayed(inputs, delay)


@copying.misconception
def drawn_from_torchs_own(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You do not use the generator that you are given: you draw from torch's global one.

    Whoever seeds the generator expects the same batch again; and anything else that draws from the global one changes
    yours.
    """
    inputs = torch.randint(1, vocab, (batch, length))
    return inputs, delayed(inputs, delay)


@copying.misconception
def shifted_along_the_batch(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You shift along the batch: a target is what another sequence read.

    Time is the second dimension; sequences know nothing of each other.
    """
    inputs = drawn(batch, length, vocab, generator)
    targets = torch.zeros_like(inputs)
    targets[delay:] = inputs[: max(batch - delay, 0)]
    return inputs, targets


@copying.misconception
def inputs_and_targets_exchanged(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You return the targets before the inputs.

    First what is read, then what is to be said.
    """
    inputs = drawn(batch, length, vocab, generator)
    return delayed(inputs, delay), inputs


@copying.misconception
def filled_with_what_is_ignored(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """You fill the first targets with -100, which torch's cross-entropy ignores.

    Here they are 0, the token that means "nothing yet"; whoever trains decides what to ignore.
    """
    inputs = drawn(batch, length, vocab, generator)
    targets = torch.full_like(inputs, -100)
    targets[:, delay:] = inputs[:, : max(length - delay, 0)]
    return inputs, targets


@copying.misconception
def vocabulary_one_larger(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> Any:
    """Your tokens run up to `vocab` itself.

    There are `vocab` ids in all, 0 among them, so the largest is vocab - 1; a larger one is outside of the
    embedding table.
    """
    inputs = drawn(batch, length, vocab + 1, generator)
    return inputs, delayed(inputs, delay)


# gradient_by_distance -------------------------------------------------------------------------------------------------

vanishing = Exercise(
    gradient_by_distance,
    section="How far a gradient reaches",
    minutes=15,
    difficulty=2,
    why="It measures how far back a model can learn, instead of asserting it.",
    hints=[
        "One step back: what is the Jacobian of tanh(… + h @ w_h) with respect to h? The slope of tanh is 1 - tanh².",
        "Several steps back: multiply the Jacobians. Which state's slope belongs to which step?",
        "Start with the identity at the last state (its norm is √d) and walk backwards, one factor at a time.",
    ],
)


def run_of_states(w_h: Tensor, steps: int) -> Tensor:
    h, states = torch.zeros_like(w_h[0]), []
    for t in range(steps):
        h = torch.tanh(normal(len(h), seed=f"input {t}", dtype=w_h.dtype) + h @ w_h)
        states.append(h)
    return torch.stack(states)


def recurrent(d: int, std: float = 1.0) -> Tensor:
    return normal(d, d, seed="w_h", std=std / math.sqrt(d))


def six_states() -> tuple[Tensor, Tensor]:
    w_h = recurrent(4)
    return w_h, run_of_states(w_h, 6)


@vanishing.probe
def six_steps(gradient_by_distance: Any) -> Seen:
    """six states of width four"""
    return {"norms": gradient_by_distance(*six_states())}


@vanishing.probe
def as_many_steps_as_components(gradient_by_distance: Any) -> Seen:
    """five states of width five, with strong recurrent weights"""
    w_h = recurrent(5, std=2.0)
    return {"norms": gradient_by_distance(w_h, run_of_states(w_h, 5))}


@vanishing.probe
def few_states(gradient_by_distance: Any) -> Seen:
    """one state and two states, of two widths"""
    found: Seen = {}
    for steps, d in enumerate(distinct(3, 10, 2, seed="widths"), start=1):
        w_h = recurrent(d)
        found[f"norms of {steps}, width {d}"] = gradient_by_distance(w_h, run_of_states(w_h, steps))
    return found


@vanishing.probe
def states_of_width_one(gradient_by_distance: Any) -> Seen:
    """states of width 1"""
    w_h = recurrent(1)
    return {f"norms of {n}": gradient_by_distance(w_h.clone(), run_of_states(w_h, n)) for n in (2, 5)}


def as_many_states_as_components() -> tuple[Tensor, Tensor]:
    w_h = recurrent(4)
    return w_h, run_of_states(w_h, 4)


usual(vanishing, six_states, alike=as_many_states_as_components)


def walked(w_h: Tensor, states: Tensor, slopes: Any, factor: Any, size: Any) -> Tensor:
    """The walk backwards with exchangeable parts."""
    jacobian = torch.eye(w_h.shape[0], dtype=w_h.dtype, device=w_h.device)
    found = [size(jacobian)]
    for slope in slopes(states):
        jacobian = jacobian @ factor(slope, w_h)
        found.append(size(jacobian))
    return torch.stack(found).flip(0)


def slopes_of_the_later(states: Tensor) -> Tensor:
    return 1 - states[1:].flip(0).square()


def step_back(slope: Tensor, w_h: Tensor) -> Tensor:
    return slope.unsqueeze(-1) * w_h.T


def frobenius(jacobian: Tensor) -> Tensor:
    return jacobian.norm()


@vanishing.assembled
def walked_in_steps(
    w_h: Tensor,
    states: Tensor,
    *,
    slopes: Any = slopes_of_the_later,
    factor: Any = step_back,
    size: Any = frobenius,
) -> Tensor:
    return walked(w_h, states, slopes, factor, size)


@vanishing.instead_of("slopes")
def slopes_of_the_earlier(states: Tensor) -> Tensor:
    """You take the slope of the tanh at the earlier state of each step.

    The step from t-1 to t ends in states[t]: that is where its tanh was evaluated.
    """
    return 1 - states[:-1].flip(0).square()


@vanishing.instead_of("slopes")
def slopes_forgotten(states: Tensor) -> Tensor:
    """You leave the tanh's slope out and multiply the weights alone.

    Every step also passes through a tanh, whose slope is below 1: that is half of why gradients vanish.
    """
    return torch.ones_like(states[1:])


@vanishing.instead_of("slopes")
def slope_not_squared(states: Tensor) -> Tensor:
    """You take 1 - h for the slope of the tanh.

    The derivative of tanh is 1 - tanh².
    """
    return 1 - states[1:].flip(0)


@vanishing.instead_of("factor")
def weights_not_turned(slope: Tensor, w_h: Tensor) -> Tensor:
    """Your weights are not turned.

    In h @ w_h, component i of the old state reaches component j of the new one by w_h[i, j]; in the Jacobian (new,
    old) that stands at [j, i].
    """
    return slope.unsqueeze(-1) * w_h


@vanishing.instead_of("factor")
def slope_on_the_wrong_side(slope: Tensor, w_h: Tensor) -> Tensor:
    """You multiply the slope onto the wrong side of the weights.

    The tanh comes after the weights, so its slope scales the rows of the new state, not the columns of the old.
    """
    return w_h.T * slope


@vanishing.instead_of("size")
def largest_singular_value(jacobian: Tensor) -> Tensor:
    """You give the largest singular value.

    It is a norm too, but the Frobenius norm is asked for: the root of the sum of all squares.
    """
    return torch.linalg.matrix_norm(jacobian, 2)


@vanishing.instead_of("size")
def squared_norm(jacobian: Tensor) -> Tensor:
    """You give the square of the norm; the root is missing.

    For the last state it should be √d, the norm of the identity.
    """
    return jacobian.square().sum()


@vanishing.misconception
def factors_in_the_wrong_order(w_h: Tensor, states: Tensor) -> Tensor:
    """You multiply the steps in the wrong order.

    The last step acts last, so it stands on the far left; what comes earlier in time stands further right.
    """
    jacobian = torch.eye(w_h.shape[0], dtype=w_h.dtype, device=w_h.device)
    found = [frobenius(jacobian)]
    for slope in slopes_of_the_later(states):
        jacobian = step_back(slope, w_h) @ jacobian
        found.append(frobenius(jacobian))
    return torch.stack(found).flip(0)


@vanishing.misconception
def in_reverse(w_h: Tensor, states: Tensor) -> Tensor:
    """Your result runs backwards: its first entry belongs to the last state.

    Entry t belongs to state t, so √d comes last.
    """
    return gradient_by_distance(w_h, states).flip(0)


@vanishing.misconception
def one_factor_too_many(w_h: Tensor, states: Tensor) -> Tensor:
    """You multiply one step too many into every entry: the last is already the norm of a whole step.

    Entry t is about d states[-1]/d states[t]. For the last state that is the identity, whose norm is √d.
    """
    jacobian = torch.eye(w_h.shape[0], dtype=w_h.dtype, device=w_h.device)
    found = []
    for slope in 1 - states.flip(0).square():
        jacobian = jacobian @ step_back(slope, w_h)
        found.append(frobenius(jacobian))
    return torch.stack(found).flip(0)


@vanishing.misconception
def norms_multiplied(w_h: Tensor, states: Tensor) -> Tensor:
    """You multiply the norms of the steps.

    The norm of a product is at most the product of the norms, and mostly far below. Multiply the matrices, then take
    the norm.
    """
    size = frobenius(torch.eye(w_h.shape[0], dtype=w_h.dtype, device=w_h.device))
    found = [size]
    for slope in slopes_of_the_later(states):
        size = size * frobenius(step_back(slope, w_h))
        found.append(size)
    return torch.stack(found).flip(0)


# receptive_field ------------------------------------------------------------------------------------------------------

ZIP = "layers = zip(kernel_sizes, dilations"

seeing = Exercise(
    receptive_field,
    section="How far a convolution sees",
    minutes=10,
    difficulty=2,
    why="It says how many layers of convolution a distance costs; attention takes one.",
    hints=[
        "One layer with a kernel of 3 sees 3 inputs. How many more does a second such layer add?",
        "A layer adds the distance between its first and its last tap.",
        "With dilation r the taps are r apart, so a kernel of k spans (k - 1)·r.",
    ],
    equivalents={
        f"{ZIP}, strict=True)  ->  {ZIP}{rest}": "both lists have a number for each layer"
        for rest in (")", ", strict=False)")
    },
)


# Each probe asks about several stacks: sums of small numbers are soon equal by chance, four of them are not.
def seen_by(receptive_field: Any, stacks: list[tuple[list[int], list[int]]]) -> Seen:
    return {f"kernels {k}, dilations {d}": receptive_field(list(k), list(d)) for k, d in stacks}


@seeing.probe
def plain_layers(receptive_field: Any) -> Seen:
    """stacks of three and four layers without dilation"""
    stacks = [(distinct(2, 30, 3 + i % 2, seed=f"kernels {i}"), [1] * (3 + i % 2)) for i in range(4)]
    return seen_by(receptive_field, stacks)


@seeing.probe
def doubling_dilations(receptive_field: Any) -> Seen:
    """layers of one kernel whose dilations double"""
    depths, kernels = distinct(2, 9, 3, seed="depths"), distinct(2, 9, 3, seed="kernel")
    stacks = [([k] * n, [2**i for i in range(n)]) for n, k in zip(depths, kernels, strict=True)]
    return seen_by(receptive_field, stacks)


@seeing.probe
def mixed(receptive_field: Any) -> Seen:
    """kernels and dilations drawn at random"""
    stacks = [(distinct(2, 20, 5, seed=f"k {i}"), distinct(2, 20, 5, seed=f"d {i}")) for i in range(3)]
    return seen_by(receptive_field, stacks)


@seeing.probe
def no_layer_and_one(receptive_field: Any) -> Seen:
    """no layer at all, and one layer"""
    one = [([k], [d]) for k, d in zip(distinct(2, 30, 3, seed="k"), distinct(2, 30, 3, seed="d"), strict=True)]
    return seen_by(receptive_field, [([], []), *one])


@seeing.probe
def kernels_of_one(receptive_field: Any) -> Seen:
    """layers with a kernel of 1, which widen nothing, and lists given as tuples"""
    a, b, c = distinct(2, 30, 3, seed="sizes")
    found = seen_by(receptive_field, [([1], [a]), ([1, b, 1], [c, a, b]), ([a, 1], [b, c])])
    return {**found, "tuples": receptive_field((a, c), (b, 1))}


@seeing.misconception
def kernels_multiplied(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You multiply the kernel sizes.

    That is how strides work. At stride 1 neighbouring outputs see almost the same inputs, and the widths add up.
    """
    return math.prod(kernel_sizes)


@seeing.misconception
def kernels_added(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You add the whole kernels: each layer counts one input too many.

    A layer with kernel k reaches k - 1 inputs beyond the one below.
    """
    return sum(k * d for k, d in zip(kernel_sizes, dilations, strict=True))


@seeing.misconception
def dilations_ignored(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You ignore the dilations.

    Taps that lie further apart see further, at the same cost: that is what dilation is for.
    """
    return 1 + sum(k - 1 for k in kernel_sizes)


@seeing.misconception
def without_itself(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count the reach, not the inputs: one too few.

    Even without a layer an output sees one input, its own.
    """
    return receptive_field(kernel_sizes, dilations) - 1


@seeing.misconception
def dilated_kernel_minus_one(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You subtract 1 after dilating: k·r - 1.

    A kernel of k has k - 1 gaps, each r wide: (k - 1)·r.
    """
    return 1 + sum(k * d - 1 for k, d in zip(kernel_sizes, dilations, strict=True))


@seeing.misconception
def widest_layer_only(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count the widest layer alone.

    Layers stand on each other: each widens what the one below has gathered.
    """
    return 1 + max(((k - 1) * d for k, d in zip(kernel_sizes, dilations, strict=True)), default=0)


@seeing.misconception
def dilations_for_strides(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count as if dilations were strides: each layer's step is multiplied by the ones below.

    A stride thins out what the next layer gets, so steps multiply. A dilation spreads the taps of its own layer only.
    """
    seen, jump = 1, 1
    for kernel, dilation in zip(kernel_sizes, dilations, strict=True):
        seen, jump = seen + (kernel - 1) * jump, jump * dilation
    return seen


@seeing.misconception
def itself_in_every_layer(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You count the output's own input once for each layer.

    It is one input, however many layers look at it: 1 plus what the layers add.
    """
    return len(kernel_sizes) + sum((k - 1) * d for k, d in zip(kernel_sizes, dilations, strict=True))


@seeing.misconception
def inputs_skipped(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You take the dilation for the number of inputs that are skipped between two taps.

    It is the distance between them: 1 means that the taps are neighbours, and nothing is skipped.
    """
    return 1 + sum((k - 1) * (d + 1) for k, d in zip(kernel_sizes, dilations, strict=True))


@seeing.misconception
def half_a_kernel_on_each_side(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """You let a kernel reach k // 2 inputs to each side.

    That is right for odd kernels. An even one spans k - 1 gaps like any other, an odd number.
    """
    return 1 + 2 * sum(k // 2 * d for k, d in zip(kernel_sizes, dilations, strict=True))


# path_length ----------------------------------------------------------------------------------------------------------

travelling = Exercise(
    path_length,
    section="How far a signal travels",
    minutes=15,
    difficulty=2,
    why="A column of the paper's first table, computed: how many steps lie between two words.",
    hints=[
        "From the first of five positions to the last: how many times does an RNN pass its state on?",
        "In attention every position looks at every other directly.",
        "A convolution of width k moves a signal by k - 1 positions a layer; a layer cannot be half used.",
    ],
)


@travelling.probe
def recurrent_path(path_length: Any) -> Seen:
    """an RNN over 1, 2 and more positions"""
    return {f"of {n}": path_length("rnn", n) for n in (1, 2, *distinct(3, 200, 3, seed="rnn"))}


@travelling.probe
def direct_path(path_length: Any) -> Seen:
    """attention beside an RNN, over the same positions"""
    lengths = distinct(3, 200, 3, seed="attention")
    found = {f"attention, of {n}": path_length("attention", n) for n in (2, *lengths)}
    return {**found, **{f"rnn, of {n}": path_length("rnn", n) for n in lengths}}


@travelling.probe
def convolutional_path(path_length: Any) -> Seen:
    """convolutions that reach the last position exactly, just so, and not quite"""
    found: Seen = {}
    kernels, layers = distinct(4, 20, 3, seed="kernels"), distinct(3, 30, 3, seed="layers")
    for kernel, full in zip(kernels, layers, strict=True):
        reached = 1 + full * (kernel - 1)  # positions that `full` layers connect
        for n in (reached - 1, reached, reached + 1):
            found[f"width {kernel} over {n}"] = path_length("cnn", n, kernel=kernel)
    return found


@travelling.probe
def narrow_and_short(path_length: Any) -> Seen:
    """convolutions of width 2, over few positions, and wider than the sequence; the width given by position"""
    a, b, c = distinct(4, 60, 3, seed="n")
    cases = [(a, 2), (b, 2), (1, c), (2, c), (c, c), (c + 1, c), (c, 2 * c)]
    return {f"width {kernel} over {n}": path_length("cnn", n, kernel) for n, kernel in cases}


@travelling.probe
def any_length(path_length: Any) -> Seen:
    """lengths and kernels drawn at random"""
    found: Seen = {}
    for n, kernel in zip(distinct(20, 200, 3, seed="n"), distinct(3, 12, 3, seed="kernel"), strict=True):
        found |= {f"rnn of {n}": path_length("rnn", n), f"cnn of {n}, {kernel}": path_length("cnn", n, kernel)}
    return found


@travelling.misconception
def positions_counted(architecture: str, n: int, kernel: int | None = None) -> int:
    """You count the positions of the RNN, not the steps between them.

    From the first of n positions to the last there are n - 1 steps.
    """
    return n if architecture == "rnn" else path_length(architecture, n, kernel)


@travelling.misconception
def whole_kernels(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let a convolution move a signal by its whole width.

    A kernel of width k covers k positions; from its first to its last tap it is k - 1.
    """
    return math.ceil((n - 1) / (kernel or 1)) if architecture == "cnn" else path_length(architecture, n, kernel)


@travelling.misconception
def rounded_down(architecture: str, n: int, kernel: int | None = None) -> int:
    """You round the number of layers down.

    With one layer too few the last position does not see the first. Round up.
    """
    return (n - 1) // ((kernel or 2) - 1) if architecture == "cnn" else path_length(architecture, n, kernel)


@travelling.misconception
def one_layer_too_many(architecture: str, n: int, kernel: int | None = None) -> int:
    """Your convolution takes a layer too many where the layers fit exactly.

    Between n positions lie n - 1 gaps, and rounding up adds a layer only if something is left over: dividing n, or
    rounding down and adding 1, is too much by one.
    """
    return math.ceil(n / ((kernel or 2) - 1)) if architecture == "cnn" else path_length(architecture, n, kernel)


@travelling.misconception
def logarithmic(architecture: str, n: int, kernel: int | None = None) -> int:
    """You count as if each layer multiplied its reach, which takes doubling dilations.

    Without dilation each layer adds k - 1, so the number of layers grows with n, not with its logarithm.
    """
    return math.ceil(math.log(n, kernel or 2)) if architecture == "cnn" else path_length(architecture, n, kernel)


@travelling.misconception
def attention_through_all(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let attention pass through all positions.

    It computes n² scores, but each of them connects two positions directly: one step.
    """
    return n - 1 if architecture == "attention" else path_length(architecture, n, kernel)


@travelling.misconception
def attention_as_a_tree(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let attention double its reach from layer to layer.

    No position has to wait for another to pass something on: every pair is connected in one step.
    """
    return math.ceil(math.log2(n)) if architecture == "attention" else path_length(architecture, n, kernel)


@travelling.misconception
def half_a_kernel_at_a_time(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let a convolution move a signal by half its width, as one that looks to both sides does.

    These are causal: all taps lie in the past, and the farthest is k - 1 steps away.
    """
    if architecture != "cnn":
        return path_length(architecture, n, kernel)
    return math.ceil((n - 1) / max((kernel or 2) // 2, 1))


@travelling.misconception
def one_position_per_layer(architecture: str, n: int, kernel: int | None = None) -> int:
    """You let a convolution move a signal by one position in each layer, whatever its width.

    That is a kernel of width 2. A wider one reaches further back: its farthest tap is k - 1 steps away.
    """
    return n - 1 if architecture == "cnn" else path_length(architecture, n, kernel)


@travelling.misconception
def recurrent_in_one_step(architecture: str, n: int, kernel: int | None = None) -> int:
    """You count the layers of the RNN, not its steps: one layer, one step.

    Inside that layer a signal is handed on from position to position, and each of these is a step of its way.
    """
    return 1 if architecture == "rnn" else path_length(architecture, n, kernel)


@travelling.misconception
def attention_over_all_positions(architecture: str, n: int, kernel: int | None = None) -> int:
    """You count n steps for attention: as many as there are positions.

    A query is compared with all n positions, but at once: each of them is one step away.
    """
    return n if architecture == "attention" else path_length(architecture, n, kernel)


@travelling.misconception
def one_step_for_everything(architecture: str, n: int, kernel: int | None = None) -> int:
    """You answer 1 whatever the architecture is.

    That is right for attention. If you tell them apart, see whether your comparisons are ever true: the names are
    "rnn", "attention" and "cnn", in small letters.
    """
    return 1


@travelling.misconception
def at_least_one_layer(architecture: str, n: int, kernel: int | None = None) -> int:
    """Your convolution takes a layer even for a single position.

    The first position is then the last: there is nothing to cross, and 0 layers do it.
    """
    return (
        max(path_length(architecture, n, kernel), 1) if architecture == "cnn" else path_length(architecture, n, kernel)
    )
