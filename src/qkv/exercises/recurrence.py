"""Chapter 10: the steps of RNN and LSTM, a task of memory, gradient by distance, receptive field, path length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.forbid import RECURRENT
from proctor.inputs import generator, integers, normal
from proctor.properties import gradients, keeps_inputs, other_device, same_in
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


rnn.property(gradients(rnn_arguments))
rnn.property(keeps_inputs(rnn_arguments))
rnn.property(same_in(torch.float64, rnn_arguments))
rnn.property(same_in(torch.bfloat16, rnn_arguments))
rnn.property(other_device(rnn_arguments))


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


# lstm_step ------------------------------------------------------------------------------------------------------------

lstm = Exercise(
    lstm_step,
    section="One step of an LSTM",
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


lstm.property(gradients(lstm_arguments))
lstm.property(keeps_inputs(lstm_arguments))
lstm.property(same_in(torch.float64, lstm_arguments))
lstm.property(same_in(torch.bfloat16, lstm_arguments))
lstm.property(other_device(lstm_arguments))


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
    update: Any = remember,
    output: Any = show,
) -> tuple[Tensor, Tensor]:
    i, f, g, o = part(x, h, w_x, w_h, b)
    c = update(c, i, f, g)
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
def forget_bias_added(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Any:
    """You add 1 to the forget gate.

    A useful start for training, but it belongs into the initial bias; the step adds nothing.
    """
    i, f, g, o = parted(x, h, w_x, w_h, b)
    return i, f + 1, g, o


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


# delayed_copy ---------------------------------------------------------------------------------------------------------

copying = Exercise(
    delayed_copy,
    section="A task of pure memory",
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


@copying.probe
def delay_of_two(delayed_copy: Any) -> Seen:
    """three sequences of seven tokens, delay 2"""
    return both(delayed_copy(3, 7, 2, 9, generator("a")))


@copying.probe
def no_delay(delayed_copy: Any) -> Seen:
    """delay 0"""
    return both(delayed_copy(2, 5, 0, 6, generator("b")))


@copying.probe
def delay_beyond_the_end(delayed_copy: Any) -> Seen:
    """a delay as long as the sequence, and a longer one"""
    exact, longer = (both(delayed_copy(2, 4, delay, 6, generator("c"))) for delay in (4, 6))
    return {**exact, "targets of the longer": longer["targets"]}


@copying.probe
def twice_from_one_generator(delayed_copy: Any) -> Seen:
    """two batches from one generator"""
    source = generator("d")
    first, second = (both(delayed_copy(2, 6, 3, 5, source)) for _ in range(2))
    return {**first, "inputs of the second": second["inputs"]}


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
def a_single_state(gradient_by_distance: Any) -> Seen:
    """one state only"""
    w_h = recurrent(3)
    return {"norms": gradient_by_distance(w_h, run_of_states(w_h, 1))}


@vanishing.probe
def two_states(gradient_by_distance: Any) -> Seen:
    """two states"""
    w_h = recurrent(7)
    return {"norms": gradient_by_distance(w_h, run_of_states(w_h, 2))}


vanishing.property(gradients(six_states))
vanishing.property(keeps_inputs(six_states))
vanishing.property(same_in(torch.float64, six_states))
vanishing.property(other_device(six_states))


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


# receptive_field ------------------------------------------------------------------------------------------------------

ZIP = "layers = zip(kernel_sizes, dilations"

seeing = Exercise(
    receptive_field,
    section="How far a convolution sees",
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


@seeing.probe
def plain_layers(receptive_field: Any) -> Seen:
    """three layers with kernels 3, 5 and 2, no dilation"""
    return {"inputs": receptive_field([3, 5, 2], [1, 1, 1])}


@seeing.probe
def doubling_dilations(receptive_field: Any) -> Seen:
    """four layers with kernel 2 and dilations 1, 2, 4, 8"""
    return {"inputs": receptive_field([2] * 4, [1, 2, 4, 8])}


@seeing.probe
def mixed(receptive_field: Any) -> Seen:
    """kernels and dilations drawn at random"""
    kernels, dilations = integers(1, 8, 5, seed="kernels").tolist(), integers(1, 9, 5, seed="dilations").tolist()
    return {"inputs": receptive_field(kernels, dilations)}


@seeing.probe
def no_layer(receptive_field: Any) -> Seen:
    """no layer at all"""
    return {"inputs": receptive_field([], [])}


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


# path_length ----------------------------------------------------------------------------------------------------------

travelling = Exercise(
    path_length,
    section="How far a signal travels",
    hints=[
        "From the first of five positions to the last: how many times does an RNN pass its state on?",
        "In attention every position looks at every other directly.",
        "A convolution of width k moves a signal by k - 1 positions a layer; a layer cannot be half used.",
    ],
)


@travelling.probe
def recurrent_path(path_length: Any) -> Seen:
    """an RNN over 5 and over 64 positions"""
    return {"of 5": path_length("rnn", 5), "of 64": path_length("rnn", 64)}


@travelling.probe
def direct_path(path_length: Any) -> Seen:
    """attention over 5 and over 64 positions"""
    return {"of 5": path_length("attention", 5), "of 64": path_length("attention", 64)}


@travelling.probe
def convolutional_path(path_length: Any) -> Seen:
    """convolutions of width 3 over 9, 10 and 64 positions, and of width 4 over 8"""
    found = {f"width 3 over {n}": path_length("cnn", n, kernel=3) for n in (9, 10, 64)}
    return {**found, "width 4 over 8": path_length("cnn", 8, 4)}


@travelling.probe
def any_length(path_length: Any) -> Seen:
    """a length and a kernel drawn at random"""
    n, kernel = int(integers(20, 200, 1, seed="n")), int(integers(2, 9, 1, seed="kernel"))
    return {"rnn": path_length("rnn", n), "cnn": path_length("cnn", n, kernel)}


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
def all_positions_for_the_cnn(architecture: str, n: int, kernel: int | None = None) -> int:
    """You divide n, not n - 1, by the reach of a layer.

    Between n positions lie n - 1 gaps.
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
