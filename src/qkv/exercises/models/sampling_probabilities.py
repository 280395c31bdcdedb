"""The exercise `sampling_probabilities`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores, squeezes, unpacks
from proctor.inside.inputs import integers, normal, number, permutation, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.models import (
    sampling_probabilities,
)

SORTED = "ranked, order = (logits / temperature).sort({how})"


BY_SIZE = f"{SORTED.format(how='dim=-1, descending=True, stable=True')}  ->  "


PUT_BACK = "return {into}.scatter(-1, order, p)"


exercise = Exercise(
    sampling_probabilities,
    section="Choosing the next word",
    minutes=20,
    difficulty=3,
    why="The same model writes well or badly, according to how its next word is chosen.",
    points=2.0,
    hints=[
        "Write p = 0.5, 0.3, 0.15, 0.05 and top_p = 0.7. What is the total before each of them? Which ones stay?",
        "Sort once, from the largest on, with `stable=True`: then of equals the smaller id comes first in every cut.",
        "In this order: divide by the temperature, cut to top_k, softmax, cut to top_p, divide by what is left.",
        "You have sorted, so the probabilities must go back to their ids: `scatter` with the order puts them there.",
    ],
    equivalents={
        BY_SIZE + SORTED.format(how="descending=True, stable=True"): "the last dimension is the default",
        BY_SIZE + SORTED.format(how="dim=-1, descending=True"): "on the CPU torch's sort is stable in any case",
        BY_SIZE + SORTED.format(how="dim=-1, descending=True, stable=False"): "on the CPU torch's sort is stable",
        f"{PUT_BACK.format(into='torch.zeros_like(p)')}  ->  {PUT_BACK.format(into='p')}": "every entry is overwritten",
    },
)


def apart() -> tuple[Tensor, float, int, float]:
    """Logits in random order whose probabilities lie so far apart that no rounding moves a cut."""
    order = torch.stack([permutation(7, seed=f"row {i}") for i in range(6)]).view(2, 3, 7)
    noise = normal(2, 3, 7, seed="noise", std=0.03)
    return -1.1 * order + noise, 1.25, 5, 0.7


def chosen_by(sampling_probabilities: Any, logits: Tensor, settings: Sequence[tuple[float, Any, Any]]) -> Seen:
    return {
        f"p at setting {i}": sampling_probabilities(logits.clone(), temperature, top_k, top_p)
        for i, (temperature, top_k, top_p) in enumerate(settings)
    }


@exercise.probe
def by_temperature(sampling_probabilities: Any) -> Seen:
    """a temperature below 1, and one above"""
    logits = normal(2, 3, 5, seed="warm", std=2.0)
    cold, hot = number(0.4, 0.8, seed="cold"), number(1.3, 2.5, seed="hot")
    return {
        "cold": sampling_probabilities(logits.clone(), cold),
        "hot": sampling_probabilities(logits.clone(), temperature=hot),
        "as it is": sampling_probabilities(logits.clone()),
    }


@exercise.probe
def the_largest_few(sampling_probabilities: Any) -> Seen:
    """top_k alone, and more than there are"""
    logits = normal(3, 8, seed="few", std=2.0)
    return {
        "some": sampling_probabilities(logits.clone(), top_k=whole(2, 7, seed="k")),
        "one": sampling_probabilities(logits.clone(), top_k=1),
        "more than there are": sampling_probabilities(logits.clone(), top_k=whole(9, 30, seed="large k")),
    }


@exercise.probe
def most_of_the_probability(sampling_probabilities: Any) -> Seen:
    """top_p alone, from 0 to 1"""
    logits = normal(4, 9, seed="most", std=1.5)
    some, more = number(0.2, 0.5, seed="some"), number(0.6, 0.95, seed="more")
    return chosen_by(sampling_probabilities, logits, [(1.0, None, p) for p in (0.0, some, more, 1.0)])


@exercise.probe
def all_three(sampling_probabilities: Any) -> Seen:
    """temperature, top_k and top_p together"""
    logits = normal(2, 6, 12, seed="all", std=1.5)
    warm, k = number(1.2, 2.0, seed="warm"), whole(3, 7, seed="all k")
    settings = [(t, k + i, number(0.3, 0.9, seed=f"p {t > 1} {i}")) for t in (0.6, warm) for i in range(3)]
    return chosen_by(sampling_probabilities, logits, settings)


@exercise.probe
def equally_likely_at_the_edge(sampling_probabilities: Any) -> Seen:
    """small whole numbers as logits, so that equals stand at the edge of top_k"""
    logits = integers(0, 3, 6, 9, seed="small").float()
    return chosen_by(sampling_probabilities, logits, [(t, k, None) for t in (1.0, 0.5) for k in (2, 3, 5, 7)])


@exercise.probe
def exactly_at_the_bound(sampling_probabilities: Any) -> Seen:
    """eight equally likely tokens among impossible ones, and totals that equal top_p exactly"""
    logits = torch.full((4, 13), -torch.inf)
    for row in logits:
        row[permutation(13, seed="possible")[:8]] = whole(-2, 3, seed="height") / 2
    logits = torch.stack([row[permutation(13, seed=f"exact {i}")] for i, row in enumerate(logits)])
    return chosen_by(
        sampling_probabilities, logits, [(1.0, None, 0.25), (2.0, None, 0.625), (1.0, 4, 0.5), (1.0, 4, 0.75)]
    )


@exercise.probe
def without_chance(sampling_probabilities: Any) -> Seen:
    """temperature 0: the largest logit, equals among them, whatever top_k and top_p say"""
    logits = integers(0, 4, 5, 7, seed="cold").float()
    logits[0, permutation(7, seed="equals")[:3]] = 4.0
    return chosen_by(sampling_probabilities, logits, [(0.0, None, None), (0, 3, None), (0.0, None, 0.9), (0.0, 4, 0.0)])


@exercise.probe
def some_never(sampling_probabilities: Any) -> Seen:
    """logits of -inf beside finite ones, one row without a batch, a vocabulary of one"""
    logits = normal(8, seed="never", std=2.0)
    logits[permutation(8, seed="which never")[:3]] = -torch.inf
    settings = [(0.7, None, None), (1.0, 6, None), (1.5, None, 0.9), (0.0, None, None), (1.0, 4, 0.6)]
    alone = sampling_probabilities(normal(2, 1, seed="alone"), 0.8, 3, 0.5)
    return chosen_by(sampling_probabilities, logits, settings) | {"of one": alone}


usual(exercise, apart, without=("gradients",))


def one_hot_of_the_first(logits: Tensor) -> Tensor:
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


def divided(logits: Tensor, temperature: float) -> Tensor:
    return logits / temperature


def smaller_id_first(scores: Tensor) -> tuple[Tensor, Tensor]:
    ranked, order = scores.sort(dim=-1, descending=True, stable=True)
    return ranked, order


def first_k(ranked: Tensor, top_k: int) -> Tensor:
    rank = torch.arange(ranked.shape[-1], device=ranked.device)
    return ranked.masked_fill(rank >= top_k, -torch.inf)


def before_the_bound(p: Tensor, top_p: float) -> Tensor:
    kept = p.cumsum(-1) - p < top_p
    kept[..., 0] = True
    return kept


def to_sum_1(p: Tensor) -> Tensor:
    return p / p.sum(-1, keepdim=True)


def to_their_ids(p: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(p).scatter(-1, order, p)


@exercise.assembled
def sampled_in_steps(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    *,
    freeze: Any = one_hot_of_the_first,
    warm: Any = divided,
    rank: Any = smaller_id_first,
    keep_k: Any = first_k,
    keep_p: Any = before_the_bound,
    share: Any = to_sum_1,
    place: Any = to_their_ids,
) -> Tensor:
    if temperature == 0 and freeze is not None:
        return freeze(logits)
    ranked, order = rank(warm(logits, temperature))
    if top_k is not None:
        ranked = keep_k(ranked, top_k)
    p = ranked.softmax(-1)
    if top_p is not None:
        p = share(p.masked_fill(~keep_p(p, top_p), 0))
    return place(p, order)


@exercise.instead_of("freeze")
def equals_share(logits: Tensor) -> Tensor:
    """At temperature 0 your equally large logits share the probability.

    That is the limit of ever lower temperatures. Here 0 means "no chance at all": the smallest id of them has it all.
    """
    best = (logits == logits.amax(-1, keepdim=True)).to(logits.dtype)
    return best / best.sum(-1, keepdim=True)


@exercise.instead_of("freeze")
def last_of_equals(logits: Tensor) -> Tensor:
    """At temperature 0 you take the largest id of equals.

    Ties go to the smaller id, as in every other cut.
    """
    best = logits.shape[-1] - 1 - logits.flip(-1).argmax(-1)
    return F.one_hot(best, logits.shape[-1]).to(logits.dtype)


@exercise.instead_of("warm")
def multiplied(logits: Tensor, temperature: float) -> Tensor:
    """You multiply by the temperature.

    Then a high temperature makes the model more certain. Divide: heat melts differences down.
    """
    return logits * temperature


@exercise.instead_of("warm")
def temperature_unused(logits: Tensor, temperature: float) -> Tensor:
    """You do not use the temperature.

    It says how much of the differences between logits is left.
    """
    return logits


@exercise.instead_of("rank")
def larger_id_first(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Of equally likely tokens you keep the larger ids.

    Sorting in ascending order and turning round does so. Ties go to the smaller id, so that a cut does not depend on
    how somebody sorts.
    """
    ranked, order = scores.flip(-1).sort(dim=-1, descending=True, stable=True)
    return ranked, scores.shape[-1] - 1 - order


@exercise.instead_of("keep_k")
def equals_of_the_last_stay(ranked: Tensor, top_k: int) -> Tensor:
    """You keep every token that equals the last of the top_k, so more than top_k may stay.

    Comparing with the k-th largest value can't tell equals apart. Much public code compares so, Hugging Face's among
    it; here exactly top_k stay, of equals the smaller ids.
    """
    last = ranked[..., min(top_k, ranked.shape[-1]) - 1, None]
    return ranked.masked_fill(ranked < last, -torch.inf)


@exercise.instead_of("keep_k")
def the_smallest_few(ranked: Tensor, top_k: int) -> Tensor:
    """You keep the top_k *smallest* logits.

    The likeliest ones should stay: sort from the largest on.
    """
    return first_k(ranked.flip(-1), top_k).flip(-1)


@exercise.instead_of("keep_k")
def one_more_than_k(ranked: Tensor, top_k: int) -> Tensor:
    """You keep one token more than top_k.

    Counted from 0 the last that stays has the rank top_k - 1.
    """
    return first_k(ranked, top_k + 1)


@exercise.instead_of("keep_k")
def logits_of_zero(ranked: Tensor, top_k: int) -> Tensor:
    """You set the logits of what is cut to 0.

    A logit of 0 is no small one: its power is 1. Which logit has the probability 0?
    """
    rank = torch.arange(ranked.shape[-1], device=ranked.device)
    return ranked.masked_fill(rank >= top_k, 0.0)


@exercise.instead_of("keep_p")
def crossing_dropped(p: Tensor, top_p: float) -> Tensor:
    """You drop the token with which the total crosses top_p.

    What is kept should reach top_p. Look at the total *before* a token.
    """
    kept = p.cumsum(-1) <= top_p
    kept[..., 0] = True
    return kept


@exercise.instead_of("keep_p")
def one_more_at_the_bound(p: Tensor, top_p: float) -> Tensor:
    """Where the total is exactly top_p you keep one more token.

    Then top_p is reached already. A token stays if the total before it is *less* than top_p.
    """
    kept = p.cumsum(-1) - p <= top_p
    kept[..., 0] = True
    return kept


@exercise.instead_of("keep_p")
def nothing_kept_at_zero(p: Tensor, top_p: float) -> Tensor:
    """For top_p = 0 you keep nothing at all, and 0/0 follows.

    The likeliest token stays in any case.
    """
    return p.cumsum(-1) - p < top_p


@exercise.instead_of("keep_p")
def each_by_itself(p: Tensor, top_p: float) -> Tensor:
    """You compare every single probability with top_p.

    top_p is about the total of the likeliest ones, not about each of them.
    """
    kept = p >= top_p
    kept[..., 0] = True
    return kept


@exercise.instead_of("share")
def left_below_one(p: Tensor) -> Tensor:
    """After top_p your probabilities do not sum to 1.

    What was cut is missing. Divide by what is left.
    """
    return p


@exercise.instead_of("place")
def in_the_order_of_size(p: Tensor, order: Tensor) -> Tensor:
    """Your probabilities are in the order of their size: the first is the largest, whichever token it belongs to.

    After sorting they must go back to their ids.
    """
    return p


@exercise.misconception
def divided_by_zero(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """At temperature 0 you divide by 0, and what comes out is no probability.

    0 is a case of its own: all probability goes to the largest logit.
    """
    return sampled_in_steps(logits, temperature, top_k, top_p, freeze=None)


@exercise.misconception
def top_p_first(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """You cut to top_p by the probabilities before top_k.

    After top_k the softmax is taken anew, among the kept tokens only, and their probabilities are larger. top_p is
    measured by these.
    """
    p = sampling_probabilities(logits, temperature, None, top_p)
    if top_k is None or temperature == 0:
        return p
    ranked, order = smaller_id_first(p)
    rank = torch.arange(p.shape[-1], device=p.device)
    return to_their_ids(to_sum_1(ranked.masked_fill(rank >= top_k, 0)), order)


@exercise.misconception
def almost_zero(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """For temperature 0 you divide by a tiny number instead.

    Then equally large logits share the probability. 0 means "no chance at all": the smallest id of them has it all.
    """
    return sampling_probabilities(logits, max(temperature, 1e-6), top_k, top_p)


@exercise.misconception
def logarithms_returned(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """You return logarithms of probabilities.

    `torch.multinomial` draws from probabilities, and those are asked for.
    """
    if temperature == 0:
        return sampling_probabilities(logits, temperature, top_k, top_p)
    return sampling_probabilities(logits, temperature, top_k, top_p).log()


@exercise.misconception
def one_cut_only(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """If top_k is given you do not use top_p.

    The two may be used together: first top_k, then top_p among what is left.
    """
    return sampling_probabilities(logits, temperature, top_k, top_p if top_k is None else None)


@exercise.misconception
def warmed_after_the_cuts(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """You use the temperature after the cuts.

    top_p then looks at probabilities that nobody draws from. The temperature comes first.
    """
    if temperature == 0:
        return one_hot_of_the_first(logits)
    kept = sampling_probabilities(logits, 1.0, top_k, top_p) > 0
    return (logits / temperature).masked_fill(~kept, -torch.inf).softmax(-1)


squeezes(exercise)
unpacks(exercise, "logits", "batch", "vocab")
ignores(exercise, "temperature")
ignores(exercise, "top_k")
ignores(exercise, "top_p")
