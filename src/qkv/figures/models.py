"""What chapter 12 draws: tokens, a GPT that writes in the page, who reaches the entropy, patches, tuning."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from qkv.figures.interactive import Interactive, Slider, interactive
from qkv.figures.recurrence import headline
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILION, WIDTH

# One look for each reader of pictures: colour, marker, dash.
LOOKS: dict[str, tuple[str, str, Any]] = {
    "CNN": (VERMILION, "s", "--"),
    "ViT": (BLUE, "o", "-"),
    "MLP": (GREEN, "^", "-."),
}


def surprises(results: Mapping[str, Tensor], floor: float) -> Figure:
    """Nats a word of several models, above what nobody can get below.

    Args:
        results: model -> nats a word, one for each seed.
        floor: nats a word of the grammar itself.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 0.7 + 0.42 * len(results)))
    for row, (name, nats) in enumerate(results.items()):
        colour, mean = (BLUE if name.startswith("GPT") else GREY), float(nats.mean())
        ax.barh(row, mean - floor, left=floor, color=colour, alpha=0.75, height=0.62)
        ax.text(mean + 0.02, row, f"{mean:.3f}", va="center", fontsize=9.5)
    ax.axvline(floor, color=INK, linewidth=1)
    ax.text(floor - 0.02, len(results) - 0.6, f"entropy\n{floor:.3f}", ha="right", va="bottom", fontsize=9.5)
    longest = max(float(nats.mean()) for nats in results.values())
    ax.set(xlim=(0, 1.12 * longest), xlabel="nats a word on fresh sentences", ylim=(len(results) - 0.4, -0.6))
    ax.set_yticks(range(len(results)), list(results))
    ax.set_title("How far above the entropy does each model stay?")
    ax.grid(False)
    return fig


def written(valid: Mapping[str, Tensor], distinct: Mapping[str, Tensor], temperatures: Sequence[float]) -> Figure:
    """Which sentences the grammar accepts, and how varied those are, against the temperature.

    Args:
        valid: way of choosing -> shares of accepted sentences (seed, temperature).
        distinct: way of choosing -> of equally many accepted ones, the share of different ones (seed, temperature).
        temperatures: the temperatures.
    """
    fig, axes = plt.subplots(1, 2, figsize=(WIDTH, 3.1), sharey=True)
    looks = ((BLUE, "o", "-"), (VERMILION, "s", "--"), (GREEN, "^", "-."))
    for ax, shares, label in zip(axes, (valid, distinct), ("grammatical", "different, among right ones"), strict=True):
        for (name, values), (colour, marker, dash) in zip(shares.items(), looks, strict=False):
            mean, spread = values.mean(0), values.std(0)
            ax.errorbar(temperatures, mean, yerr=spread, color=colour, marker=marker, linestyle=dash, label=name)
        ax.set(xlabel="temperature", ylim=(0, 1.05))
        ax.set_title(f"share that is {label}", fontweight="normal", fontsize=10.5)
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=3)
    headline(fig, "What does the temperature cost, and what does it buy?")
    return fig


def patches(images: Tensor, size: int) -> Figure:
    """Pictures with the grid by which they are cut, and each one's patches in the order in which they are read.

    Args:
        images: (picture, height, width).
        size: height and width of a patch.
    """
    side = images.shape[-1]
    per_row = side // size
    fig, axes = plt.subplots(len(images), 2, figsize=(WIDTH, 1.25 * len(images)), width_ratios=(1, 5), squeeze=False)
    for (left, right), image in zip(axes, images, strict=True):
        left.imshow(image.numpy(), cmap="qkv_weights", vmin=-0.5, vmax=1.3)
        for cut in range(size, side, size):
            left.axhline(cut - 0.5, color=VERMILION, linewidth=0.9)
            left.axvline(cut - 0.5, color=VERMILION, linewidth=0.9)
        grid = image.unflatten(0, (-1, size)).unflatten(2, (-1, size)).transpose(1, 2).flatten(0, 1)  # row by row
        sequence = torch.full((size, len(grid) * (size + 1) - 1), float("nan"))
        for i, patch in enumerate(grid):
            sequence[:, i * (size + 1) : i * (size + 1) + size] = patch
        right.imshow(sequence.numpy(), cmap="qkv_weights", vmin=-0.5, vmax=1.3)
        for ax in (left, right):
            ax.set(xticks=[], yticks=[])
            ax.grid(False)
            for spine in ax.spines.values():
                spine.set_visible(False)
    starts = [i * (size + 1) + (size - 1) / 2 for i in range(per_row * per_row)]
    axes[-1][1].set_xticks(starts, [str(i + 1) for i in range(len(starts))], fontsize=9)
    axes[-1][1].tick_params(length=0)
    headline(fig, "What does the stack read?")
    return fig


def by_pictures(results: Mapping[str, Tensor], given: Sequence[str], chance: float = 0.1) -> Figure:
    """Share of right answers, by the pictures that there were to learn from.

    Args:
        results: model -> accuracies (seed, pictures).
        given: what pictures there were, in words.
        chance: what guessing gets.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    ax.axhline(chance, color=GREY, linewidth=1, linestyle=":")
    ax.text(len(given) - 1, chance + 0.02, "guessing", color=GREY, fontsize=9, ha="right")
    for name, right in results.items():
        colour, marker, dash = LOOKS[name]
        x, mean, spread = range(len(given)), right.mean(0), right.std(0)
        ax.errorbar(x, mean, yerr=spread, color=colour, marker=marker, linestyle=dash, label=name)
    ax.set_xticks(range(len(given)), list(given))
    ax.set(xlabel="pictures to learn from", ylabel="right on fresh pictures", ylim=(0, 1.05))
    ax.set_title("How much does an assumption save?")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def tuned(new: Mapping[str, Tensor], old: Mapping[str, Tensor], floor: float) -> Figure:
    """Nats a word in the new world and in the old one, for several ways to tune.

    Args:
        new: way -> nats a word in the new world, one for each seed.
        old: the same in the old world.
        floor: nats a word of the grammar, which is the same in both.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 0.9 + 0.42 * len(new)))
    for row, name in enumerate(new):
        ends = float(new[name].mean()), float(old[name].mean())
        ax.plot(ends, (row, row), color=GREY, linewidth=1, alpha=0.6, zorder=1)
        for value, colour, marker, label in ((ends[0], BLUE, "o", "new world"), (ends[1], ORANGE, "D", "old world")):
            ax.plot(value, row, color=colour, marker=marker, linestyle="none", label=label if row == 0 else None)
    ax.axvline(floor, color=INK, linewidth=1, linestyle=":")
    ax.text(floor + 0.004, len(new) - 0.45, "entropy", fontsize=9, va="bottom")
    ax.set(xlabel="nats a word", ylim=(len(new) - 0.4, -0.7))
    ax.set_yticks(range(len(new)), list(new))
    ax.set_title("Who learns the new world, and who forgets the old one?")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def tokeniser(merges: Sequence[Sequence[int]], text: str, n_merges: int) -> Interactive:
    """A text that the reader writes, cut by as many merges as they like.

    Args:
        merges: pairs of ids, as `train_bpe` gives them.
        text: what stands there at first.
        n_merges: how many merges are made at first.
    """
    counts = sorted({0, 1, 2, 5, *range(10, len(merges), 10), len(merges), n_merges})
    return interactive(
        "Into which pieces is a text cut?",
        controls=[Slider("merges", "merges", counts, n_merges)],
        draw="tokens.js",
        still=still_tokens(merges, text, n_merges),
        alt=f"“{text}” as a row of coloured chips, one for each token, after {n_merges} merges.",
        data={"merges": [list(pair) for pair in merges], "text": text},
    )


def still_tokens(merges: Sequence[Sequence[int]], text: str, n_merges: int) -> Figure:
    """The first state of the tokeniser, without the cut into words: close enough for a still picture."""
    pieces = [bytes([byte]) for byte in text.encode()]
    spelled = [bytes([byte]) for byte in range(256)]
    for a, b in merges[:n_merges]:
        spelled.append(spelled[a] + spelled[b])
        i = 0
        while i + 1 < len(pieces):
            if (pieces[i], pieces[i + 1]) == (spelled[a], spelled[b]) and not pieces[i + 1].startswith(b" "):
                pieces[i : i + 2] = [spelled[-1]]
            i += 1
    fig, ax = plt.subplots(figsize=(WIDTH, 1.0))
    ax.set(xlim=(0, 78), ylim=(-1.2, 1.2))
    ax.axis("off")
    x, y = 0.0, 0.5
    for i, piece in enumerate(pieces):
        shown = piece.decode("utf-8", errors="replace").replace(" ", "␣")
        if x + len(shown) > 76:
            x, y = 0.0, y - 1.0
        colour = (BLUE, GREEN, ORANGE, PURPLE)[i % 4]
        box = {"facecolor": colour, "alpha": 0.25, "edgecolor": "none", "boxstyle": "round,pad=0.2"}
        ax.text(x, y, shown, fontsize=9.5, fontfamily="monospace", bbox=box, va="center")
        x += len(shown) + 1.1
    return fig


def sampler(model: nn.Module, n_heads: int, language: Any) -> Interactive:
    """The chapter's GPT, which writes in the page.

    Args:
        model: parameters as chapter 12 names them: `words`, `places`, `layers`, `norm`.
        n_heads: heads of each attention.
        language: the module of the grammar, `qkv.tasks.animals`: its words, and what it accepts.
    """
    state = {name: tensor.detach().float().cpu() for name, tensor in model.state_dict().items() if name != "output"}
    grammar = {
        "one": language.ONE,
        "many": language.MANY,
        "foods": language.FOODS,
        "places": language.PLACES,
        "does": language.ONE_DOES,
        "do": language.MANY_DO,
        "when": language.WHEN,
    }
    return interactive(
        "From what does it choose the next word?",
        controls=[
            Slider("temperature", "temperature", (0.1, 0.3, 0.5, 0.7, 0.85, 1, 1.15, 1.3, 1.5, 1.7, 2, 3), 1),
            Slider("k", "top-k", (1, 2, 3, 4, 6, 8, 12, 20, 0), 0),
            Slider("p", "top-p", (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1), 1),
            Slider("dice", "throw of the dice", range(1, 61), 1),
            Slider("word", "look at word", range(1, language.LONGEST + 1), 3),
        ],
        draw="sampler.js",
        still=still_sampler(),
        alt="A sentence that the model has written, and below it a bar for each of the twelve likeliest words at the "
        "place that is looked at: filled as far as it may be drawn, outlined as likely as it was before the cut.",
        data={
            "words": language.WORDS,
            "stop": language.STOP,
            "heads": n_heads,
            "grammar": grammar,
            "tensors": {name: in_bytes(tensor) for name, tensor in state.items()},
        },
    )


def in_bytes(tensor: Tensor) -> tuple[list[int], float, str]:
    """A tensor as its shape, a scale, and a signed byte for each number, in base 64."""
    scale = max(float(tensor.abs().max()), 1e-9) / 127
    numbers = (tensor / scale).round().to(torch.int8)
    return list(tensor.shape), scale, b64encode(bytes(n % 256 for n in numbers.flatten().tolist())).decode()


def still_sampler() -> Figure:
    """What a reader without scripts sees: the words of the grammar, and which may follow which."""
    fig, ax = plt.subplots(figsize=(WIDTH, 1.1))
    ax.axis("off")
    ax.set(xlim=(0, 10), ylim=(0, 1))
    chain = ("the", "animal", "near the place\n(0 to 3 times)", "verb", "its food", "adverb\n(or none)", ".")
    at = [0.2, 1.2, 3.1, 5.0, 6.4, 8.1, 9.7]
    for x, words in zip(at, chain, strict=True):
        ax.text(x, 0.5, words, ha="center", va="center", fontsize=9.5)
    for (x, words), (after, later) in pairwise(zip(at, chain, strict=True)):
        gap = [
            x + 0.08 * max(map(len, words.split("\n"))) + 0.12,
            after - 0.08 * max(map(len, later.split("\n"))) - 0.12,
        ]
        ax.annotate("", (gap[1], 0.5), (gap[0], 0.5), arrowprops={"arrowstyle": "->", "color": GREY})
    return fig
