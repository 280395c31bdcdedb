"""The last exercise: weights of a `TinyGPT` that keeps ledgers. What is handed in is a file; none of a student's code
runs. The reference's model is filled with it and measured on ledgers that nobody has seen.

Bars and mistakes were tried on trained models; the mistakes are tried in the order of this file.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor.examining.tensor_file import BadFile, Shape, Weights
from proctor.examining.weights import Look, WeightsExercise
from qkv.model.capstone import TinyGPT
from qkv.tasks import ledgers
from qkv.tasks.ledgers import END, ENTRIES, LENGTH, LINE, NAMES, NUMBERS, REPEATS, THINGS, WORDS

PUBLISHED, SEED = 20_000, 1  # the ledgers that students train on: their number, and the seed
FRESH, STORIES = 500, 100  # ledgers that are read, and ledgers that are gone on with
TEMPERATURE = 0.7
AT_ONCE = 50  # ledgers: what a model of the largest size needs for them fits into any memory
GLANCE = 100  # ledgers that are enough to recognise a mistake by

LARGEST = {"d_model": 128, "n_heads": 64, "n_layers": 4, "d_ff": 512}  # what is still quick to measure

FLOOR = ledgers.floor()
BAR = FLOOR + 0.10
NEAR_CHANCE = 0.5  # of the repeated words right: see CHANCE

# Thing and number of every line that repeats an entry: where memory shows.
REMEMBERED = [1 + LINE * line + word for line in range(ENTRIES, ENTRIES + REPEATS) for word in (1, 2)]
PROMPT = 1 + LINE * ENTRIES  # <end> and the entries


def loss_of(repeated_line: float) -> float:
    """The mean loss of who loses so many nats on a line that repeats an entry, and else as few as can be."""
    entered = FLOOR * (LENGTH - 1) - REPEATS * math.log(ENTRIES)
    return (entered + REPEATS * repeated_line) / (LENGTH - 1)


def numbers_alone() -> tuple[float, float]:
    """For who knows which numbers were entered, and not by whom: the mean entropy of a repeated line's number, and how
    often the best guess is right."""
    shares = [[n / ENTRIES for n in Counter(drawn).values()] for drawn in product(NUMBERS, repeat=ENTRIES)]
    entropies = [-sum(share * math.log(share) for share in found) for found in shares]
    return sum(entropies) / len(shares), sum(map(max, shares)) / len(shares)


DOUBT, GUESSED = numbers_alone()
WORDS_ALONE = loss_of(2 * math.log(ENTRIES) + DOUBT)  # name, thing and number are each one of those that occurred
CHANCE = (1 / ENTRIES + GUESSED) / 2  # of the things and numbers are right then
NOTHING = loss_of(math.log(len(NAMES) * len(THINGS) * len(NUMBERS)))


# ---- from a file to a model


def sizes_of(metadata: Mapping[str, str]) -> dict[str, int]:
    """What the metadata say of the model's sizes.

    Raises:
        BadFile: they do not say it, or say something that is not asked for.
    """
    sizes = {}
    for name, most in LARGEST.items():
        if name not in metadata:
            raise BadFile(f"Its metadata do not say {name}, which the tensors alone do not tell.")
        if not re.fullmatch(r"[1-9][0-9]{0,5}", metadata[name]):
            raise BadFile(f"Its metadata say something for {name} that is not a whole number above 0.")
        sizes[name] = int(metadata[name])
        if sizes[name] > most:
            raise BadFile(f"Its metadata say {name} = {sizes[name]}; at most {most} is asked for.")
    d_model, n_heads = sizes["d_model"], sizes["n_heads"]
    if d_model % n_heads or d_model // n_heads % 2:
        raise BadFile(
            f"Its metadata say d_model = {d_model} and n_heads = {n_heads}; d_model / n_heads has to be an even number."
        )
    return sizes


def empty(sizes: Mapping[str, int], kind: type[TinyGPT] = TinyGPT) -> TinyGPT:
    """A model of these sizes without numbers."""
    with torch.device("meta"):
        return kind(len(WORDS), **sizes)


def layout(metadata: Mapping[str, str]) -> dict[str, Shape]:
    return {name: tuple(tensor.shape) for name, tensor in empty(sizes_of(metadata)).state_dict().items()}


def build(weights: Weights, kind: type[TinyGPT] = TinyGPT) -> TinyGPT:
    model = empty(sizes_of(weights.metadata), kind)
    model.load_state_dict(dict(weights.tensors), assign=True)
    return model.eval()


def weights_of(model: torch.nn.Module | Mapping[str, Tensor], n_heads: int | None = None) -> Weights:
    """The weights of a trained model, with the sizes that their shapes do not tell.

    Args:
        model: the model, or its state dict.
        n_heads: where the model does not have it under the name that the reference uses.
    """
    if isinstance(model, type):
        raise TypeError(f"{model.__name__} is the class. hand_in takes a model made from it, that you have trained.")
    state = model.state_dict() if isinstance(model, torch.nn.Module) else model
    if not isinstance(state, Mapping) or not all(isinstance(tensor, Tensor) for tensor in state.values()):
        raise TypeError(f"hand_in takes your trained TinyGPT, and this is a {type(model).__name__}.")
    if n_heads is None and state is model:
        raise TypeError(
            "A state dict does not tell the number of heads: say hand_in(state, n_heads=4), or hand in the model."
        )
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}
    layers = {int(found[1]) for name in tensors if (found := re.match(r"layers\.(\d+)\.", name))}
    try:
        d_ff, d_model = next(t.shape for n, t in tensors.items() if re.match(r"layers\.0\.feed_forward\..*weight", n))
        heads = n_heads or int(model.layers[0]["attention"].n_heads)  # type: ignore[index, union-attr]
    except (StopIteration, AttributeError, KeyError, IndexError, TypeError, ValueError):
        raise TypeError(
            "hand_in takes your trained TinyGPT: a model whose `layers` hold `attention` (with `n_heads`) and "
            "`feed_forward`. Where n_heads has another name, say hand_in(model, n_heads=4)."
        ) from None
    sizes = {"d_model": d_model, "n_heads": heads, "n_layers": len(layers), "d_ff": d_ff}
    return Weights(tensors, {name: str(size) for name, size in sizes.items()})


# ---- the data


@dataclass(frozen=True)
class Fresh:
    """What a model is measured on."""

    read: Tensor  # ledgers (FRESH, LENGTH)
    entered: Tensor  # ledgers of which the entries are given (STORIES, LENGTH)
    chance: Tensor  # numbers from 0 to 1 that decide each word which is written (STORIES, LENGTH - PROMPT)


def draw(generator: torch.Generator) -> Fresh:
    chance = torch.rand(STORIES, LENGTH - PROMPT, generator=generator)
    return Fresh(ledgers.draw(FRESH, generator), ledgers.draw(STORIES, generator), chance)


@cache
def published() -> Tensor:
    """The ledgers that students train on."""
    return ledgers.draw(PUBLISHED, torch.Generator().manual_seed(SEED))


exercise = WeightsExercise(
    "tiny_gpt",
    layout=layout,
    build=build,
    draw=draw,
    situation=f"{FRESH} ledgers that nobody has seen, and {STORIES} more to go on with",
    cell="hand_in(model)",
    section="Hand in the weights",
    points=3.0,
    minutes=25,
    difficulty=3,
    why="You have trained a language model whose every part you wrote, and measured it against the best that can be.",
    hints=[
        f"The loss has a floor, {FLOOR:.3f} nats a word, that no model can pass. Draw yours against it while you "
        "train: where does it stop falling?",
        "To go on with a line, the model has to find the line before that began with the same name, and to read what "
        "stood after it. How many layers does it take to look at what stood before a word, and then to use it?",
        "Nothing seems to happen for two or three hundred steps, then the loss drops suddenly. Did you stop before the "
        "drop? Is the learning rate warmed up, and are gradients clipped?",
        "Torch's own initialisation gives embeddings of deviation 1, and the output layer has a matrix of its own. "
        "With small or tied embeddings this language is not learned in the steps of the chapter.",
    ],
)


# ---- measures


def logits_of(model: TinyGPT, ids: Tensor) -> Tensor:
    """What a model says after every beginning (n, LENGTH - 1, word)."""
    return torch.cat([model(part) for part in ids[:, :-1].split(AT_ONCE)])


def mean_loss(logits: Tensor, targets: Tensor) -> float:
    return float(F.cross_entropy(logits.flatten(0, 1), targets.flatten()))


def loss_on(model: TinyGPT, ids: Tensor) -> float:
    return mean_loss(logits_of(model, ids), ids[:, 1:])


def reading(look: Look) -> Tensor:
    """The logits on the fresh ledgers, which several numbers are made from."""
    return logits_of(look.model, look.data.read)


@exercise.measure(
    "{} nats a word",
    ".3f",
    at_most=BAR,
    scale=(("floor", FLOOR), ("which words occurred", WORDS_ALONE), ("no memory", NOTHING)),
    means=(
        (NOTHING, "The loss is no better than that of a model without memory: attention does nothing for it."),
        (
            WORDS_ALONE,
            "The loss lies between that of a model without memory and that of one which knows what words occurred: "
            "attention looks back, but does not find what belongs together.",
        ),
        (BAR, "The model knows which words occurred, and a part of what belongs together: it is on the way."),
    ),
)
def loss(look: Look) -> float:
    return mean_loss(look.once(reading), look.data.read[:, 1:])


@exercise.measure("{} of the things and numbers that are repeated", ".1%", at_least=0.95)
def memory(look: Look) -> float:
    targets = look.data.read[:, REMEMBERED]
    likeliest = look.once(reading)[:, [place - 1 for place in REMEMBERED]].argmax(dim=-1)
    return float((likeliest == targets).double().mean())


@exercise.measure(f"{{}} of {STORIES} ledgers are gone on with truly", ".0f", at_least=80.0)
def writes(look: Look) -> float:
    ids, chance = look.data.entered[:, :PROMPT], look.data.chance
    for step in range(LENGTH - PROMPT):
        logits = torch.cat([look.model(part)[:, -1] for part in ids.split(AT_ONCE)])
        shares = (logits / TEMPERATURE).softmax(dim=-1).cumsum(dim=-1)
        word = (shares <= chance[:, step, None]).sum(dim=-1).clamp(max=len(WORDS) - 1)  # NaN is below nothing
        ids = torch.cat([ids, word[:, None]], dim=1)
        if (step + 1) % LINE == 0:  # what is false already need not be finished
            lines = ids[:, 1:].unflatten(1, (-1, LINE))
            true = (lines[:, :ENTRIES] == lines[:, -1:]).all(dim=-1).any(dim=-1)
            ids, chance = ids[true], chance[true]
            if not len(ids):
                return 0.0
    return float(sum(ledgers.true(story) for story in ids[:, 1:].tolist()))


# ---- mistakes, from the weights alone


class Unmasked(TinyGPT):
    """The same weights with nothing hidden."""

    def _mask(self, ids: Tensor) -> None:
        return None


@exercise.mistake
def untrained(look: Look) -> str:
    """These weights were never trained.

    Every gain of a LayerNorm is exactly 1 and every bias exactly 0, as they are made; one step of an optimizer moves
    them. Perhaps a new model was handed in instead of the one that was trained, or the optimizer got the parameters of
    another one.
    """
    norms = {name: tensor for name, tensor in look.weights.tensors.items() if re.search(r"\bnorm\d?\.", name)}
    moved = [name for name, t in norms.items() if not bool((t == (1.0 if name.endswith("weight") else 0.0)).all())]
    return "" if moved else f"all {len(norms)} gains and biases of the norms are as they were made"


@exercise.mistake
def trained_without_the_mask(look: Look) -> str:
    """These weights were trained without the causal mask: they read the word that they are to predict.

    With all words in sight, the next one is copied from where it stands and nothing else is learned. Here, as whenever
    it writes, a model sees only what came before.
    """
    seen = loss_on(build(look.weights, Unmasked), look.data.read[:GLANCE])
    return f"without the mask its loss is {seen:.3f}, with it {look.numbers['loss']:.3f}" if seen <= BAR else ""


@exercise.mistake
def targets_not_shifted(look: Look) -> str:
    """These weights repeat the word that they are given: the targets were not shifted.

    The logits at place t are for the word at t + 1. Where loss compares them with the word at t, copying the input is
    perfect.
    """
    copied = mean_loss(look.once(reading), look.data.read[:, :-1])
    return f"its loss for the word that it has just read is {copied:.3f}" if copied < 0.2 else ""


@cache
def other_orders() -> dict[str, tuple[str, ...]]:
    """Orders of the words that one may come to by oneself, in words."""
    met = published().flatten().tolist()
    counts = Counter(met)  # in the order of first appearance, which decides between equals
    return {
        "sorted by the alphabet": tuple(sorted(WORDS)),
        "sorted by how often they occur": tuple(WORDS[i] for i, _ in counts.most_common()),
        "in the order in which they first occur": tuple(WORDS[i] for i in counts),
        "with `<end>` last": (*WORDS[1:], WORDS[END]),
    }


def taken_from(weights: Weights, rows: Sequence[int]) -> Weights:
    """The rows of the words in another order: row i is what row `rows[i]` was."""
    changed = {name: weights.tensors[name][list(rows)] for name in ("tokens.weight", "out.weight")}
    return Weights({**weights.tensors, **changed}, weights.metadata)


@exercise.mistake
def another_order_of_words(look: Look) -> str:
    """These weights are right for another order of the words than that of `ledgers.WORDS`.

    A row of `tokens` and of `out` stands for the word with that id, and ids are places in `ledgers.WORDS`. Take the ids
    that `ledgers.draw` gives as they are.
    """
    for words, order in other_orders().items():
        found = loss_on(build(taken_from(look.weights, [order.index(word) for word in WORDS])), look.data.read[:GLANCE])
        if found <= BAR:
            return f"with the words {words} its loss is {found:.3f}"
    return ""


@exercise.mistake
def another_number_of_heads(look: Look) -> str:
    """These weights are right for another number of heads than the file says.

    The projections have the same shape for any number of heads, so that the file has to say it. `hand_in(model)` takes
    it from the model.
    """
    said = sizes_of(look.weights.metadata)
    for heads in range(1, said["d_model"] // 2 + 1):
        if said["d_model"] % (2 * heads) == 0 and heads != said["n_heads"]:
            found = loss_on(build(with_heads(look.weights, heads)), look.data.read[:GLANCE])
            if found <= BAR:
                return f"with n_heads = {heads} its loss is {found:.3f}; the file says n_heads = {said['n_heads']}"
    return ""


def with_heads(weights: Weights, heads: int) -> Weights:
    return Weights(weights.tensors, {**weights.metadata, "n_heads": str(heads)})


@exercise.mistake
def learned_by_heart(look: Look) -> str:
    """These weights have learned ledgers by heart instead of the language.

    Ledgers that were trained on are predicted far better than new ones, so it is these very ledgers that are
    remembered. Train on all 20,000 of them, each a few times at most.
    """
    known, new = loss_on(look.model, published()[:200]), look.numbers["loss"]
    return f"loss {known:.3f} on published ledgers, {new:.3f} on new ones" if known <= new - 0.3 else ""


@exercise.mistake
def no_memory(look: Look) -> str:
    """These weights know the language, but do not remember what this ledger said.

    Grammar, and which words occurred, is all that one layer can learn here, and all that two layers have learned before
    their loss drops. To repeat a line, a head of the second layer finds the name's first line by what a head of the
    first has noted beside each word. Take two layers, and train until the loss has dropped.
    """
    right, found = look.numbers["memory"], look.numbers["loss"]
    if found < FLOOR + 1.0 and right < NEAR_CHANCE:
        return f"{right:.1%} of what is repeated is right, where knowing only which words occurred gives {CHANCE:.1%}"
    return ""


@exercise.mistake
def too_large_numbers(look: Look) -> str:
    """With these weights the model computes something that is no number.

    All weights are finite, and what comes out is not: they are so large that a sum overflows. A smaller learning rate,
    or clipped gradients, keep a training from running away.
    """
    return "" if math.isfinite(look.numbers["loss"]) else "its loss is no finite number"


# ---- each mistake, made from right weights; those that take a training are kept in answers


@exercise.example(untrained)
def as_it_was_made(right: Weights) -> Weights:
    return weights_of(TinyGPT(len(WORDS), **sizes_of(right.metadata)))


def in_order(right: Weights, words: str) -> Weights:
    return taken_from(right, [WORDS.index(word) for word in other_orders()[words]])


@exercise.example(another_order_of_words)
def by_the_alphabet(right: Weights) -> Weights:
    return in_order(right, "sorted by the alphabet")


@exercise.example(another_order_of_words)
def by_how_often(right: Weights) -> Weights:
    return in_order(right, "sorted by how often they occur")


@exercise.example(another_order_of_words)
def by_first_appearance(right: Weights) -> Weights:
    return in_order(right, "in the order in which they first occur")


@exercise.example(another_order_of_words)
def end_last(right: Weights) -> Weights:
    return in_order(right, "with `<end>` last")


@exercise.example(another_number_of_heads)
def heads_doubled(right: Weights) -> Weights:
    return with_heads(right, 2 * sizes_of(right.metadata)["n_heads"])


@exercise.example(another_number_of_heads)
def heads_halved(right: Weights) -> Weights:
    return with_heads(right, sizes_of(right.metadata)["n_heads"] // 2)


@exercise.example(too_large_numbers)
def overflowing(right: Weights) -> Weights:
    return changed(right, "out.weight", right.tensors["out.weight"].sign() * 3e38)


def changed(right: Weights, name: str, tensor: Tensor | None) -> Weights:
    """The same but for one tensor; None leaves it out."""
    tensors = {other: t for other, t in right.tensors.items() if other != name}
    return Weights(tensors if tensor is None else {**tensors, name: tensor}, right.metadata)


@exercise.example("not_finite")
def diverged(right: Weights) -> Weights:
    return changed(right, "norm.weight", torch.full_like(right.tensors["norm.weight"], math.nan))


@exercise.example("tensor_missing")
def without_an_output(right: Weights) -> Weights:
    return changed(right, "out.weight", None)


@exercise.example("tensor_surplus")
def with_positions(right: Weights) -> Weights:
    return changed(right, "positions.weight", torch.zeros(LENGTH, 8))


@exercise.example("tensor_misshapen")
def one_word_more(right: Weights) -> Weights:
    return changed(right, "tokens.weight", torch.cat([right.tensors["tokens.weight"]] * 2)[: len(WORDS) + 1])


@exercise.example("tensor_of_another_dtype")
def in_half_precision(right: Weights) -> Weights:
    return changed(right, "norm.bias", right.tensors["norm.bias"].half())
