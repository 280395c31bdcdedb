"""The exercise `greedy_decode`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, permutation, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.exercises.transformer.shared import Step, drawn_task, speaker
from qkv.model.transformer import greedy_decode

exercise = Exercise(
    greedy_decode,
    section="Greedy decoding",
    minutes=15,
    difficulty=2,
    why="A model gives probabilities; somebody has to say a word. This is the simplest way.",
    hints=[
        "The prefix starts with bos and grows by one token a step. What is asked in each step?",
        "Two reasons to stop: eos was said, or the answer is long enough.",
        "The answer leaves bos out and keeps eos.",
    ],
)


@exercise.probe
def until_the_end(greedy_decode: Any) -> Seen:
    """models that end after a few tokens"""
    found: Seen = {}
    for name, patience in zip("abc", distinct(3, 9, 3, seed="patience"), strict=True):
        vocab, bos, eos = drawn_task(name)
        model = speaker(name, vocab, eos, patience=patience)
        found[f"ids, eos after {patience}"] = list(greedy_decode(model, bos, eos, 20))
    return found


@exercise.probe
def cut_off(greedy_decode: Any) -> Seen:
    """models that would go on for ever, cut off after one token and after several; one of them says bos itself"""
    found: Seen = {}
    for limit in (1, *distinct(4, 12, 2, seed="limits")):
        vocab, bos, eos = drawn_task(f"cut {limit}")
        found[f"ids, at most {limit}"] = list(greedy_decode(speaker(f"b {limit}", vocab, eos), bos, eos, limit))
    bos, other, eos = distinct(0, 7, 3, seed="ids of one that says bos")

    def says_bos(prefix: list[int]) -> Tensor:
        row = torch.full((7,), -5.0)
        row[bos if len(prefix) % 2 else other] = -0.5
        return row

    return found | {"ids, with bos among them": list(greedy_decode(says_bos, bos, eos, whole(3, 8, seed="limit")))}


@exercise.probe
def ended_at_the_limit(greedy_decode: Any) -> Seen:
    """a model that ends exactly at the limit, one that ends at once, and one that knows no other word"""
    vocab, bos, eos = drawn_task("limit")
    limit = whole(4, 9, seed="limit")
    return {
        "at the limit": list(greedy_decode(speaker("c", vocab, eos, patience=limit - 1), bos, eos, limit)),
        "at once": list(greedy_decode(speaker("d", vocab, eos, patience=0), bos, eos, limit)),
        "no other word": list(greedy_decode(lambda prefix: torch.zeros(1), 1, 0, limit)),
    }


@exercise.probe
def equally_likely(greedy_decode: Any) -> Seen:
    """tokens that are equally likely"""
    order = permutation(9, seed="order").tolist()  # who ties at first, who ties later, who never comes
    rows = [torch.full((9,), -9.0) for _ in range(2)]
    rows[0][order[:3]], rows[1][order[2:6]] = -1.5, -1.75

    def undecided(prefix: list[int]) -> Tensor:
        return rows[len(prefix) // 3 % 2].clone()

    return {"ids": list(greedy_decode(undecided, order[7], order[8], 6))}


@exercise.probe
def what_it_asks(greedy_decode: Any) -> Seen:
    """the prefixes that the model is asked about"""
    asked: list[list[int]] = []
    vocab, bos, eos = drawn_task("asks")
    model = speaker("e", vocab, eos, patience=whole(3, 7, seed="patience"))

    def step(prefix: list[int]) -> Tensor:
        if list(prefix) not in asked[-1:]:  # asking the same twice is a waste, not a mistake
            asked.append(list(prefix))
        return model(list(prefix))

    greedy_decode(step, bos, eos, 8)
    return {"asked": [entry for prefix in asked for entry in (len(prefix), *prefix)]}


exercise.property(repeats(until_the_end, cut_off))


@exercise.assembled
def decode_in_steps(
    step: Step,
    bos: int,
    eos: int,
    max_length: int,
    *,
    limit: Any = lambda max_length: max_length,
    ask: Any = lambda bos, ids: [bos, *ids],
    choose: Any = lambda log_p: int(log_p.argmax()),
    ends: Any = lambda token, eos: token == eos,
    answer: Any = lambda bos, ids, eos: ids,
) -> list[int]:
    ids: list[int] = []
    while len(ids) < limit(max_length):
        ids.append(choose(step(ask(bos, ids))))
        if ends(ids[-1], eos):
            break
    return answer(bos, ids, eos)


@exercise.instead_of("answer")
def start_kept(bos: int, ids: list[int], eos: int) -> list[int]:
    """Your answer begins with bos.

    bos starts the machine; it is not part of what it says.
    """
    return [bos, *ids]


@exercise.instead_of("answer")
def end_dropped(bos: int, ids: list[int], eos: int) -> list[int]:
    """You leave eos out of the answer.

    Here it is kept: it tells an answer that ended from one that was cut off.
    """
    return [token for token in ids if token != eos]


@exercise.instead_of("answer")
def only_the_last_said(bos: int, ids: list[int], eos: int) -> list[int]:
    """You return the last token alone.

    The answer is all that was said after bos, in order.
    """
    return ids[-1:]


@exercise.instead_of("ends")
def never_stops(token: int, eos: int) -> bool:
    """You go on after eos.

    What a model says after its end means nothing.
    """
    return False


@exercise.instead_of("limit")
def one_too_short(max_length: int) -> int:
    """Your answer is cut off one token before the limit.

    max_length counts what is said. bos is not said, so it does not count.
    """
    return max_length - 1


@exercise.instead_of("limit")
def one_too_long(max_length: int) -> int:
    """Your answer may be one token longer than allowed.

    Check the length before you ask for another token.
    """
    return max_length + 1


@exercise.instead_of("choose")
def largest_id_of_equals(log_p: Tensor) -> int:
    """Of equally likely tokens you take the largest id.

    Ties go to the smallest id, so that an answer does not depend on the machine.
    """
    return len(log_p) - 1 - int(log_p.flip(0).argmax())


@exercise.instead_of("choose")
def least_likely(log_p: Tensor) -> int:
    """You say the least likely token.

    Log-probabilities are negative; the likeliest is the one nearest to 0, the largest.
    """
    return int(log_p.argmin())


@exercise.instead_of("ask")
def last_token_only(bos: int, ids: list[int]) -> list[int]:
    """You ask the model about the last token alone.

    The prefix is all that has been said, from bos on.
    """
    return ids[-1:] or [bos]


@exercise.instead_of("ask")
def start_left_out_of_the_prefix(bos: int, ids: list[int]) -> list[int]:
    """After the first token you ask the model without bos.

    It was trained on prefixes that begin with bos; without it, every token stands one position too early.
    """
    return list(ids) or [bos]
