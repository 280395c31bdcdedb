"""The exercise `beam_search`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import normal, number, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.exercises.transformer.shared import Step, drawn_task, speaker
from qkv.model.transformer import beam_search

exercise = Exercise(
    beam_search,
    section="Beam search",
    minutes=30,
    difficulty=3,
    why="Keeping a few prefixes finds likelier sentences, which are not always better ones.",
    points=2.0,
    hints=[
        "A hypothesis is a list of ids and a sum. One step: extend each by every token, keep the best.",
        "Which of the kept ones are complete? They leave the beam and wait; the others are extended in the next step.",
        "The width is chosen by the plain sums. Only the last choice, among complete hypotheses, uses the length.",
    ],
    equivalents={
        "beam: list[tuple[list[int], float]] = [([], 0.0)]  ->  beam: list[tuple[float, list[int]]] = [([], 0.0)]": (
            "an annotation"
        ),
        "for token, log_p in enumerate(step([bos, *ids]).tolist()):  ->  "
        "for token, log_p in enumerate(step([bos, *ids])):": "tensors without dimensions add up as numbers do",
    },
)


def searched(result: Any) -> Seen:
    ids, score = result
    return {"ids": list(ids), "score": torch.tensor(float(score), dtype=torch.float32)}  # sums in float32 are welcome


def talkative(name: str, vocab: int, eos: int, liking: float = 0.7) -> Step:
    """A model for which long and short answers are about equally likely, so that the length decides."""

    rows = [normal(vocab, seed=f"{name} {i}") for i in range(13)]

    def step(prefix: list[int]) -> Tensor:
        logits = rows[sum((i + 2) * token for i, token in enumerate(prefix)) % 13].clone()
        logits[eos] = logits[eos] + liking
        return logits.log_softmax(-1)

    return step


def labelled(result: Any, label: str) -> Seen:
    return {f"{name} {label}": value for name, value in searched(result).items()}


@exercise.probe
def three_wide(beam_search: Any) -> Seen:
    """width 3, six tokens at most, models that never end"""
    found: Seen = {}
    for name in "ab":
        vocab, bos, eos = drawn_task(f"three {name}")
        found |= labelled(beam_search(speaker(name, vocab, eos), bos, eos, 6, 3), f"of model {name}")
    return found


@exercise.probe
def one_wide(beam_search: Any) -> Seen:
    """width 1, and an answer that ends before the limit"""
    vocab, bos, eos = drawn_task("one")
    patience = whole(2, 6, seed="patience")
    return searched(beam_search(speaker("b", vocab, eos, patience=patience), bos, eos, 8, 1))


@exercise.probe
def wider_than_the_vocabulary(beam_search: Any) -> Seen:
    """widths far above the vocabulary, of which one has a single word"""
    vocab, bos, eos = drawn_task("narrow", 4, 6)
    wide = labelled(beam_search(talkative("c", vocab, eos), bos, eos, 4, 20, 1.0), "at width 20")
    single = beam_search(lambda prefix: torch.full((1,), -0.25), 1, 0, 3, 5)
    return {**wide, **labelled(single, "of a single word")}


@exercise.probe
def with_a_length_penalty(beam_search: Any) -> Seen:
    """several answers of different lengths, penalties 0, 2 and one between"""
    vocab, bos, eos = drawn_task("penalty")
    found: Seen = {}
    for penalty in (0.0, number(0.5, 0.9, seed="penalty"), 2.0):
        result = beam_search(talkative("d", vocab, eos), bos, eos, 7, 4, length_penalty=penalty)
        found |= labelled(result, f"at penalty {penalty:.2f}")
    return found


@exercise.probe
def cut_off_beams(beam_search: Any) -> Seen:
    """hypotheses that never end, cut off after one token and after four"""
    vocab, bos, eos = drawn_task("cut")
    found: Seen = {}
    for limit in (1, 4):
        result = beam_search(speaker("e", vocab, eos), bos, eos, limit, 3, 1.0)
        found |= labelled(result, f"after {limit}")
    return found


def noisy(name: str, rows: dict[tuple[int, ...], list[float]]) -> Step:
    """A model from a table of what follows each answer so far; every number is a little off."""
    known = {said: torch.tensor(row) + normal(4, seed=f"{name} {said}", std=0.01) for said, row in rows.items()}
    rest = torch.tensor([-3.0, -3.5, -4.0, -4.5]) + normal(4, seed=f"{name} rest", std=0.01)

    def step(prefix: list[int]) -> Tensor:
        return known.get(tuple(prefix[1:]), rest).clone()

    return step


@exercise.probe
def a_garden_path(beam_search: Any) -> Seen:
    """a model whose likeliest first token leads nowhere, widths 1 and 2"""
    step = noisy("path", {(): [-9.0, -9.0, -0.6, -0.9], (2,): [-2.0, -3.0, -2.2, -2.1], (3,): [-0.1, -4.0, -4.0, -4.0]})
    found: Seen = {}
    for width in (1, 2):
        found |= labelled(beam_search(step, 1, 0, 3, width), f"at width {width}")
    return found


@exercise.probe
def an_early_end(beam_search: Any) -> Seen:
    """width 2, an answer of eos alone takes one of the two places, penalty 2"""
    step = noisy("end", {(): [-0.5, -9.0, -0.6, -1.5], (3,): [-0.01, -6.0, -6.0, -6.0]})
    return searched(beam_search(step, 1, 0, 2, 2, 2.0))


@exercise.probe
def a_place_for_the_finished(beam_search: Any) -> Seen:
    """width 2, where an answer of eos alone is better than what has to be followed, penalty 2"""
    rows = {
        (): [-0.5, -9.0, -0.6, -5.0],
        (2,): [-9.0, -9.0, -0.1, -0.3],
        (2, 2): [-5.0, -5.5, -6.0, -6.5],
        (2, 3): [-0.02, -6.0, -6.0, -6.0],
    }
    return searched(beam_search(noisy("place", rows), 1, 0, 3, 2, 2.0))


@exercise.probe
def an_unlikely_end(beam_search: Any) -> Seen:
    """widths 1 and 2, where an answer of eos alone is worse than all that are followed after it"""
    rows = {
        (): [-0.9, -9.0, -0.1, -5.0],
        (2,): [-9.0, -9.0, -0.1, -0.2],
        (2, 2): [-5.0, -5.5, -6.0, -6.5],
        (2, 3): [-0.02, -6.0, -6.0, -6.0],
    }
    found: Seen = {}
    for width in (1, 2):
        found |= labelled(beam_search(noisy("unlikely", rows), 1, 0, 3, width), f"at width {width}")
    return found


@exercise.probe
def a_late_bloomer(beam_search: Any) -> Seen:
    """a model whose third-best beginning leads to the best answer, widths 2 and 3"""
    rows = {
        (): [-9.0, -9.0, -0.5, -1.0],
        (2,): [-9.0, -9.0, -0.7, -0.8],
        (3,): [-9.0, -9.0, -1.5, -1.6],
        (3, 2): [-0.1, -4.0, -4.0, -4.0],
    }
    found: Seen = {}
    for width in (2, 3):
        found |= labelled(beam_search(noisy("bloom", rows), 1, 0, 3, width), f"at width {width}")
    return found


@exercise.probe
def many_models(beam_search: Any) -> Seen:
    """eight models, each with its own width, penalty, limit and liking for the end"""
    found: Seen = {}
    for i in range(8):
        vocab, bos, eos = drawn_task(f"many {i}", 4, 7)
        width, limit = whole(2, 6, seed=f"width {i}"), whole(3, 7, seed=f"limit {i}")
        penalty, liking = number(0.0, 2.0, seed=f"penalty {i}"), number(-1.5, 1.5, seed=f"liking {i}")
        result = beam_search(talkative(f"m{i}", vocab, eos, liking), bos, eos, limit, width, penalty)
        found |= labelled(result, f"of model {i}")
    return found


exercise.property(repeats(three_wide, one_wide))


Beam = list[tuple[list[int], float]]


def keep_best(extended: Beam, width: int, eos: int, penalty: float) -> Beam:
    return sorted(extended, key=lambda h: h[1], reverse=True)[:width]


def plain_extension(step: Step, bos: int, ids: list[int], total: float) -> Beam:
    log_p = step([bos, *ids]).tolist()
    return [([*ids, token], total + p) for token, p in enumerate(log_p)]


def normalised(ids: list[int], total: float, penalty: float) -> float:
    return total / len(ids) ** penalty


def everything(complete: Beam, beam: Beam) -> Beam:
    return complete + beam


@exercise.assembled
def search_in_steps(
    step: Step,
    bos: int,
    eos: int,
    max_length: int,
    width: int,
    length_penalty: float = 0.0,
    *,
    extend: Any = plain_extension,
    keep: Any = keep_best,
    score: Any = normalised,
    candidates: Any = everything,
) -> tuple[list[int], float]:
    beam: Beam = [([], 0.0)]
    complete: Beam = []
    for _ in range(max_length):
        extended = [h for ids, total in beam for h in extend(step, bos, ids, total)]
        kept = keep(extended, width, eos, length_penalty)
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(candidates(complete, beam), key=lambda h: score(*h, length_penalty))
    return ids, score(ids, total, length_penalty)


@exercise.instead_of("keep")
def places_refilled(extended: Beam, width: int, eos: int, penalty: float) -> Beam:
    """You refill the places of completed hypotheses in the same step.

    A hypothesis that ends takes its place with it: the `width` best are kept, complete ones included.
    """
    ranked = sorted(extended, key=lambda h: h[1], reverse=True)
    unfinished = [h for h in ranked if h[0][-1] != eos][:width]
    worst = min((h[1] for h in unfinished), default=-math.inf)
    return unfinished + [h for h in ranked if h[0][-1] == eos and h[1] >= worst][:width]


@exercise.instead_of("keep")
def least_likely_kept(extended: Beam, width: int, eos: int, penalty: float) -> Beam:
    """You keep the least likely extensions: your list is sorted from the smallest sum up.

    Log-probabilities are negative; the best is the one nearest to 0, the largest.
    """
    return sorted(extended, key=lambda h: h[1])[:width]


@exercise.instead_of("score")
def penalty_ignored(ids: list[int], total: float, penalty: float) -> float:
    """You do not use the length penalty.

    Sums of log-probabilities favour short answers; dividing by a power of the length makes up for it.
    """
    return total


@exercise.instead_of("score")
def end_not_counted(ids: list[int], total: float, penalty: float) -> float:
    """You count one token less than the answer has.

    eos is part of the answer, and its log-probability of the sum.
    """
    return total / max(len(ids) - 1, 1) ** penalty


@exercise.instead_of("score")
def start_counted(ids: list[int], total: float, penalty: float) -> float:
    """You count bos as part of the answer's length.

    bos was given, not said: the length is that of the ids you return.
    """
    return total / (len(ids) + 1) ** penalty


@exercise.instead_of("score")
def penalty_of_another_paper(ids: list[int], total: float, penalty: float) -> float:
    """You divide by a power of (5 + length) / 6.

    That is the penalty of Google's translation system of 2016, and many libraries have it. Here it is a power of the
    length itself.
    """
    return total / ((5 + len(ids)) / 6) ** penalty


@exercise.instead_of("candidates")
def first_complete_wins(complete: Beam, beam: Beam) -> Beam:
    """You return the first hypothesis that was completed.

    A later one may have the better score: collect them all, choose at the end.
    """
    return complete[:1] or beam


@exercise.instead_of("candidates")
def unfinished_dropped(complete: Beam, beam: Beam) -> Beam:
    """You drop what is unfinished at max_length although it scores best.

    At the limit the unfinished hypotheses count as complete.
    """
    return complete or beam


@exercise.instead_of("extend")
def probabilities_added(step: Step, bos: int, ids: list[int], total: float) -> Beam:
    """You add probabilities instead of their logarithms.

    Probabilities of steps multiply; their logarithms add.
    """
    return [([*ids, token], total + math.exp(p)) for token, p in enumerate(step([bos, *ids]).tolist())]


@exercise.misconception
def greedy_in_disguise(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You follow one hypothesis only, whatever the width.

    Then a good answer that starts with the second-best token is never found.
    """
    return beam_search(step, bos, eos, max_length, 1, length_penalty)


@exercise.misconception
def width_for_each(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You keep the `width` best extensions of each hypothesis, so your beam widens from step to step.

    All extensions compete for the same `width` places; otherwise the work doubles, or worse, with every token.
    """
    beam: Beam = [([], 0.0)]
    complete: Beam = []
    for _ in range(max_length):
        kept = [h for ids, total in beam for h in keep_best(plain_extension(step, bos, ids, total), width, eos, 0.0)]
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(complete + beam, key=lambda h: normalised(h[0], h[1], length_penalty))
    return ids, normalised(ids, total, length_penalty)


@exercise.misconception
def chosen_by_the_sum(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You choose the answer by its summed log-probability, and divide by the length only afterwards.

    The penalty is there to decide which answer is returned: choose by the score.
    """
    ids, total = beam_search(step, bos, eos, max_length, width)
    return ids, normalised(ids, total, length_penalty)


@exercise.misconception
def goes_on_after_the_end(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You extend hypotheses that have ended.

    What a model says after eos means nothing, and its log-probabilities only make the answer worse.
    """
    return beam_search(step, bos, -1, max_length, width, length_penalty)


@exercise.misconception
def start_returned(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """Your answer begins with bos.

    bos starts the machine; it is not part of what it says.
    """
    ids, score = beam_search(step, bos, eos, max_length, width, length_penalty)
    return [bos, *ids], score


@exercise.misconception
def sum_returned(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You choose by the score, but return the plain sum.

    The score that you return should be the one that was compared: divided by the length's power.
    """
    ids, score = beam_search(step, bos, eos, max_length, width, length_penalty)
    return ids, score * len(ids) ** length_penalty


def searched_otherwise(
    step: Step, bos: int, eos: int, max_length: int, width: int, penalty: float, enough: Any
) -> tuple[list[int], float]:
    """The search with a reason to stop before max_length: `enough` of the complete ones."""
    beam: Beam = [([], 0.0)]
    complete: Beam = []
    for _ in range(max_length):
        kept = keep_best([h for ids, total in beam for h in plain_extension(step, bos, ids, total)], width, eos, 0.0)
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
        if enough(complete):
            beam = []
            break
    ids, total = max(complete + beam, key=lambda h: normalised(h[0], h[1], penalty))
    return ids, normalised(ids, total, penalty)


@exercise.misconception
def stopped_when_enough_are_complete(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You stop as soon as `width` hypotheses are complete.

    Many libraries do so to save time. Here those that are still unfinished go on until max_length.
    """
    return searched_otherwise(
        step, bos, eos, max_length, width, length_penalty, lambda complete: len(complete) >= width
    )


@exercise.misconception
def finished_stay_in_the_beam(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """Your complete hypotheses stay in the beam and compete with longer ones for its places.

    Then a complete one can be pushed out and is lost, or takes a place for ever. Here it leaves the beam and waits.
    """
    beam: Beam = [([], 0.0)]
    for _ in range(max_length):
        done = [h for h in beam if h[0] and h[0][-1] == eos]
        grown = [h for h in beam if not h[0] or h[0][-1] != eos]
        extended = [h for ids, total in grown for h in plain_extension(step, bos, ids, total)]
        beam = keep_best(done + extended, width, eos, 0.0)
    ids, total = max(beam, key=lambda h: normalised(h[0], h[1], length_penalty))
    return ids, normalised(ids, total, length_penalty)


@exercise.misconception
def places_lost_for_good(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """Your beam loses a place for good with every hypothesis that ends.

    The place is not refilled in that step. In the next one, all extensions compete for `width` places again.
    """
    beam: Beam = [([], 0.0)]
    complete: Beam = []
    for _ in range(max_length):
        extended = [h for ids, total in beam for h in plain_extension(step, bos, ids, total)]
        kept = keep_best(extended, max(width - len(complete), 0), eos, 0.0)
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(complete + beam, key=lambda h: normalised(h[0], h[1], length_penalty))
    return ids, normalised(ids, total, length_penalty)


@exercise.misconception
def multiplied_by_the_length(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You multiply by the power of the length where you should divide.

    Sums of log-probabilities are negative: multiplied, long answers become worse still. Dividing makes up for them.
    """
    return beam_search(step, bos, eos, max_length, width, -length_penalty)
