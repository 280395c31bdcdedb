"""What chapter 03 draws: how columns become heads, where heads look, how alike, how needed and how narrow they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive, packed
from qkv.figures.phone import keep_in_a_row
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, WIDTH

TOKENS = (SKY, ORANGE, GREEN, PURPLE)
FRIEND, RIVAL = VERMILION, GREEN  # and a circle and a square


def grid(axis: Axes, rows: Tensor, title: str, per_token: int = 10) -> None:
    """Numbers in a grid, each on the colour of the token it comes from: entry // per_token."""
    height, width = rows.shape
    for i, row in enumerate(rows.long().tolist()):
        for j, entry in enumerate(row):
            axis.add_patch(Rectangle((j, i), 1, 1, facecolor=TOKENS[entry // per_token], alpha=0.55, edgecolor="white"))
            axis.text(j + 0.5, i + 0.52, f"{entry:02}", ha="center", va="center", fontsize=9.5)
    axis.set(xlim=(-0.05, width + 0.05), ylim=(height + 0.05, -0.05), aspect="equal", xticks=[], yticks=[])
    axis.set_title(title, fontsize=10.5)
    axis.grid(False)
    for side in axis.spines.values():
        side.set_visible(False)


def cut(x: Tensor, splits: Mapping[str, Tensor], title: str) -> Figure:
    """One sequence, and what becomes of it when it is cut into heads in different ways.

    Args:
        x: (seq, d_model) entries 10·token + column.
        splits: how it was cut -> heads (head, seq, d_head).
    """
    gap = 0.7  # in columns
    widths = [x.shape[1], *(w for heads in splits.values() for w in (gap, *(len(h[0]) for h in heads)))]
    fig = plt.figure(figsize=(WIDTH, 2.9))
    keep_in_a_row(fig)
    fig.suptitle(title, x=0.01, ha="left")
    areas = fig.add_gridspec(1, len(widths), width_ratios=widths)
    grid(fig.add_subplot(areas[0]), x, "x: a row is a token")
    place = 1
    for name, heads in splits.items():
        for h, rows in enumerate(heads):
            axis = fig.add_subplot(areas[place + 1 + h])
            grid(axis, rows, f"head {h}")
            if h == 0:
                axis.set_xlabel(name, loc="left", fontsize=10.5)
        place += 1 + len(heads)
    return fig


def gazes(maps: Mapping[str, Tensor], seats: Tensor, title: str) -> Figure:
    """Where heads look in one room, and where each guest's friend (circle) and rival (square) sit.

    Args:
        maps: title of a panel -> weights (guest, guest).
        seats: (guest, 2).
    """
    fig, axes = plt.subplots(1, len(maps), figsize=(WIDTH, 3.4), sharey=True)
    fig.suptitle(title, x=0.01, ha="left")
    rows = range(len(seats))
    for axis, (name, weights) in zip(axes, maps.items(), strict=True):
        axis.imshow(weights, cmap="qkv_weights", vmin=0, vmax=1)
        friend, rival = seats.T.tolist()
        halo = [withStroke(linewidth=3.6, foreground="#FFFFFF")]  # green on dark blue can hardly be seen
        ring = {"linestyle": "none", "markerfacecolor": "none", "markeredgewidth": 1.8, "path_effects": halo}
        axis.plot(friend, rows, "o", markersize=11, color=FRIEND, label="friend", **ring)
        axis.plot(rival, rows, "s", markersize=11, color=RIVAL, label="rival", **ring)
        axis.set_title(name)
        axis.set_xticks(rows)
        axis.set_yticks(rows)
        axis.set_xlabel("seat that is looked at")
        axis.grid(False)
        axis.tick_params(length=0)
    axes[0].set_ylabel("guest who looks")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper right", ncols=2)
    return fig


def head_viewer(maps: Mapping[str, Tensor], seats: Tensor, first: str, title: str) -> Interactive:
    """The heads of several models, in a few rooms, for the reader to leaf through.

    Args:
        maps: name of a model -> weights (room, head, guest, guest).
        seats: where each guest's friend and rival sit (room, guest, 2).
        first: the model to begin with.
    """
    beginning = maps[first]
    still = gazes({f"head {h}": beginning[0, h] for h in range(min(3, beginning.shape[1]))}, seats[0], title)
    most = max(weights.shape[1] for weights in maps.values())
    return interactive(
        title,
        controls=[
            Choice("model", "model", list(maps), first),
            Slider("head", "head", range(most), 0),
            Slider("room", "room", range(len(seats)), 0),
        ],
        draw="head_viewer.js",
        still=still,
        alt="A map of one head's weights, guest by guest, with a circle on each guest's friend and a square on the "
        f"rival, beside small maps of all heads of the model. At first: head 0 of {beginning.shape[1]}.",
        data={
            "models": {name: {"heads": w.shape[1], "weights": packed(w)} for name, w in maps.items()},
            "seats": seats.tolist(),
        },
    )


def scores_by_heads(scores: Mapping[int, Tensor], d_model: int, chance: float, title: str) -> Figure:
    """Accuracy against the number of heads at equal parameters; a dot is a seed.

    Args:
        scores: number of heads -> accuracy of each seed (seed,).
        chance: what one right answer and one guess give.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.2))
    places = range(len(scores))
    for place, runs in zip(places, scores.values(), strict=True):
        sideways = [place + 0.05 * (i - (len(runs) - 1) / 2) for i in range(len(runs))]
        axis.plot(sideways, runs, "o", color=BLUE, alpha=0.55, markeredgecolor="none")
    axis.plot(places, [float(runs.mean()) for runs in scores.values()], "-", color=BLUE, zorder=1)
    axis.axhline(chance, color=GREY, linestyle=":", linewidth=1.4)
    axis.annotate(
        "one of the two known, the other guessed",
        (places[-1], chance),
        xytext=(0, 5),
        textcoords="offset points",
        ha="right",
        color=GREY,
        fontsize=9.5,
    )
    axis.set_xticks(places, [f"{n}\n{d_model // n}" for n in scores])
    axis.set(ylim=(0, 1.06), ylabel="guests with both answers right")
    axis.set_xlabel("heads (above) and columns of each head (below)")
    axis.set_title(title)
    return fig


def similarities(matrices: Mapping[str, Tensor], title: str) -> Figure:
    """How alike the heads look, as heat maps side by side.

    Args:
        matrices: title of a panel -> similarity (head, head).
    """
    fig, axes = plt.subplots(1, len(matrices), figsize=(WIDTH, 3.5))
    fig.suptitle(title, x=0.01, ha="left")
    for axis, (name, matrix) in zip(axes, matrices.items(), strict=True):
        axis.imshow(matrix, cmap="qkv_weights", vmin=0, vmax=1)
        for g, row in enumerate(matrix.tolist()):
            for h, cosine in enumerate(row):
                ink = "#FFFFFF" if cosine > 0.55 else INK
                text = f"{cosine:.1f}".removeprefix("0") if cosine < 0.95 else "1"
                axis.text(h, g, text, ha="center", va="center", fontsize=8.5, color=ink)
        axis.set_title(name)
        axis.set_xticks(range(len(matrix)))
        axis.set_yticks(range(len(matrix)))
        axis.set_xlabel("head")
        axis.grid(False)
        axis.tick_params(length=0)
    axes[0].set_ylabel("head")
    return fig


def pruning(alone: Tensor, greedy: Tensor, title: str) -> Figure:
    """What it costs to remove each head alone, and what is left when the cheapest goes first.

    Args:
        alone: accuracy without one head (seed, head).
        greedy: accuracy with 0 … n_heads heads removed (seed, n_heads + 1).
    """
    fig, (single, path) = plt.subplots(1, 2, figsize=(WIDTH, 3.2), sharey=True)
    fig.suptitle(title, x=0.01, ha="left")
    n_heads = alone.shape[1]
    markers = "osD^vP"
    for seed, (row, curve) in enumerate(zip(alone.tolist(), greedy.tolist(), strict=True)):
        look = {"marker": markers[seed], "alpha": 0.75, "linewidth": 1.4, "color": BLUE}
        single.plot(range(1, n_heads + 1), sorted(row), label=f"seed {seed}", **{**look, "linestyle": "none"})
        path.plot(range(n_heads, -1, -1), curve, **look)
    single.set_title("one head removed", fontsize=10.5)
    single.set(xlabel="which head, most needed first", ylabel="guests with both answers right", ylim=(0, 1.06))
    single.set_xticks(range(1, n_heads + 1))
    single.legend(loc="lower right")
    path.set_title("one after another, cheapest first", fontsize=10.5)
    path.set(xlabel="heads that are left")
    path.set_xticks(range(n_heads + 1))
    path.invert_xaxis()
    return fig


def narrowness(widths: Sequence[int], misplaced: Mapping[str, Tensor], title: str) -> Figure:
    """How much weight a head of a given width leaves on wrong keys.

    Args:
        widths: columns of the head.
        misplaced: kind of pattern -> share of the weight on wrong keys (width, seed).
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.0))
    looks = ((BLUE, "o", "-"), (VERMILION, "s", "--"), (GREEN, "D", "-."))
    for (name, runs), (colour, marker, line) in zip(misplaced.items(), looks, strict=False):
        middle = runs.mean(dim=1)
        axis.errorbar(
            range(len(widths)), middle, runs.std(dim=1), color=colour, marker=marker, linestyle=line, label=name
        )
    axis.set_xticks(range(len(widths)), [str(w) for w in widths])
    axis.set(xlabel="columns of the head, d_head", ylabel="weight on wrong keys", ylim=(0, 1))
    axis.set_title(title)
    axis.legend()
    return fig
