"""The exercise `stretched_frequencies`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores, squeezes
from proctor.inside.inputs import number, whole
from proctor.inside.properties import follows_default_dtype, repeats
from proctor.inside.situations import Seen
from qkv.exercises.positions.shared import in_float64_by_default
from qkv.exercises.today.shared import even
from qkv.model.today import stretched_frequencies

exercise = Exercise(
    stretched_frequencies,
    section="Longer texts",
    minutes=12,
    difficulty=2,
    why="With 1 and 4 this is what Llama 3.1's files ask for, and it reads texts longer than those of its training.",
    hints=[
        "How far does pair i turn in `length` positions, in radians? How many times round is that?",
        "Which pairs has training shown at every angle: those that came round often, or those that never did?",
        "keep is 1 from `fast` turns on, 0 up to `slow`, and a straight line between: what does `clamp` do with it?",
        "`slow` = `fast` would divide by 0, and two infinities differ by no number. Treat it by itself: a comparison.",
    ],
    equivalents={
        "column = torch.arange(0, d, 2, dtype=torch.float64)  ->  column = torch.arange(0, d, 2)": (
            "float32 gives the six digits that are asked for"
        ),
    },
)


def apart(frequencies: Tensor) -> Seen:
    """Every speed in the scale of its own: the slow ones would vanish beside the quick ones."""
    return {"logarithms": frequencies.log()}


def a_ramp(name: str) -> tuple[float, float, float]:
    """A length, and turns between which some pairs lie."""
    length = number(150.0, 900.0, seed=f"{name} length")
    return length, number(0.4, 1.5, seed=f"{name} slow"), number(9.0, 20.0, seed=f"{name} fast")


@exercise.probe
def as_llama_has_it(stretched_frequencies: Any) -> Seen:
    """the usual ramp from 1 to 4 turns, a head of some sixty columns"""
    d, length = even(48, 97, seed="d"), whole(300, 3000, seed="length")
    return apart(stretched_frequencies(d, number(2.0, 9.0, seed="factor"), length))


@exercise.probe
def another_ramp_and_base(stretched_frequencies: Any) -> Seen:
    """another base and another ramp; a length that is not whole"""
    d, base = even(40, 81, seed="d"), number(300.0, 3e6, seed="base")
    length, slow, fast = a_ramp("ramp")
    by_place = stretched_frequencies(d, number(2.0, 9.0, seed="factor"), length, base, slow, fast)
    by_name = stretched_frequencies(d, factor=3.5, length=length, fast=fast, slow=slow, base=base)
    return {"logarithms by place": by_place.log(), "logarithms by name": by_name.log()}


@exercise.probe
def the_quick_and_the_slow(stretched_frequencies: Any) -> Seen:
    """a long text, in which the quickest pairs come round often and keep their speed"""
    d, factor = even(64, 129, seed="d"), number(2.0, 30.0, seed="factor")
    return {"frequencies": stretched_frequencies(d, factor, whole(2000, 9000, seed="length"))}


@exercise.probe
def not_stretched(stretched_frequencies: Any) -> Seen:
    """a factor of 1, whole or not, which changes nothing"""
    d, length = even(8, 41, seed="d"), whole(50, 400, seed="length")
    return {
        "logarithms, factor 1": stretched_frequencies(d, 1, length).log(),
        "logarithms, factor 1.0": stretched_frequencies(d, 1.0, length).log(),
    }


@exercise.probe
def a_ramp_of_no_width(stretched_frequencies: Any) -> Seen:
    """slow = fast: the pairs of as many turns or more keep their speed"""
    d, length, at = even(30, 61, seed="d"), whole(200, 900, seed="length"), number(1.0, 6.0, seed="at")
    return apart(stretched_frequencies(d, number(2.0, 9.0, seed="factor"), length, slow=at, fast=at))


@exercise.probe
def exactly_at_the_edge(stretched_frequencies: Any) -> Seen:
    """slow = fast, and a pair that comes round exactly as often; slow = fast = 0, which every pair reaches"""
    d, factor = even(8, 41, seed="d"), number(2.0, 9.0, seed="factor")
    times = float(2 ** whole(0, 4, seed="power"))  # of a power of two no way to divide by 2π loses a digit
    exactly = stretched_frequencies(d, factor, 2 * math.pi * times, slow=times, fast=times)
    at_0 = stretched_frequencies(d, factor, whole(50, 400, seed="length"), slow=0.0, fast=0.0)
    return {"logarithms, exactly at the edge": exactly.log(), "logarithms, slow = fast = 0": at_0.log()}


@exercise.probe
def all_pairs_alike(stretched_frequencies: Any) -> Seen:
    """slow = fast = infinity: plain interpolation"""
    d, length = even(8, 41, seed="d"), whole(50, 400, seed="length")
    factor = number(2.0, 9.0, seed="factor")
    return apart(stretched_frequencies(d, factor, length, 10000.0, math.inf, math.inf))


@exercise.probe
def short_and_narrow(stretched_frequencies: Any) -> Seen:
    """a head of one pair, of two, and a length of a few positions"""
    length, factor = whole(2, 30, seed="length"), number(2.0, 9.0, seed="factor")
    return {
        f"logarithms, d = {d}, length {n}": stretched_frequencies(d, factor, n, slow=0.3, fast=6.0).log()
        for d, n in ((2, length), (4, length + 1), (even(6, 13, seed="d"), 1))
    }


exercise.property(in_float64_by_default(lambda stretched: stretched(16, 3.0, 200)))
exercise.remark(follows_default_dtype(lambda stretched: stretched(16, 3.0, 200)))


exercise.property(repeats(as_llama_has_it, another_ramp_and_base))


def plain(d: int, base: float) -> Tensor:
    return base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


def rounds(f: Tensor, length: float) -> Tensor:
    return length * f / (2 * math.pi)


def ramp(r: Tensor, slow: float, fast: float) -> Tensor:
    return (r >= slow).double() if slow == fast else ((r - slow) / (fast - slow)).clamp(0, 1)


def mixture(f: Tensor, keep: Tensor, factor: float) -> Tensor:
    return f * (keep + (1 - keep) / factor)


@exercise.assembled
def stretched_in_steps(
    d: int,
    factor: float,
    length: float,
    base: float = 10000.0,
    slow: float = 1.0,
    fast: float = 4.0,
    *,
    speed: Any = plain,
    count: Any = rounds,
    keeps: Any = ramp,
    mix: Any = mixture,
) -> Tensor:
    f = speed(d, base)
    return mix(f, keeps(count(f, length), slow, fast), factor).to(torch.get_default_dtype())


@exercise.instead_of("speed")
def twice_too_slow(d: int, base: float) -> Tensor:
    """Your exponents are 2·(2i)/d: every other speed is left out, and the last ones are too slow.

    Either i counts pairs, and the exponent is 2i/d, or a counter runs over 0, 2, 4, …, and then it is 2i already.
    """
    return base ** (-2 * torch.arange(0, d, 2, dtype=torch.float64) / d)


@exercise.instead_of("speed")
def half_the_range(d: int, base: float) -> Tensor:
    """Your exponents are i/d with i = 0, 1, 2, …: the speeds reach down to the root of what they should.

    The exponent of pair i is 2i/d: the number of its first column, divided by the width.
    """
    return base ** (-torch.arange(d // 2, dtype=torch.float64) / d)


@exercise.instead_of("speed")
def quicker_and_quicker(d: int, base: float) -> Tensor:
    """Your speeds grow: the exponent lacks its minus sign.

    The first pair is the quickest, with one radian a position.
    """
    return base ** (torch.arange(0, d, 2, dtype=torch.float64) / d)


@exercise.instead_of("speed")
def one_for_each_column(d: int, base: float) -> Tensor:
    """You return a speed for every column, each twice.

    Two columns are one pair and turn together; asked for are d/2 speeds, one for each pair.
    """
    return plain(d, base).repeat_interleave(2)


@exercise.instead_of("count")
def radians_counted(f: Tensor, length: float) -> Tensor:
    """You count radians where turns are meant.

    length·f says how far a pair turns, in radians. Once round is 2π of them.
    """
    return length * f


@exercise.instead_of("count")
def wavelengths_counted(f: Tensor, length: float) -> Tensor:
    """You compare the wavelength 2π/f with slow and fast.

    `slow` and `fast` are numbers of turns within the length: length divided by the wavelength.
    """
    return 2 * math.pi / f


@exercise.instead_of("count")
def length_forgotten(f: Tensor, length: float) -> Tensor:
    """`length` has no influence on what you return.

    Whether a pair came round in training depends on how long the texts were.
    """
    return f / (2 * math.pi)


@exercise.instead_of("count")
def turns_rounded_down(f: Tensor, length: float) -> Tensor:
    """You count whole turns only.

    Pairs between `slow` and `fast` lie on a straight line, and a fraction of a turn counts as a fraction.
    """
    return rounds(f, length).floor()


@exercise.instead_of("keeps")
def not_cut(r: Tensor, slow: float, fast: float) -> Tensor:
    """You do not cut keep to [0, 1].

    Quick pairs would get quicker than they were, and the slowest slower than factor allows.
    """
    return ramp(r, slow, fast) if slow == fast else (r - slow) / (fast - slow)


@exercise.instead_of("keeps")
def a_step(r: Tensor, slow: float, fast: float) -> Tensor:
    """You have a step where there should be a ramp: a pair keeps its speed from `slow` turns on.

    Between `slow` and `fast` it keeps a part of it, (r - slow)/(fast - slow).
    """
    return (r >= slow).double()


@exercise.instead_of("keeps")
def a_late_step(r: Tensor, slow: float, fast: float) -> Tensor:
    """You have a step where there should be a ramp: a pair keeps its speed from `fast` turns on, and no part before.

    Between `slow` and `fast` it keeps a part of it, (r - slow)/(fast - slow).
    """
    return (r >= fast).double()


@exercise.instead_of("keeps")
def slow_ones_kept(r: Tensor, slow: float, fast: float) -> Tensor:
    """You slow down the quick pairs and leave the slow ones.

    A quick pair has shown every angle in training and must keep telling neighbours apart. It is the slow ones that
    would come to angles never seen.
    """
    return 1 - ramp(r, slow, fast)


@exercise.instead_of("keeps")
def by_the_number_of_the_pair(r: Tensor, slow: float, fast: float) -> Tensor:
    """Your ramp is a straight line in the number of the pair.

    transformers' `yarn` has it so, between pairs that it rounds outwards. Here it is a straight line in the number of
    turns, as in YaRN's paper and in Llama 3.1.
    """
    if slow == fast:
        return ramp(r, slow, fast)
    inside = ((r < fast) & (r > slow)).double()
    place = (inside.cumsum(0) - 0.5) / inside.sum().clamp(min=1)
    return torch.where(inside > 0, 1 - place, (r >= fast).double())


@exercise.instead_of("keeps")
def divided_by_no_width(r: Tensor, slow: float, fast: float) -> Tensor:
    """Where slow = fast you divide by 0.

    Then the ramp is a step: 1 where r is `slow` or more, else 0. Two infinities, whose difference is no number, are
    such a case as well.
    """
    return ((r - slow) / torch.tensor(fast - slow, dtype=torch.float64)).clamp(0, 1)


@exercise.instead_of("keeps")
def smooth(r: Tensor, slow: float, fast: float) -> Tensor:
    """Your ramp is rounded at both ends, 3t² - 2t³.

    It is a straight line.
    """
    t = ramp(r, slow, fast)
    return t * t * (3 - 2 * t)


@exercise.instead_of("keeps")
def everything_slowed(r: Tensor, slow: float, fast: float) -> Tensor:
    """You divide all speeds by factor.

    That is plain interpolation: it also slows down the pairs that tell neighbours apart, as slow = fast = infinity
    would have it.
    """
    return torch.zeros_like(r)


@exercise.instead_of("mix")
def wavelengths_mixed(f: Tensor, keep: Tensor, factor: float) -> Tensor:
    """You mix the wavelengths and not the speeds.

    The two mixtures agree at both ends and differ between. It is f·(keep + (1 - keep)/factor).
    """
    return f / (keep + (1 - keep) * factor)


@exercise.instead_of("mix")
def quickened(f: Tensor, keep: Tensor, factor: float) -> Tensor:
    """You multiply by factor.

    Texts get longer, so clocks must be slower: divide.
    """
    return f * (keep + (1 - keep) * factor)


@exercise.instead_of("mix")
def only_the_kept_part(f: Tensor, keep: Tensor, factor: float) -> Tensor:
    """You return f·keep: the slow pairs do not turn at all.

    What is not kept is divided by factor, and added.
    """
    return f * keep


@exercise.instead_of("mix")
def mixed_geometrically(f: Tensor, keep: Tensor, factor: float) -> Tensor:
    """You divide by factor^(1 - keep).

    That is a straight line between logarithms. Here the speeds themselves are mixed, keep of the one and 1 - keep of
    the other.
    """
    return f * factor ** (keep - 1)


@exercise.instead_of("mix")
def warmed_as_well(f: Tensor, keep: Tensor, factor: float) -> Tensor:
    """You multiply by YaRN's temperature, 0.1·ln(factor) + 1.

    YaRN scales the scores by it, not the speeds, and this function leaves it out.
    """
    return mixture(f, keep, factor) * (0.1 * math.log(factor) + 1)


@exercise.misconception
def another_base(
    d: int, factor: float, length: float, base: float = 10000.0, slow: float = 1.0, fast: float = 4.0
) -> Tensor:
    """You stretch by a larger base, base·factor^(d/(d-2)).

    That slows every pair but the first a little, and more and more. Here it is by parts: some pairs keep their speed,
    some are slowed down by all of factor.
    """
    return plain(d, base * factor ** (d / max(d - 2, 1))).to(torch.get_default_dtype())


squeezes(exercise)
for argument in ("base", "slow", "fast"):
    ignores(exercise, argument)
