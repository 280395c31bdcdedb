"""What chapter 14 draws: words in a plane, the banks of many sentences, what is read from them, and who matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures.energy import ORDER
from qkv.figures.interactive import Choice, Interactive, Slider, interactive, packed
from qkv.figures.recurrence import headline
from qkv.figures.style import BLUE, GREEN, GREY, INK, VERMILION, WIDTH

MEASURES = ("weights", "rollout", "leave one out")


def flat(vectors: Tensor, by: Tensor | None = None) -> Tensor:
    """Vectors (..., d) as they look from where they are spread the most: their first two principal components.

    Args:
        vectors: to be shown (..., d).
        by: whose spread counts (n, d); all of them by default.
    """
    by = vectors.reshape(-1, vectors.shape[-1]) if by is None else by
    middle = by.mean(dim=0)
    _, _, axes = torch.linalg.svd(by - middle, full_matrices=False)
    two = axes[:2]
    two = (
        two * two.gather(1, two.abs().argmax(dim=1, keepdim=True)).sign()
    )  # a principal component has no sign: we choose
    return (vectors - middle) @ two.T  # type: ignore[no-any-return] # torch gives svd no types


def bare(ax: Axes) -> None:
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    ax.margins(0.18)


def map_of_words(vectors: Tensor, words: Sequence[str], groups: Sequence[Sequence[str]], alone: str) -> Figure:
    """Word vectors in a plane, those that are used alike in one colour, and one word by itself.

    Args:
        vectors: one for each word (word, d).
        words: what the rows stand for.
        groups: words that are used alike.
        alone: a word that belongs to none of them.
    """
    shown = [word for group in groups for word in group] + [alone]
    places = dict(zip(shown, flat(vectors[[words.index(word) for word in shown]]).tolist(), strict=True))
    fig, ax = plt.subplots(figsize=(WIDTH, 3.4))
    for number, (group, (colour, marker, _)) in enumerate(zip(groups, ORDER, strict=False)):
        x, y = zip(*(places[word] for word in group), strict=True)
        ax.plot(x, y, color=colour, marker=marker, linestyle="none")
        below = number % 2  # groups that lie beside each other do not write over each other
        ax.annotate(
            ", ".join(group),
            (sum(x) / len(x), min(y) if below else max(y)),
            xytext=(0, -8 if below else 8),
            textcoords="offset points",
            ha="center",
            va="top" if below else "bottom",
            fontsize=9.5,
            color=colour,
        )
    ax.plot(*places[alone], color=INK, marker="*", markersize=13, linestyle="none")
    ax.annotate(alone, places[alone], xytext=(7, 4), textcoords="offset points", fontsize=10.5, weight="bold")
    ax.set_title("Which words lie together?")
    bare(ax)
    return fig


def two_senses(ax: Axes, vectors: Tensor, senses: Tensor) -> None:
    """Vectors (sentence, d) in a plane, by sense."""
    x, y = flat(vectors).T.numpy()
    for sense, name, colour, marker in ((0, "money", BLUE, "o"), (1, "river", VERMILION, "s")):
        these = (senses == sense).numpy()
        ax.plot(x[these], y[these], marker, color=colour, markersize=4, alpha=0.6, label=name)


def clouds(layers: Tensor, senses: Tensor) -> Figure:
    """The same word in many sentences, once for each layer.

    Args:
        layers: its vectors (layer, sentence, d), the first before any layer.
        senses: 0 is money, 1 the river (sentence,).
    """
    fig, axes = plt.subplots(1, len(layers), figsize=(WIDTH, 2.6))
    for number, (ax, vectors) in enumerate(zip(axes, layers, strict=True)):
        two_senses(ax, vectors, senses)
        ax.set_title(
            f"after layer {number}" if number else "before layer 1", fontsize=10.5, weight="normal", loc="center"
        )
        bare(ax)
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    headline(fig, "Where is bank, sentence by sentence?")
    return fig


def by_layer(question: str, what: str, results: Mapping[str, Tensor]) -> Figure:
    """Something between 0 and 1 at each layer.

    Args:
        question: the title.
        what: the name of the vertical axis.
        results: of what -> numbers (seed, layer).
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.1))
    n_layers = next(iter(results.values())).shape[1]
    for (name, found), (colour, marker, dash) in zip(results.items(), ORDER, strict=False):
        ax.errorbar(
            range(n_layers), found.mean(0), yerr=found.std(0), color=colour, marker=marker, linestyle=dash, label=name
        )
    ax.set(title=question, xlabel="layer", ylabel=what, ylim=(0, 1.06), xticks=range(n_layers))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def agreement(results: Mapping[str, Mapping[str, Tensor]]) -> Figure:
    """How many of the words that matter each way of reading a model names, for several models.

    Args:
        results: model -> way of reading -> shares of them (seed,).
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 4.2))
    ways = list(dict.fromkeys(way for found in results.values() for way in found))
    for number, ((model, found), (colour, marker, _)) in enumerate(zip(results.items(), ORDER, strict=False)):
        at = [ways.index(way) + 0.16 * (number - (len(results) - 1) / 2) for way in found]
        means, stds = ([float(stat(runs)) for runs in found.values()] for stat in (torch.mean, torch.std))
        ax.errorbar(means, at, xerr=stds, color=colour, marker=marker, linestyle="none", label=model)
    ax.set_yticks(range(len(ways)), ways)
    ax.invert_yaxis()
    ax.set(title="Who names the two that matter?", xlabel="named first", xlim=(0, 1.06))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def which_bank(
    words: Sequence[str],
    static: Tensor,
    seen: Tensor,
    senses: Tensor,
    tried: Tensor,
    choices: tuple[Sequence[str], ...],
) -> Interactive:
    """A sentence whose verb and noun can be put in by hand: the word's own vector stays, its vector here moves.

    Args:
        words: *bank*, and words around it; the first half of these is about money, the second about the river.
        static: their vectors (word, d_static).
        seen: the bank of known sentences (layer, sentence, d), the first before any layer.
        senses: 0 is money, 1 the river (sentence,).
        tried: the bank of every sentence that can be made (layer, verb, noun, d).
        choices: the verbs and the nouns, those of money first.
    """
    planes, tries, ways = [], [], []
    for known, these in zip(seen, tried, strict=True):
        money, river = (known[senses == sense].mean(dim=0) for sense in (0, 1))
        apart = river - money
        length = apart.square().sum()
        way = (these - money) @ apart / length if length > 1e-9 else torch.zeros(these.shape[:-1])
        planes.append(rounded(flat(known)))
        tries.append(rounded(flat(these, by=known)))
        ways.append(rounded(way))
    last = seen[-1]
    return interactive(
        "Which bank is it?",
        controls=[
            Choice("verb", "verb", tuple(choices[0]), choices[0][-4]),
            Choice("noun", "noun", tuple(choices[1]), choices[1][-4]),
            Slider("layer", "layer", range(len(seen)), len(seen) - 1),
        ],
        draw="which_bank.js",
        still=still_bank(last, senses, flat(tried[-1][-4, -4], by=last)),
        alt="Left, word vectors in a plane: bank lies between words of money and words of the river, and stays there. "
        "Right, banks of many sentences in two clouds, one for each sense; a ring marks the bank of the sentence that "
        "is put together above, and it moves from cloud to cloud with the verb and the noun.",
        data={
            "words": list(words),
            "static": rounded(flat(static)),
            "senses": senses.tolist(),
            "planes": planes,
            "tries": tries,
            "ways": ways,
        },
    )


def rounded(numbers: Tensor) -> list[object]:
    """Numbers for a script, three decimals each."""
    exact: list[object] = (1000 * numbers.double()).round().div(1000).tolist()
    return exact


def still_bank(vectors: Tensor, senses: Tensor, here: Tensor) -> Figure:
    """The first state: banks of the last layer, and the one of the sentence."""
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    two_senses(ax, vectors, senses)
    ax.plot(*here.tolist(), color=INK, marker="o", markersize=12, fillstyle="none", linestyle="none", label="this bank")
    bare(ax)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def who_mattered(tokens: Sequence[Sequence[str]], weights: Tensor, rollout: Tensor, left_out: Tensor) -> Interactive:
    """Three answers to the question where a position has its content from, side by side.

    Args:
        tokens: of each example, the first is the one that answers.
        weights: of each layer, mean of its heads (layer, example, seq, seq).
        rollout: from the input up to each layer, of the same shape.
        left_out: how far a position moves, after that layer, when an input is taken away; of the same shape.
    """
    shares = [found / found.sum(dim=-1, keepdim=True) for found in (weights, rollout, left_out)]
    n_layers, n_examples, n, _ = weights.shape
    first = torch.stack([found[-1, 0, 0] for found in shares])
    return interactive(
        "Where does a position have its content from?",
        controls=[
            Slider("example", "list", range(n_examples), 0),
            Slider("layer", "after layer", range(1, n_layers + 1), n_layers),
            Slider("token", "position", range(n), 0),
        ],
        draw="who_mattered.js",
        still=still_mattered(tokens[0], first),
        alt="A list of numbers, and below it three rows of bars, one bar for each number: the weights that the chosen "
        "position gives in the chosen layer, the rollout down to the input, and how far the position moves when a "
        "number is left out. Below them stands how many of the two numbers that move it most the weights and the "
        "rollout name.",
        data={"tokens": [list(row) for row in tokens], "measures": MEASURES, "shares": [packed(one) for one in shares]},
    )


def still_mattered(tokens: Sequence[str], shares: Tensor) -> Figure:
    """The first state: three rows of bars (measure, seq)."""
    fig, axes = plt.subplots(3, 1, figsize=(WIDTH, 3.6), sharex=True)
    for ax, row, name, colour in zip(axes, shares, MEASURES, (BLUE, GREEN, VERMILION), strict=True):
        ax.bar(range(len(tokens)), row.numpy(), color=colour)
        ax.set_ylabel(name.replace(" ", "\n", 1), fontsize=9)
        ax.set_yticks([])
    axes[-1].set_xticks(range(len(tokens)), tokens)
    axes[0].axhline(0, color=GREY, linewidth=0.8)
    return fig
