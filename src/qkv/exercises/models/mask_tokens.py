"""The exercise `mask_tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, generator, integers, number, whole
from proctor.inside.properties import keeps_inputs
from proctor.inside.situations import Seen
from qkv.model.models import (
    mask_tokens,
)

RAND = "torch.rand(shape, generator=generator, device=device).to(ids.device)"


RANDINT = "torch.randint(vocab, shape, generator=generator, device=device).to(ids.device)"


NEVER = "never = torch.tensor(special, dtype=torch.int64, device=ids.device)"


DRAWS = {"a": RAND, "b": RAND, "c": RANDINT}


MOVED = {f"{name} = {call}  ->  {name} = {call.removesuffix('.to(ids.device)')}" for name, call in DRAWS.items()}


PLACED = {f"{name} = {call}  ->  {name} = {call.replace(', device=device', '')}" for name, call in DRAWS.items()}


exercise = Exercise(
    mask_tokens,
    section="BERT: guess what is hidden",
    minutes=10,
    difficulty=2,
    why="A token that stays has to be predicted as well, or the model need not understand what it can see.",
    hints=[
        "First the three draws, always all of them and in their order. Then everything is a matter of comparing.",
        "Two questions for every token: is it chosen (a, p, special)? And if so, what becomes of it (b)?",
        "`torch.isin(ids, …)` says which ids are special, also for an empty list of int64.",
        "A token that is chosen but stays has a target all the same: the model can't know which ones those are.",
    ],
    equivalents={
        **dict.fromkeys(sorted(MOVED | PLACED), "the generator and the ids are on the CPU here"),
        f"{NEVER}  ->  {NEVER.replace(', device=ids.device', '')}": "on the CPU",
        f"{NEVER}  ->  {NEVER.replace('dtype=torch.int64, ', '')}": "isin compares an empty float list too",
        **{
            f"inputs = torch.where(chosen & (b < {bound}), {new})  ->  "
            f"inputs = torch.where(chosen & (b <= {bound}), {new})": "no draw equals the bound"
            for bound, new in {0.9: "c, ids", 0.8: "mask_id, inputs"}.items()
        },
    },
)


def some_text(*shape: int, seed: str) -> tuple[Tensor, int, int, list[int]]:
    """Ids, the mask's id, the vocabulary, and three special ids that occur."""
    vocab = whole(12, 20, seed=f"{seed}: vocab")
    special = distinct(0, vocab, 3, seed=f"{seed}: special")
    return integers(0, vocab, *shape, seed=f"{seed}: ids"), whole(20, 30, seed=f"{seed}: mask"), vocab, special


def hidden(result: Any) -> Seen:
    inputs, targets = result
    return {"inputs": inputs, "targets": targets}


@exercise.probe
def about_half(mask_tokens: Any) -> Seen:
    """eight sequences of thirty ids, about half of them chosen"""
    text = some_text(8, 30, seed="half")
    return hidden(mask_tokens(*text, generator("half"), number(0.4, 0.6, seed="p")))


@exercise.probe
def as_bert_does(mask_tokens: Any) -> Seen:
    """twenty sequences of forty ids, p = 0.15 by default"""
    return hidden(mask_tokens(*some_text(20, 40, seed="bert"), generator("bert")))


@exercise.probe
def all_and_none(mask_tokens: Any) -> Seen:
    """p = 1 and p = 0"""
    ids, mask_id, vocab, special = some_text(4, 25, seed="all")
    found = hidden(mask_tokens(ids.clone(), mask_id, vocab, special, generator("all"), 1.0))
    nothing = hidden(mask_tokens(ids.clone(), mask_id, vocab, special, generator("none"), p=0.0))
    return found | {f"{name} at p = 0": value for name, value in nothing.items()}


@exercise.probe
def nothing_special(mask_tokens: Any) -> Seen:
    """no special ids, and special ids in a tuple"""
    ids, mask_id, vocab, special = some_text(5, 17, seed="plain")
    found = hidden(mask_tokens(ids.clone(), mask_id, vocab, [], generator("plain"), 0.7))
    as_tuple = hidden(mask_tokens(ids.clone(), mask_id, vocab, tuple(special), generator("plain"), 0.7))
    return found | {f"{name} with a tuple": value for name, value in as_tuple.items()}


@exercise.probe
def other_shapes(mask_tokens: Any) -> Seen:
    """one sequence, three dimensions, sizes of 1"""
    found: Seen = {}
    for shape in ((40,), (3, 2, 9), (1, 1, 12)):
        result = hidden(mask_tokens(*some_text(*shape, seed=f"of {shape}"), generator(f"of {shape}"), 0.6))
        found |= {f"{name} {shape}": value for name, value in result.items()}
    return found


@exercise.probe
def exactly_p(mask_tokens: Any) -> Seen:
    """a draw that equals p"""
    text = some_text(3, 8, seed="exact")
    draws = torch.rand(3, 8, generator=generator("exact"))
    spared = torch.isin(text[0], torch.tensor(text[3]))
    p = float(draws.masked_fill(spared, -1).flatten().sort().values[-3])  # of an ordinary token
    return hidden(mask_tokens(*text, generator("exact"), p))


@exercise.probe
def what_the_generator_draws_next(mask_tokens: Any) -> Seen:
    """the generator after the call, with nothing chosen and with some"""
    found = {}
    for p in (0.0, number(0.2, 0.8, seed="next")):
        source = generator(f"next {p > 0}")
        mask_tokens(*some_text(3, 7, seed="next"), source, p)
        found[f"next draws, {'some' if p else 'none'} chosen"] = torch.rand(4, generator=source)
    return found


exercise.property(keeps_inputs(lambda: (*some_text(4, 11, seed="kept"), generator("kept"), 0.9)))


def three_draws(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    a, b = (torch.rand(ids.shape, generator=generator) for _ in range(2))
    return a, b, torch.randint(vocab, ids.shape, generator=generator)


def below_p(a: Tensor, p: float) -> Tensor:
    return a < p


def not_special(ids: Tensor, special: Sequence[int]) -> Tensor:
    return ~torch.isin(ids, torch.tensor(special, dtype=torch.int64))


def eighty_ten_ten(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    return torch.where(chosen, torch.where(b < 0.8, mask_id, torch.where(b < 0.9, c, ids)), ids)


def ids_where_chosen(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    return torch.where(chosen, ids, -100)


@exercise.assembled
def masked_in_steps(
    ids: Tensor,
    mask_id: int,
    vocab: int,
    special: Sequence[int],
    generator: torch.Generator,
    p: float = 0.15,
    *,
    draw: Any = three_draws,
    choose: Any = below_p,
    spare: Any = not_special,
    hide: Any = eighty_ten_ten,
    aim: Any = ids_where_chosen,
) -> tuple[Tensor, Tensor]:
    a, b, c = draw(ids, vocab, generator)
    chosen = choose(a, p) & spare(ids, special)
    inputs = hide(ids, chosen, b, c, mask_id)
    return inputs, aim(ids, inputs, chosen, b)


@exercise.instead_of("draw")
def one_draw_for_both(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """One draw decides both whether a token is chosen and what becomes of it.

    The chosen ones have small draws, so all of them become the mask. Two questions need two draws.
    """
    a = torch.rand(ids.shape, generator=generator)
    return a, a, torch.randint(vocab, ids.shape, generator=generator)


@exercise.instead_of("draw")
def random_tokens_drawn_first(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """You draw the random tokens before the two draws that decide.

    From a generator, the order of calls decides who gets which numbers; the docstring fixes it.
    """
    c = torch.randint(vocab, ids.shape, generator=generator)
    return torch.rand(ids.shape, generator=generator), torch.rand(ids.shape, generator=generator), c


@exercise.instead_of("draw")
def one_row_for_all(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """You draw one row and use it for every sequence.

    Then all sequences are hidden at the same places. Draw in the shape of the ids.
    """
    a, b, c = three_draws(ids[(0,) * (ids.dim() - 1)], vocab, generator)
    return a.expand(ids.shape), b.expand(ids.shape), c.expand(ids.shape)


@exercise.instead_of("draw")
def the_same_every_time(ids: Tensor, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """You do not draw from the generator that you are given, but from one of your own with a fixed seed.

    Then the same places are hidden every time, and the model never learns to say the others.
    """
    return three_draws(ids, vocab, torch.Generator().manual_seed(0))


@exercise.instead_of("choose")
def above_p(a: Tensor, p: float) -> Tensor:
    """You choose where the draw is above p.

    A draw is below p with probability p; above it, with 1 - p: you hide 85 % of the text.
    """
    return a > p


@exercise.instead_of("choose")
def always_fifteen_percent(a: Tensor, p: float) -> Tensor:
    """You choose 15 %, whatever p says.

    0.15 is the default; the caller may want more or less.
    """
    return a < 0.15


@exercise.instead_of("spare")
def special_ones_too(ids: Tensor, special: Sequence[int]) -> Tensor:
    """You choose special tokens too.

    Separators and padding carry the form of the input; there is nothing to learn from guessing them.
    """
    return torch.ones_like(ids, dtype=torch.bool)


@exercise.instead_of("spare")
def the_first_special_only(ids: Tensor, special: Sequence[int]) -> Tensor:
    """You spare the first of the special ids only.

    `special` is a list; none of its ids may be chosen.
    """
    return ~torch.isin(ids, torch.tensor(special[:1], dtype=torch.int64))


@exercise.instead_of("hide")
def all_hidden(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    """All chosen tokens become the mask.

    In use there is no mask, and the model would have learned to say something at masks only. 10 % random ones and 10 %
    unchanged ones keep it attentive everywhere.
    """
    return torch.where(chosen, mask_id, ids)


@exercise.instead_of("hide")
def none_stays(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    """Of the chosen tokens 20 % become random, and none stays as it is.

    Then a token that is seen is never the right answer where it was chosen. Between 0.8 and 0.9 a token becomes random;
    from 0.9 on it stays.
    """
    return torch.where(chosen, torch.where(b < 0.8, mask_id, c), ids)


@exercise.instead_of("hide")
def masks_overwritten(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    """You put random tokens wherever b is below 0.9, and so over the masks that you had put there.

    The three cases exclude each other: the mask below 0.8, a random token from 0.8 on, the token itself from 0.9 on.
    """
    return torch.where(chosen & (b < 0.9), c, ids)


@exercise.instead_of("hide")
def a_tenth_of_the_rest(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    """You make a tenth of those that did not become the mask random, 2 % of the chosen tokens.

    10 % of the chosen tokens are asked for, half of those that are left: b from 0.8 to 0.9.
    """
    return torch.where(chosen, torch.where(b < 0.8, mask_id, torch.where(b < 0.8 + 0.2 * 0.1, c, ids)), ids)


@exercise.instead_of("hide")
def random_and_unchanged_exchanged(ids: Tensor, chosen: Tensor, b: Tensor, c: Tensor, mask_id: int) -> Tensor:
    """You put random tokens where b is 0.9 or more, and leave the others from 0.8 on.

    Just as good in the end, but not what was agreed: random from 0.8 to 0.9, unchanged above.
    """
    return torch.where(chosen, torch.where(b < 0.8, mask_id, torch.where(b < 0.9, ids, c)), ids)


@exercise.instead_of("aim")
def zero_for_no_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Your targets are 0 where nothing is to be predicted.

    0 is a token. -100 is what torch's cross-entropy passes over.
    """
    return torch.where(chosen, ids, 0)


@exercise.instead_of("aim")
def minus_one_for_no_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Your targets are -1 where nothing is to be predicted.

    Some code marks it so, and tells the loss. -100 is what torch's cross-entropy passes over by itself.
    """
    return torch.where(chosen, ids, -1)


@exercise.instead_of("aim")
def everything_is_a_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Every token is a target, hidden or not.

    Saying what one sees is easy, and most of the loss would be about that.
    """
    return ids.clone()


@exercise.instead_of("aim")
def only_what_changed_is_a_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Chosen tokens that stay as they are have no target with you.

    They are there so that the model must have an opinion about tokens that look ordinary.
    """
    return torch.where(chosen & (b < 0.9), ids, -100)


@exercise.instead_of("aim")
def the_mask_is_the_target(ids: Tensor, inputs: Tensor, chosen: Tensor, b: Tensor) -> Tensor:
    """Your targets hold what was put in, not what was there.

    The model should say the hidden token. Take the targets from the ids before you change anything.
    """
    return torch.where(chosen, inputs, -100)


@exercise.misconception
def special_ones_hidden_without_target(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float = 0.15
) -> tuple[Tensor, Tensor]:
    """You hide special tokens too; only their targets are left out.

    They are not to be chosen at all: the model would lose the form of its input.
    """
    inputs, targets = mask_tokens(ids, mask_id, vocab, [], generator, p)
    return inputs, torch.where(not_special(ids, special), targets, -100)


@exercise.misconception
def targets_first(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float = 0.15
) -> tuple[Tensor, Tensor]:
    """You return the targets first and the inputs second.

    The model reads the first of the two, and would read the answers.
    """
    inputs, targets = mask_tokens(ids, mask_id, vocab, special, generator, p)
    return targets, inputs


@exercise.misconception
def nothing_drawn_at_zero(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float = 0.15
) -> tuple[Tensor, Tensor]:
    """For p = 0 you draw nothing.

    Then whoever uses the generator next gets other numbers than after any other p. All three draws are always made.
    """
    if p == 0:
        return ids.clone(), torch.full_like(ids, -100)
    return mask_tokens(ids, mask_id, vocab, special, generator, p)


@exercise.misconception
def drawn_for_the_chosen_only(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float = 0.15
) -> tuple[Tensor, Tensor]:
    """You draw the second and third number for the chosen tokens only.

    Then what a token gets depends on how many were chosen before it. Draw for all, in the shape of the ids.
    """
    chosen = below_p(torch.rand(ids.shape, generator=generator), p) & not_special(ids, special)
    b = torch.rand(int(chosen.sum()), generator=generator)
    c = torch.randint(vocab, b.shape, generator=generator)
    inputs = ids.clone()
    inputs[chosen] = torch.where(b < 0.8, mask_id, torch.where(b < 0.9, c, ids[chosen]))
    return inputs, torch.where(chosen, ids, -100)


squeezes(exercise)
