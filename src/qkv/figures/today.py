"""What chapter 17 draws: facts that are kept, texts longer than in training, bits; clocks under stretch, drafts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Wedge
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILION, WIDTH

WAYS = ("nothing", "squeeze all", "another base", "by parts")
# One look for each way of stretching: colour, marker, dash.
LOOKS: dict[str, tuple[str, str, Any]] = {
    "nothing": (GREY, "x", ":"),
    "squeeze all": (ORANGE, "s", "--"),
    "another base": (PURPLE, "v", "-."),
    "by parts": (GREEN, "^", "-"),
}
ORDER: tuple[tuple[str, str, Any], ...] = (
    (VERMILION, "s", "--"),
    (BLUE, "o", "-"),
    (GREEN, "^", "-."),
    (INK, "P", ":"),
)


def kept(shares: Mapping[str, Tensor], title: str) -> Figure:
    """Which share of the facts each network keeps, as bars, the first on top.

    Args:
        shares: network -> shares (seed,).
        title: the question.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 0.9 + 0.42 * len(shares)))
    names = list(shares)
    for row, name in enumerate(names):
        mean = float(shares[name].mean())
        ax.barh(row, mean, height=0.62, color=BLUE)
        ax.plot(shares[name], [row] * len(shares[name]), "o", color=INK, markersize=4)
        ax.text(max(mean, float(shares[name].max())) + 0.015, row, f"{mean:.2f}", va="center", fontsize=9.5)
    ax.set(
        yticks=range(len(names)),
        yticklabels=names,
        xlim=(0, 1.08),
        title=title,
        xlabel="share of the facts that is kept",
    )
    ax.invert_yaxis()
    ax.grid(visible=True, axis="x")
    ax.grid(visible=False, axis="y")
    return fig


def by_length(memory: Mapping[str, Tensor], lengths: Sequence[int]) -> Figure:
    """What is remembered at the end of texts longer than those of training.

    Args:
        memory: way of stretching -> memory (seed, length).
        lengths: words of a text; the first is that of training.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.3))
    for way, found in memory.items():
        colour, marker, dash = LOOKS[way]
        spread = found.std(0) if len(found) > 1 else torch.zeros(len(lengths))
        ax.errorbar(lengths, found.mean(0), yerr=spread, color=colour, marker=marker, linestyle=dash, label=way)
    ax.set(xscale="log", title="What is remembered in longer texts?", xlabel="words", ylabel="memory", ylim=(0, 1.04))
    ax.set_xticks(lengths, [str(n) for n in lengths])
    ax.minorticks_off()
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def bits(excess: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """Nats above the floor against the bytes that weights take.

    Args:
        excess: how scales are shared -> pairs of bits a weight, scales included, and nats above the floor.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    for (name, points), (colour, marker, dash) in zip(excess.items(), ORDER, strict=False):
        ax.plot(*zip(*sorted(points), strict=True), color=colour, marker=marker, linestyle=dash, label=name)
    ax.set(
        yscale="log",
        title="What do fewer bits cost?",
        xlabel="bits a weight, scales included",
        ylabel="nats above the floor",
    )
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def speeds(way: str, factor: float, d: int, trained: int, base: float = 10000.0) -> Tensor:
    """How fast each pair turns (d/2,), float64, if texts get longer by a factor; "by parts" is the reader's to build.

    Args:
        way: "nothing", "squeeze all" (position interpolation) or "another base" (NTK).
        factor: how many times longer texts get.
        d: width of a head.
        trained: words of a text in training.
        base: of the speeds in training.
    """
    column = torch.arange(0, d, 2, dtype=torch.float64)
    if way == "another base":
        base = base * factor ** (d / (d - 2))
    return base ** (-column / d) / (factor if way == "squeeze all" else 1)


def clocks(d: int = 16, trained: int = 46, base: float = 10000.0) -> Interactive:
    """The pairs of a head as clocks, in training and in a longer text, for four ways of turning.

    Args:
        d: width of a head.
        trained: words of a text in training.
        base: of the speeds in training.
    """
    return interactive(
        "Which angles does a longer text show?",
        controls=[
            Slider("length", "words of the text", (46, 92, 184, 368), 184),
            Slider("factor", "stretched by", (1, 2, 4, 8), 4),
            Choice("how", "what is stretched", WAYS, "nothing"),
        ],
        draw="clocks.js",
        still=still_clocks(d, trained, base, 184),
        alt=f"{d // 2} dials, one for each pair of a head of width {d}. Blue is the part that texts of {trained} words "
        "showed in training, red what a text of 184 words shows beyond it: the two fast pairs come round in both, the "
        "slower ones show new angles unless they are stretched.",
        data={"d": d, "base": base, "trained": trained, "slow": 1, "fast": 4},
    )


def still_clocks(d: int, trained: int, base: float, length: int) -> Figure:
    """Every dial for a text of this length, nothing stretched."""
    fig, axes = plt.subplots(1, d // 2, figsize=(WIDTH, 1.7))
    for ax, speed in zip(axes, speeds("nothing", 1, d, trained, base).tolist(), strict=True):
        dial(ax, trained * speed, length * speed)
    fig.suptitle("Which angles does a longer text show?", x=0.02, ha="left")
    return fig


def dial(ax: Axes, seen: float, shown: float) -> None:
    """One clock: the arc that was seen, and in red what goes beyond it."""
    degrees = [min(math.degrees(angle), 360) for angle in (seen, shown)]
    ax.add_patch(Circle((0, 0), 1, fill=False, color=GREY))
    ax.add_patch(Wedge((0, 0), 1, 90 - degrees[0], 90, color=BLUE, alpha=0.3))
    if degrees[1] > degrees[0]:
        ax.add_patch(Wedge((0, 0), 1, 90 - degrees[1], 90 - degrees[0], color=VERMILION, alpha=0.7))
    ax.plot([0, math.sin(shown)], [0, math.cos(shown)], color=INK, linewidth=1.4)
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    ax.axis("off")


def drafts(contexts: Mapping[str, tuple[Tensor, Tensor]], words: Sequence[str], most: int = 6) -> Interactive:
    """What is kept of a draft and what is drawn anew, and when drafting pays.

    Args:
        contexts: name -> the large model's and the draft's probabilities of the next word, each (vocab,).
        words: the vocabulary.
        most: how many words are shown by name; the others are put together.
    """
    given = [{"name": name, **shortened(p, q, words, most)} for name, (p, q) in contexts.items()]
    first = given[0]
    return interactive(
        "What is kept of a draft, and does it pay?",
        controls=[
            Choice("context", "next word", [one["name"] for one in given], first["name"]),
            Slider("alike", "draft made alike", (0, 0.25, 0.5, 0.75, 1), 0),
            Slider("drafts", "drafts a call", range(1, 9), 3),
            Slider("cost", "cost of a draft", (0, 0.1, 0.2, 0.4, 0.6, 0.8, 1), 0.6),
        ],
        draw="drafts.js",
        still=still_drafts(first),
        alt="For each word two bars: its probability by the large model and by the draft. Where both are, a draft is "
        "kept; what the large model has beyond the draft is drawn anew. Below, how many times as fast writing becomes "
        "with one to eight drafts: with costly drafts less than once.",
        data={"contexts": given},
    )


def shortened(p: Tensor, q: Tensor, words: Sequence[str], most: int) -> dict[str, Any]:
    """The likeliest words, by either, in order; the rest as one."""
    order = torch.maximum(p, q).argsort(descending=True)[:most]
    rest = torch.ones(len(p), dtype=torch.bool)
    rest[order] = False
    both = {
        name: [round(share, 4) for share in [*shares[order].tolist(), float(shares[rest].sum())]]
        for name, shares in {"p": p, "q": q}.items()
    }
    return {"words": [words[int(i)] for i in order] + ["others"], **both}


def still_drafts(context: Mapping[str, Any]) -> Figure:
    """Both distributions of one context, side by side."""
    fig, ax = plt.subplots(figsize=(WIDTH, 2.8))
    at = torch.arange(len(context["words"]))
    ax.bar(at - 0.2, context["p"], width=0.38, color=BLUE, label="large model")
    ax.bar(at + 0.2, context["q"], width=0.38, color=ORANGE, label="draft")
    ax.set(title="What is kept of a draft, and does it pay?", ylabel="probability")
    ax.set_xticks(at.tolist(), context["words"])
    ax.legend()
    return fig
