"""The exercise `write_story`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import generator, integers, normal, permutation, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.capstone import Model, write_story

exercise = Exercise(
    write_story,
    section="Letting it write",
    minutes=20,
    difficulty=2,
    why="The loop by which every language model writes: ask, draw, append, ask again.",
    hints=[
        "A list grows by one id a step. What does the model see of it, and in which shape?",
        "The model answers for every position. Which of its rows is about the token that comes next?",
        "Two reasons to stop: `end` was just written, or enough was. An `end` in the prompt is neither.",
        "At temperature 0 nothing can be divided, and nothing is drawn: it is a case of its own.",
    ],
    equivalents={
        "seen = torch.tensor([[*prompt, *new][-context:]], device=generator.device)  ->  "
        "seen = torch.tensor([[*prompt, *new][-context:]])": "every generator of a check is one of the processor",
        "p = (logits / temperature).softmax(dim=-1)  ->  p = (logits / temperature).softmax(dim=-0)": (
            "the logits of one position have one dimension"
        ),
    },
)


def speaker(name: str, vocab: int, end: int | None = None, patience: int = 10**6, std: float = 2.0) -> Model:
    """A model of a kind: logits that depend on all that it sees; when it has seen `patience` ids it ends."""
    rows = normal(13, vocab, seed=f"speaker {name}", std=std)

    def speak(ids: Tensor) -> Tensor:
        place = torch.arange(1, ids.shape[1] + 1)
        logits = rows[(place * ids + ids).cumsum(dim=1) % 13].clone()  # (1, n, vocab)
        if end is not None:
            logits[..., end] = torch.where(place > patience, 60.0, -60.0)
        return logits

    return speak


def story_task(name: str) -> tuple[int, int, list[int]]:
    """The size of a vocabulary, the id that ends a text, and a prompt."""
    vocab = whole(6, 12, seed=f"vocab {name}")
    end = whole(0, vocab, seed=f"end {name}")
    prompt = integers(0, vocab, whole(3, 7, seed=f"length {name}"), seed=f"prompt {name}")
    return vocab, end, torch.where(prompt == end, (end + 1) % vocab, prompt).tolist()


def ids_of(story: Any) -> list[int]:
    return [int(i) for i in story]


@exercise.probe
def drawn_from_the_model(write_story: Any) -> Seen:
    """stories of twelve ids at temperature 1, more context than needed"""
    found: Seen = {}
    for name in "ab":
        vocab, end, prompt = story_task(name)
        found[f"story {name}"] = ids_of(write_story(speaker(name, vocab, end), prompt, end, 12, 30, generator(name)))
    return found


@exercise.probe
def hot_and_cold(write_story: Any) -> Seen:
    """the same story at temperatures 0.4 and 2.5, given by name"""
    vocab, end, prompt = story_task("c")
    return {
        f"story at {t}": ids_of(
            write_story(speaker("c", vocab, end), list(prompt), end, 12, 30, generator=generator("c"), temperature=t)
        )
        for t in (0.4, 2.5)
    }


@exercise.probe
def without_chance(write_story: Any) -> Seen:
    """temperature 0, and what the generator draws next"""
    vocab, end, prompt = story_task("d")
    g = generator("d")
    story = ids_of(write_story(speaker("d", vocab, end), prompt, end, 9, 30, g, 0.0))
    return {"story": story, "drawn afterwards": torch.rand(2, generator=g)}


@exercise.probe
def equally_large(write_story: Any) -> Seen:
    """temperature 0 and logits that are equal"""
    order = permutation(9, seed="order").tolist()
    row = torch.full((9,), -1.0)
    row[order[:4]] = 2.0
    story = write_story(lambda ids: row.repeat(1, ids.shape[1], 1), [1], order[8], 4, 5, generator("equal"), 0.0)
    return {"story": ids_of(story)}


@exercise.probe
def little_context(write_story: Any) -> Seen:
    """a model that sees the last three ids, the last one, and as many as the prompt has"""
    vocab, end, prompt = story_task("e")
    found: Seen = {}
    for context in (1, 3, len(prompt)):
        g = generator(f"context {context}")
        found[f"story, context {context}"] = ids_of(
            write_story(speaker("e", vocab, end), list(prompt), end, 10, context, g)
        )
    return found


@exercise.probe
def until_the_end(write_story: Any) -> Seen:
    """models that end a text after some ids, and one that ends it at once"""
    vocab, end, prompt = story_task("f")
    late = len(prompt) + whole(2, 6, seed="late")
    return {
        f"story, end after {patience}": ids_of(
            write_story(speaker("f", vocab, end, patience), list(prompt), end, 15, 40, generator("f"))
        )
        for patience in (0, late)
    }


@exercise.probe
def how_many(write_story: Any) -> Seen:
    """at most no id, one, and as many as it takes to the end"""
    vocab, end, prompt = story_task("g")
    model = speaker("g", vocab, end, len(prompt) + 2)
    return {f"at most {n}": ids_of(write_story(model, list(prompt), end, n, 40, generator("g"))) for n in (0, 1, 3, 4)}


@exercise.probe
def ends_in_the_prompt(write_story: Any) -> Seen:
    """prompts that begin and end with `end`"""
    vocab, end, prompt = story_task("h")
    model = speaker("h", vocab, end)
    prompts = {"begins": [end, *prompt], "ends": [*prompt, end], "alone": [end]}
    return {
        f"story, {words}": ids_of(write_story(model, ids, end, 6, 40, generator("h"))) for words, ids in prompts.items()
    }


@exercise.probe
def what_it_asks(write_story: Any) -> Seen:
    """what the model is called with, and what the generator draws afterwards"""
    vocab, end, prompt = story_task("i")
    model, asked = speaker("i", vocab, end), []

    def heard(ids: Tensor) -> Tensor:
        asked.append(ids.clone())
        return model(ids)

    g = generator("i")
    story = ids_of(write_story(heard, list(prompt), end, 6, len(prompt) + 2, g))
    return {
        "shapes": [size for ids in asked for size in ids.shape],
        "ids": torch.cat([ids.flatten() for ids in asked]),
        "story": story,
        "drawn afterwards": torch.rand(2, generator=g),
    }


@exercise.probe
def sure_models(write_story: Any) -> Seen:
    """logits of some hundreds, a small temperature, and a vocabulary of one word"""
    vocab, end, prompt = story_task("j")
    loud = speaker("j", vocab, std=300.0)
    return {
        "loud": ids_of(write_story(loud, list(prompt), end, 6, 40, generator("j"))),
        "cold": ids_of(write_story(speaker("k", vocab), list(prompt), end, 6, 40, generator("k"), 0.01)),
        "one word": ids_of(write_story(lambda ids: torch.zeros(1, ids.shape[1], 1), [0], 0, 3, 4, generator("one"))),
    }


exercise.property(repeats(drawn_from_the_model, hot_and_cold))


@exercise.property
def prompt_unchanged(write_story: Any) -> Seen:
    """a prompt that the caller goes on using

    Your code appends to the caller's own list. Begin a new one: `prompt + [next]`, or `list(prompt)` once.
    """
    vocab, end, prompt = story_task("l")
    write_story(speaker("l", vocab, end), prompt, end, 5, 3, generator("l"))
    return {"prompt after the call": prompt}


@exercise.property
def a_list_of_numbers(write_story: Any) -> Seen:
    """what a story is made of

    A story is a list of Python ints. `int(…)` or `.item()` makes one of a tensor.
    """
    vocab, end, prompt = story_task("m")
    story = write_story(speaker("m", vocab, end), prompt, end, 4, 9, generator("m"))
    return {"the story is a list": isinstance(story, list), "its ids are ints": all(type(i) is int for i in story)}


@exercise.property
def the_model_in_training(write_story: Any) -> Seen:
    """a model whose logits have a graph

    Where the model's logits carry a graph your code fails. Take numbers out by `int(…)` or `.item()`, or write under
    `torch.no_grad()`.
    """
    vocab, end, prompt = story_task("n")
    model = speaker("n", vocab, end)
    weight = torch.ones(()).requires_grad_()
    story = write_story(lambda ids: model(ids) * weight, prompt, end, 5, 9, generator("n"))
    return {"story": ids_of(story)}


def last_ones(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    return [*prompt, *new][-context:]


def of_the_last(logits: Tensor) -> Tensor:
    return logits[0, -1]


def divided(logits: Tensor, temperature: float) -> Tensor:
    return (logits / temperature).softmax(dim=-1)


def at_random(p: Tensor, generator: torch.Generator) -> int:
    return int(torch.multinomial(p, 1, generator=generator))


def the_largest(logits: Tensor, generator: torch.Generator) -> int:
    return int(logits.argmax())


def enough(new: list[int], prompt: Sequence[int], max_new: int) -> bool:
    return len(new) >= max_new


def ended(new: list[int], prompt: Sequence[int], end: int) -> bool:
    return bool(new) and new[-1] == end


@exercise.assembled
def story_in_steps(
    model: Model,
    prompt: Sequence[int],
    end: int,
    max_new: int,
    context: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    *,
    see: Any = last_ones,
    row: Any = of_the_last,
    weigh: Any = divided,
    draw: Any = at_random,
    without_chance: Any = the_largest,
    full: Any = enough,
    stop: Any = ended,
    answer: Any = lambda prompt, new, end: new,
) -> list[int]:
    new: list[int] = []
    while not full(new, prompt, max_new) and not stop(new, prompt, end):
        with torch.no_grad():
            logits = row(model(torch.tensor([see(prompt, new, context)])))
        if temperature == 0:
            new.append(without_chance(logits, generator))
        else:
            new.append(draw(weigh(logits, temperature), generator))
    return answer(prompt, new, end)


@exercise.instead_of("see")
def all_of_it(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees the whole text, however long.

    `context` says how many ids it can see. Beyond that, many models have no position to give; the last ones count.
    """
    return [*prompt, *new]


@exercise.instead_of("see")
def the_first_ones(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees the first `context` ids: once the text is longer, it never sees what it has just written.

    The next token depends on the last ones above all. Cut at the other end.
    """
    return [*prompt, *new][:context]


@exercise.instead_of("see")
def the_last_one_only(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees the last id alone.

    A model without a memory of its own needs the whole context in every step. (A cache, as in chapter 11, would keep
    it.)
    """
    return [*prompt, *new][-1:]


@exercise.instead_of("see")
def prompt_forgotten(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Once it has written something, your model no longer sees the prompt.

    The text is the prompt and all that was written since, and the model sees its last `context` ids.
    """
    return (new or list(prompt))[-context:]


@exercise.instead_of("see")
def prompt_alone(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees the prompt again and again, and never what it has written.

    What was drawn has to be appended before the next question.
    """
    return list(prompt)[-context:]


@exercise.instead_of("see")
def prompt_cut_once(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """You cut the prompt to `context` ids, but what is written makes the text longer again.

    The cut belongs into the loop, before each question.
    """
    return [*list(prompt)[-context:], *new]


@exercise.instead_of("see")
def room_for_one_more(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees one id less than `context` allows.

    The token to come needs no room of its own: the model sees the last `context` ids.
    """
    return [*prompt, *new][-max(context - 1, 1) :]


@exercise.instead_of("row")
def first_position(logits: Tensor) -> Tensor:
    """You take the logits of the first position.

    They are about the second token. What comes next is said at the last position.
    """
    return logits[0, 0]


@exercise.instead_of("row")
def averaged_positions(logits: Tensor) -> Tensor:
    """You average the logits over the positions.

    Each position speaks about the token after it. Only the last one speaks about what comes next.
    """
    return logits[0].mean(dim=0)


@exercise.instead_of("weigh")
def temperature_ignored(logits: Tensor, temperature: float) -> Tensor:
    """Your temperature changes nothing.

    Probabilities that are all divided by one number are drawn as before. Divide the logits, before the softmax.
    """
    return logits.softmax(dim=-1)


@exercise.instead_of("weigh")
def temperature_upside_down(logits: Tensor, temperature: float) -> Tensor:
    """You multiply the logits by the temperature: a high one makes the model sure, a low one wild.

    Divided by a large number, logits come close to each other, and anything may be drawn. That is what hot means.
    """
    return (logits * temperature).softmax(dim=-1)


@exercise.instead_of("weigh")
def overflowing(logits: Tensor, temperature: float) -> Tensor:
    """You take the exponentials of the logits as they are; for large ones nothing finite is left.

    exp(300) is infinite in float32. softmax takes the largest off first.
    """
    powers = torch.exp(logits / temperature)
    return powers / powers.sum()


@exercise.instead_of("draw")
def never_by_chance(p: Tensor, generator: torch.Generator) -> int:
    """You always take the likeliest token, whatever the temperature.

    That is temperature 0. Above it the token is drawn, in proportion to p.
    """
    return int(p.argmax())


@exercise.instead_of("draw")
def dice_of_its_own(p: Tensor, generator: torch.Generator) -> int:
    """You draw from a generator of your own.

    The caller's generator makes a story repeatable. Hand it to `torch.multinomial`.
    """
    return int(torch.multinomial(p, 1, generator=torch.Generator().manual_seed(0)))


@exercise.instead_of("draw")
def by_cumulative_sums(p: Tensor, generator: torch.Generator) -> int:
    """You draw by `torch.rand` and cumulative sums: the right probabilities, and another stream of random numbers.

    The exact call is part of what is asked, so that the same generator gives everybody the same story.
    """
    at = torch.rand((), generator=generator)
    return min(int(torch.searchsorted(p.cumsum(0), at)), len(p) - 1)


@exercise.instead_of("without_chance")
def last_of_equals(logits: Tensor, generator: torch.Generator) -> int:
    """Of equal logits you take the one with the largest id.

    At temperature 0 the smallest id of the largest ones is taken, as `argmax` does.
    """
    return len(logits) - 1 - int(logits.flip(0).argmax())


@exercise.instead_of("without_chance")
def drawn_in_vain(logits: Tensor, generator: torch.Generator) -> int:
    """At temperature 0 you draw as well, and throw the draw away.

    The generator then stands elsewhere afterwards. Where nothing is left to chance, nothing is drawn.
    """
    torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)
    return int(logits.argmax())


@exercise.instead_of("without_chance")
def zero_taken_for_one(logits: Tensor, generator: torch.Generator) -> int:
    """At temperature 0 you draw as at temperature 1.

    0 is the limit of ever colder draws: the token with the largest logit, always.
    """
    return int(torch.multinomial(logits.softmax(dim=-1), 1, generator=generator))


@exercise.instead_of("full")
def prompt_counted(new: list[int], prompt: Sequence[int], max_new: int) -> bool:
    """Your limit counts the prompt.

    `max_new` is the number of new tokens, however long the prompt is.
    """
    return len(prompt) + len(new) >= max_new


@exercise.instead_of("full")
def one_too_many(new: list[int], prompt: Sequence[int], max_new: int) -> bool:
    """You write one token more than `max_new` allows.

    Ask whether there is room before you draw, not after.
    """
    return len(new) > max_new


@exercise.instead_of("full")
def at_least_one(new: list[int], prompt: Sequence[int], max_new: int) -> bool:
    """You write one token even if `max_new` is 0.

    Ask whether there is room before the first draw as well.
    """
    return len(new) >= max(max_new, 1)


@exercise.instead_of("stop")
def never_stops(new: list[int], prompt: Sequence[int], end: int) -> bool:
    """Your story goes on after `end`.

    `end` says that the text is over; what comes after it belongs to another one.
    """
    return False


@exercise.instead_of("stop")
def stopped_by_the_prompt(new: list[int], prompt: Sequence[int], end: int) -> bool:
    """An `end` in the prompt ends your story before it begins.

    Our texts begin with `end`: it stands between two of them. Only an `end` that was written counts.
    """
    return end in prompt or end in new


@exercise.instead_of("stop")
def stopped_by_the_last_of_all(new: list[int], prompt: Sequence[int], end: int) -> bool:
    """A prompt that closes with `end` ends your story before it begins.

    Our texts begin with `end`: it stands between two of them. Only an `end` that was written counts.
    """
    return [*prompt, *new][-1] == end


@exercise.instead_of("answer")
def prompt_returned_too(prompt: Sequence[int], new: list[int], end: int) -> list[int]:
    """You return the prompt as well.

    Whoever asks has it already. Only the new ids are asked for.
    """
    return [*prompt, *new]


@exercise.instead_of("answer")
def end_left_out(prompt: Sequence[int], new: list[int], end: int) -> list[int]:
    """You leave `end` out of the story.

    Whether a story came to its end or ran out of room can be told only if `end` stays.
    """
    return new[:-1] if new and new[-1] == end else new
