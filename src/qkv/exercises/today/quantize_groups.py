"""The exercise `quantize_groups`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, normal, permutation, uniform, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import QUANTIZE
from qkv.model.today import quantize_groups

CODES = "codes = torch.round(groups / torch.where({}).unsqueeze(-1))"
SAFE = CODES.format("scales == 0, 1, scales") + "  ->  " + CODES

exercise = Exercise(
    quantize_groups,
    section="Four bits",
    minutes=12,
    difficulty=2,
    why="What stands in a file of 4-bit weights: small integers, and a scale for each few of them.",
    hints=[
        "Write the group 0.3, -0.7, 0.1 in 3 bits: top is 3. What is the scale? Which integers are nearest?",
        "`unflatten` cuts rows into groups of equal size. What could you put after a row that is too short?",
        "A scale holds for `group` columns of one row: codes times scales needs it once for each of them.",
        "A group of zeros has scale 0, and 0/0 is no number. What else could you divide these zeros by?",
    ],
    forbid=[QUANTIZE],
    equivalents={
        "precise = weight.to(torch.promote_types(weight.dtype, torch.float32))  ->  "
        "precise = weight.to(torch.promote_types(torch.float32, weight.dtype))": "the wider of the two in either order",
        SAFE.format("scales == 0, 2, scales"): "0/2 is 0 as 0/1 is",
        SAFE.format("scales == 0, 0, scales"): "0/0 becomes 0 as an integer on this processor, and is remarked on",
        SAFE.format("scales == 1, 1, scales"): "0/0 becomes 0 as an integer on this processor, and is remarked on",
    },
)


def parts(result: Any, group: int) -> Seen:
    """Codes, scales, and the matrix that they stand for."""
    codes, scales = result
    back = codes * scales.repeat_interleave(group, dim=1)[:, : codes.shape[1]]
    return {"codes": codes, "scales": scales, "codes times scales": back}


def called(words: str, result: Any, group: int) -> Seen:
    return {f"{name}, {words}": value for name, value in parts(result, group).items()}


def clear(d_out: int, d_in: int, bits: int, group: int, name: str) -> Tensor:
    """A matrix of which no weight lies near the middle between two codes: how somebody divides does not matter."""
    top = 2 ** (bits - 1) - 1
    codes = integers(-top, top + 1, d_out, d_in, seed=f"{name} codes")
    off = uniform(d_out, d_in, seed=f"{name} off", low=-0.4, high=0.4)
    units = torch.where(codes.abs() < top, codes + off, codes)
    n = math.ceil(d_in / group)
    for row, columns in enumerate(units.split(group, dim=1)):
        for line in columns:
            at = int(permutation(columns.shape[1], seed=f"{name} largest {row}")[0])
            line[at] = top if codes[0, row] % 2 else -top
    scale = torch.exp(normal(d_out, n, seed=f"{name} scale", std=1.5))
    return units * scale.repeat_interleave(group, dim=1)[:, :d_in]


@exercise.probe
def four_bits(quantize_groups: Any) -> Seen:
    """4 bits, groups that divide the rows"""
    d_out, n, group = distinct(3, 8, 3, seed="sizes")
    return parts(quantize_groups(clear(d_out, n * group, 4, group, "four"), 4, group), group)


@exercise.probe
def a_short_last_group(quantize_groups: Any) -> Seen:
    """rows that groups do not divide; arguments by name"""
    d_out, group = distinct(4, 9, 2, seed="sizes")
    d_in = 2 * group + whole(1, group, seed="rest")
    weight = clear(d_out, d_in, 4, group, "short")
    return parts(quantize_groups(weight, bits=4, group=group), group)


@exercise.probe
def every_number_of_bits(quantize_groups: Any) -> Seen:
    """2 to 8 bits"""
    d_out, group = distinct(3, 8, 2, seed="sizes")
    seen: Seen = {}
    for bits in range(2, 9):
        weight = clear(d_out, 3 * group, bits, group, f"bits {bits}")
        seen |= called(f"{bits} bits", quantize_groups(weight, bits, group), group)
    return seen


@exercise.probe
def one_scale_for_a_row(quantize_groups: Any) -> Seen:
    """a group as wide as a row, and wider"""
    d_out, d_in = distinct(4, 9, 2, seed="sizes")
    weight, more = clear(d_out, d_in, 5, d_in, "row"), d_in + whole(1, 20, seed="more")
    return called("as wide", quantize_groups(weight.clone(), 5, d_in), d_in) | called(
        "wider", quantize_groups(weight.clone(), 5, more), more
    )


@exercise.probe
def groups_of_one(quantize_groups: Any) -> Seen:
    """every weight a group of its own"""
    d_out, d_in = distinct(3, 9, 2, seed="sizes")
    return parts(quantize_groups(normal(d_out, d_in, seed="weight"), 4, 1), 1)


@exercise.probe
def exactly_between_two(quantize_groups: Any) -> Seen:
    """weights exactly halfway between two codes, where the scale is a power of two"""
    bits = whole(3, 8, seed="bits")
    top = 2 ** (bits - 1) - 1
    halves = torch.cat([torch.arange(-top, top) + 0.5, torch.tensor([float(top)])])
    rows = [halves[permutation(len(halves), seed=f"row {i}")] for i in range(3)]
    weight = torch.stack(rows) * 2.0 ** whole(-6, 4, seed="power")
    return parts(quantize_groups(weight, bits, weight.shape[1]), weight.shape[1])


@exercise.probe
def zeros(quantize_groups: Any) -> Seen:
    """some groups of zeros, and a whole matrix of them"""
    d_out, group = distinct(3, 8, 2, seed="sizes")
    weight = clear(d_out, 3 * group, 4, group, "zeros")
    weight[0, :group] = 0
    weight[-1, 2 * group :] = 0
    codes, scales = quantize_groups(weight, 4, group)
    some = {"codes": codes, "scales": scales, "scales that are 0": scales == 0}
    codes, scales = quantize_groups(torch.zeros(2, group + 1), 3, group)
    return some | {"codes of zeros": codes, "scales of zeros": scales, "are they 0": scales == 0}


@exercise.probe
def one_sided(quantize_groups: Any) -> Seen:
    """groups that are all positive, or all negative, far from 0"""
    d_out, group = distinct(3, 8, 2, seed="sizes")
    top = 7
    units = integers(4, top + 1, d_out, 2 * group, seed="units").float()
    units[:, 0], units[:, -1] = top, top
    units[:, group:] *= -1
    scale = torch.exp(normal(d_out, 1, seed="scale"))
    return parts(quantize_groups(units * scale, 4, group), group)


@exercise.probe
def large_and_tiny(quantize_groups: Any) -> Seen:
    """weights of a millionth, and of a million"""
    d_out, group = distinct(3, 8, 2, seed="sizes")
    weight = clear(d_out, 2 * group, 4, group, "size")
    tiny, large = (quantize_groups(weight * size, 4, group) for size in (1e-6, 1e6))
    return called("tiny", tiny, group) | called("large", large, group)


@exercise.probe
def sizes_of_one(quantize_groups: Any) -> Seen:
    """one row, one column, one weight"""
    d_out, d_in = distinct(3, 9, 2, seed="sizes")
    seen: Seen = {}
    for rows, columns, group in ((1, d_in, 2), (d_out, 1, 3), (1, 1, 1)):
        weight = clear(rows, columns, 4, group, "one")
        seen |= called(f"{rows} × {columns}", quantize_groups(weight, 4, group), group)
    return seen


def of_exact_scales() -> tuple[Any, ...]:
    """Scales that are powers of two, so that they are exact in every dtype."""
    units = integers(-7, 8, 3, 10, seed="usual units").float()
    units[:, 0], units[:, 4], units[:, 8] = 7.0, -7.0, 7.0
    return units * 2.0 ** integers(-4, 5, 3, 1, seed="usual powers"), 4, 4


usual(exercise, of_exact_scales, without=("gradients",))


@exercise.property
def in_sixteen_bits(quantize_groups: Any) -> Seen:
    """8-bit codes of weights in bfloat16 and float16

    Your codes are too coarse for weights in sixteen bits: a quotient of bfloat16 has eight digits, and a code up to
    127 needs them all before it is rounded. Divide in float32, and cast the scales back.
    """
    seen: Seen = {}
    for dtype in (torch.bfloat16, torch.float16):
        weight = normal(24, 32, seed="coarse").to(dtype)
        codes, scales = quantize_groups(weight.clone(), 8, 16)
        exact = weight.float().unflatten(1, (2, 16))
        before = exact.abs().amax(-1) / 127
        name = str(dtype).removeprefix("torch.")
        near = [
            (exact / s.unsqueeze(-1) - codes.unflatten(1, (2, 16))).abs() for s in (before, before.to(dtype).float())
        ]
        seen |= {
            f"scales in {name}": scales,
            f"codes are nearest, {name}": bool((torch.minimum(*near) < 0.5 + 1e-4).all()),
        }
    return seen


class NoNumber(TorchDispatchMode):
    """Notes whether a tensor made inside the block holds what is no number."""

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, list | tuple) else [made]:
            if isinstance(one, Tensor) and one.is_floating_point() and one.device.type != "meta":
                self.found = self.found or bool(one.isnan().any())
        return made


@exercise.remark
def zero_by_zero(quantize_groups: Any) -> Seen:
    """a group of zeros, and what is computed on the way

    Of a group of zeros you make 0/0, which is no number, and turn that into an integer. Here it happens to become 0;
    what it becomes on another processor nobody says.
    """
    weight = normal(2, 8, seed="remark")
    weight[0, :4] = 0
    with NoNumber() as watch:
        quantize_groups(weight, 4, 4)
    return {"0/0": watch.found}


def largest(groups: Tensor) -> Tensor:
    return groups.abs().amax(-1)


def symmetric(bits: int) -> float:
    return 2 ** (bits - 1) - 1


def to_even(x: Tensor) -> Tensor:
    return torch.round(x)


def side_by_side(weight: Tensor, group: int) -> Tensor:
    return F.pad(weight, (0, -weight.shape[1] % group)).unflatten(1, (-1, group))


def one_behind_the_other(groups: Tensor, d_in: int) -> Tensor:
    return groups.flatten(1)[:, :d_in]


def by_the_scale(groups: Tensor, scales: Tensor) -> Tensor:
    return groups / torch.where(scales == 0, 1, scales).unsqueeze(-1)


def fitting(codes: Tensor) -> Tensor:
    return codes.to(torch.int8)


@exercise.assembled
def quantized_in_steps(
    weight: Tensor,
    bits: int,
    group: int,
    *,
    cut: Any = side_by_side,
    size: Any = largest,
    levels: Any = symmetric,
    divide: Any = by_the_scale,
    nearest: Any = to_even,
    join: Any = one_behind_the_other,
    store: Any = fitting,
) -> Any:
    groups = cut(weight.to(torch.promote_types(weight.dtype, torch.float32)), group)
    scales = size(groups) / levels(bits)
    codes = nearest(divide(groups, scales))
    return store(join(codes, weight.shape[1])), scales.to(weight.dtype)


@exercise.instead_of("size")
def largest_positive(groups: Tensor) -> Tensor:
    """You divide the largest weight by top, where it should be the largest *absolute* weight.

    A group whose largest weight is negative then gets codes far below -top, which int8 may not even hold.
    """
    return groups.amax(-1)


@exercise.instead_of("size")
def largest_of_all(groups: Tensor) -> Tensor:
    """You have one scale for the whole matrix, repeated for every group.

    Groups are there so that a large weight makes only its neighbours coarse.
    """
    return groups.abs().amax().expand(groups.shape[:-1])


@exercise.instead_of("size")
def largest_of_a_row(groups: Tensor) -> Tensor:
    """You have one scale for a whole row, repeated for each of its groups.

    Each group has the scale of its own largest weight.
    """
    return groups.abs().amax((-2, -1), keepdim=True)[..., 0].expand(groups.shape[:-1])


@exercise.instead_of("size")
def half_the_range(groups: Tensor) -> Tensor:
    """Your scale is made of half the range, (max - min)/2.

    That belongs to codes with a zero point. Here 0 is the code of 0, and the scale comes from the largest absolute
    weight.
    """
    return (groups.amax(-1) - groups.amin(-1)) / 2


@exercise.instead_of("size")
def mean_size(groups: Tensor) -> Tensor:
    """You divide the mean absolute weight by top.

    Then every weight above the mean has a code beyond top. No weight may be larger than top times the scale.
    """
    return groups.abs().mean(-1)


@exercise.instead_of("size")
def never_quite_zero(groups: Tensor) -> Tensor:
    """You keep every scale above a tiny bound, or add one, so that a group of zeros has a scale that is not 0.

    A group of zeros has scale 0. The division can be made safe without changing the scale.
    """
    return largest(groups).clamp(min=1e-9)


@exercise.instead_of("levels")
def one_more_below(bits: int) -> float:
    """Your top is 2^(bits-1), which is one too large.

    In `bits` bits the integers run from -2^(bits-1) to 2^(bits-1) - 1. The largest weight would have a code that does
    not fit.
    """
    return 2 ** (bits - 1)


@exercise.instead_of("levels")
def all_levels_on_one_side(bits: int) -> float:
    """Your top is 2^bits - 1: all levels on one side.

    Weights have two signs, and half of the levels are for the negative ones.
    """
    return 2**bits - 1


@exercise.instead_of("levels")
def half_of_all_levels(bits: int) -> float:
    """Your scale is made for 2^bits - 1 steps between both ends, so top would be (2^bits - 1)/2, which is not whole.

    Then the largest weight lies halfway between two codes. Codes run from -top to top with top = 2^(bits-1) - 1.
    """
    return (2**bits - 1) / 2


@exercise.instead_of("nearest")
def towards_zero(x: Tensor) -> Tensor:
    """You cut the fraction off.

    Every weight would shrink. Round to the nearest integer before you change the dtype.
    """
    return torch.trunc(x)


@exercise.instead_of("nearest")
def always_down(x: Tensor) -> Tensor:
    """You round down.

    Every weight would lose half a step on average. Round to the nearest integer.
    """
    return torch.floor(x)


@exercise.instead_of("nearest")
def halves_up(x: Tensor) -> Tensor:
    """You round halves up: floor(x + 1/2).

    A half goes to the even integer, as `torch.round` has it, so that halves go up as often as down.
    """
    return torch.floor(x + 0.5)


@exercise.instead_of("nearest")
def halves_away_from_zero(x: Tensor) -> Tensor:
    """You round halves away from 0.

    A half goes to the even integer, as `torch.round` has it.
    """
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


@exercise.instead_of("cut")
def dealt_out(weight: Tensor, group: int) -> Tensor:
    """You deal the columns out to the groups in turn.

    A group is `group` *neighbouring* columns.
    """
    padded = F.pad(weight, (0, -weight.shape[1] % group))
    return padded.unflatten(1, (group, -1)).mT


@exercise.instead_of("cut")
def shortened(weight: Tensor, group: int) -> Tensor:
    """You leave out the columns after the last whole group.

    The last group of a row may be shorter, and it has a scale and codes as well.
    """
    whole_ones = weight.shape[1] // group * group
    return weight[:, :whole_ones].unflatten(1, (-1, group)) if whole_ones else weight.new_ones(len(weight), 0, 1)


@exercise.instead_of("cut")
def padded_with_ones(weight: Tensor, group: int) -> Tensor:
    """You fill a short last group up with ones, and they count for its scale.

    Fill up with something that changes no largest absolute weight.
    """
    return F.pad(weight, (0, -weight.shape[1] % group), value=1.0).unflatten(1, (-1, group))


@exercise.instead_of("divide")
def zero_by_zero_stays(groups: Tensor, scales: Tensor) -> Tensor:
    """In a group of zeros you add a small number to the weights as well as to the scale, and its codes are not 0.

    The code of 0 is 0.
    """
    safe = torch.where(scales == 0, 1e-8, scales).unsqueeze(-1)
    return (groups + torch.where(scales == 0, 1e-8, 0.0).unsqueeze(-1).to(groups.dtype)) / safe


@exercise.instead_of("divide")
def multiplied(groups: Tensor, scales: Tensor) -> Tensor:
    """You multiply by the scale.

    A weight is its code *times* the scale; the way back is a division.
    """
    return groups * scales.unsqueeze(-1)


@exercise.instead_of("store")
def as_floats(codes: Tensor) -> Tensor:
    """Your codes are floating numbers.

    They are whole, but take as many bytes as the weights did. Asked for is int8.
    """
    return codes


@exercise.instead_of("store")
def without_signs(codes: Tensor) -> Tensor:
    """You shift the codes by 128 and store them as uint8.

    That is a zero point, which the reader would have to know. Codes are int8 and have the sign of their weight.
    """
    return (codes + 128).to(torch.uint8)


@exercise.misconception
def along_columns(weight: Tensor, bits: int, group: int) -> Any:
    """Your groups run down the columns.

    They are neighbouring columns of one row: a row is what a dot product sums over, and there a scale can be taken out
    of the sum of its group.
    """
    codes, scales = quantize_groups(weight.mT.contiguous(), bits, group)
    return codes.mT.contiguous(), scales.mT.contiguous()


@exercise.misconception
def scales_turned_over(weight: Tensor, bits: int, group: int) -> Any:
    """Your scales are top/max, the reciprocals.

    Codes times scales should be the weights again.
    """
    codes, scales = quantize_groups(weight, bits, group)
    return codes, torch.where(scales == 0, 0, 1 / scales)


@exercise.misconception
def scales_before_codes(weight: Tensor, bits: int, group: int) -> Any:
    """You return scales, codes.

    Asked for are codes first.
    """
    codes, scales = quantize_groups(weight, bits, group)
    return scales, codes


@exercise.misconception
def a_scale_for_each_weight(weight: Tensor, bits: int, group: int) -> Any:
    """Your scales have an entry for every weight.

    With as many scales as weights nothing is saved: return one for each group.
    """
    codes, scales = quantize_groups(weight, bits, group)
    return codes, scales.repeat_interleave(group, dim=1)[:, : weight.shape[1]].contiguous()


squeezes(exercise)
