"""What chapter 01 draws: words on a plane, maps of attention, how sharp and how learnable a lookup is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive, packed
from qkv.figures.style import CYCLE, GREY, INK, KEY, QUERY, VALUE, WIDTH

AXES = ("names a thing", "is something done")
TURN, STRETCH, LONGEST = 5, 0.5, 3.0  # of the dial: degrees, steps of length, the longest query
ENTRIES = (-2, -1, 0, 1, 2)  # of the playground: what each number of W_Q can be
SEEKERS = {"tt": "things seek things", "dt": "deeds seek things", "td": "things seek deeds", "dd": "deeds seek deeds"}
MARKERS = "osD^vP"
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


def together(words: Sequence[str], points: Tensor) -> dict[tuple[float, float], str]:
    """Where each word lies; words that share a place share a label."""
    places: dict[tuple[float, float], list[str]] = {}
    for word, (x, y) in zip(words, points.tolist(), strict=True):
        places.setdefault((x, y), []).append(word)
    return {place: ", ".join(found) for place, found in places.items()}


def word_plane(words: Sequence[str], keys: Tensor, query: Tensor, weights: Tensor, title: str) -> Figure:
    """Keys and one query as arrows on the plane, and the weights that follow.

    Args:
        words: one for each key.
        keys: (key, 2).
        query: (2,).
        weights: (key,).
    """
    fig, (plane, bars) = plt.subplots(1, 2, figsize=(WIDTH, 3.1), width_ratios=(1.15, 1))
    fig.suptitle(title, x=0.01, ha="left")
    arrow = {"arrowstyle": "-|>", "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    for (x, y), label in together(words, keys).items():
        far = math.hypot(x, y) > 0
        if far:
            plane.annotate("", (x, y), (0, 0), arrowprops={**arrow, "color": KEY})
        plane.plot(x, y, "o", color=KEY, markersize=4)
        offset, align = (
            ((0, 8), "center") if far and x >= y else ((8, -4) if far else (-6, 6), "left" if far else "right")
        )
        plane.annotate(label, (x, y), xytext=offset, textcoords="offset points", ha=align)
    plane.annotate("", query.tolist(), (0, 0), arrowprops={**arrow, "color": QUERY, "linewidth": 2.6})
    plane.annotate(
        "the query",
        query.tolist(),
        xytext=(0, -15),
        textcoords="offset points",
        ha="center",
        color=QUERY,
        weight="bold",
    )
    plane.set(xlim=(-1.25, 2.5), ylim=(-0.6, 2.4), xlabel=AXES[0], ylabel=AXES[1], aspect="equal")
    plane.set_xticks([0, 1, 2])
    plane.set_yticks([0, 1, 2])
    plane.grid(True, axis="both")
    weight_bars(bars, words, weights)
    return fig


def weight_bars(bars: Axes, words: Sequence[str], weights: Tensor) -> None:
    """One bar for each word, with its number."""
    rows = range(len(words))
    bars.barh(rows, weights.tolist(), color=QUERY, height=0.62)
    bars.set_yticks(rows, words)
    bars.invert_yaxis()
    for row, weight in enumerate(weights.tolist()):
        bars.text(weight + 0.012, row, f"{weight:.3f}", va="center", fontsize=9.5)
    bars.set(xlim=(0, max(0.72, float(weights.max()) + 0.16)), xlabel="weight")
    bars.grid(False)
    bars.tick_params(axis="y", length=0)
    bars.spines["left"].set_visible(False)


def query_dial(
    lookup: Callable[[Tensor, Tensor, Tensor], Tensor],
    words: Sequence[str],
    keys: Tensor,
    values: Tensor,
    columns: Sequence[str],
    title: str,
) -> Interactive:
    """A query that the reader turns and stretches. What it finds is computed beforehand, by the reader's own lookup.

    Args:
        lookup: takes q, k, v and averages the values; called once, for every state of the figure.
        words: one for each key.
        keys: (key, 2).
        values: (key, d_v), none of them negative.
        columns: what each column of the values means.
    """
    lengths = torch.arange(0, LONGEST + STRETCH / 2, STRETCH)
    degrees = torch.arange(-180.0, 180.0 + TURN / 2, TURN)
    circle = torch.stack([degrees.deg2rad().cos(), degrees.deg2rad().sin()], dim=-1)
    queries = (lengths[:, None, None] * circle).flatten(0, 1)
    weights = lookup(queries, keys, torch.eye(len(words)))  # values that tell who is who
    weights = weights.unflatten(0, (len(lengths), len(degrees)))
    first = torch.tensor([2.0, 0.0])
    found = weights[round(2 / STRETCH), round(180 / TURN)]
    best = words[int(found.argmax())]
    return interactive(
        title,
        controls=[
            Slider("direction", "direction", [int(angle) for angle in degrees], 0),
            Slider("length", "length", lengths.tolist(), 2.0),
        ],
        draw="lookup.js",
        still=word_plane(words, keys, first, found, title),
        alt=f"A plane with the keys of {len(words)} words and a query that can be turned and stretched. At first it "
        f"has length 2 and points along the first axis; {best} gets a weight of {found.max():.2f}.",
        data={
            "words": list(words),
            "keys": [{"x": x, "y": y, "label": label} for (x, y), label in together(words, keys).items()],
            "weights": (1000 * weights).round().int().tolist(),
            "values": values.tolist(),
            "most": float(values.max()),
            "columns": list(columns),
            "axes": AXES,
            "turn": TURN,
            "stretch": STRETCH,
            "longest": LONGEST,
        },
    )


def sentence_playground(
    lookup: Callable[[Tensor, Tensor, Tensor], Tensor],
    words: Sequence[str],
    x: Tensor,
    w_q: Sequence[Sequence[int]],
    asker: str,
    title: str,
) -> Interactive:
    """A sentence that looks itself up, with a W_Q that the reader sets; W_K and W_V change nothing.

    Args:
        lookup: takes q, k, v and averages the values; called once, for every W_Q that can be set.
        words: the sentence.
        x: a vector for each word, "names a thing" and "is something done" (word, 2), none of it negative.
        w_q: the matrix to begin with; its entries are among ENTRIES.
        asker: the word to begin with.
    """
    grid = torch.cartesian_prod(*[torch.tensor(ENTRIES, dtype=x.dtype)] * 4).view(-1, 2, 2)
    keys, names = x.expand(len(grid), -1, -1), torch.eye(len(words)).expand(len(grid), -1, -1)
    weights = lookup(x @ grid.transpose(-2, -1), keys, names)  # (W_Q, query, key)
    first = [entry for row in w_q for entry in row]
    state = int((grid.flatten(1) == torch.tensor(first)).all(dim=-1).nonzero())
    shares = weights[state, list(words).index(asker)]
    still, axis = plt.subplots(figsize=(WIDTH, 2.4))
    weight_bars(axis, words, shares)
    axis.set_title(f"Whom does “{asker}” hear?")
    return interactive(
        title,
        controls=[
            *(Slider(name, label, ENTRIES, start) for (name, label), start in zip(SEEKERS.items(), first, strict=True)),
            Choice("asker", "who looks", list(words), asker),
        ],
        draw="sentence.js",
        still=still,
        alt="The sentence twice, one above the other, with lines from each word to the words that it hears, thick "
        f"where the weight is large. At first {asker} is chosen and hears {words[int(shares.argmax())]} most, with a "
        f"weight of {shares.max():.2f}.",
        data={
            "words": list(words),
            "x": [[int(entry) for entry in row] for row in x.tolist()],
            "names": list(SEEKERS),
            "entries": ENTRIES,
            "weights": packed(weights),
            "most": float(x.max()),
        },
    )


def attention_maps(maps: Mapping[str, Tensor], rows: Sequence[str], columns: Sequence[str] | None = None) -> Figure:
    """Weights as heat maps side by side, a title each; a row is a query and sums to 1.

    Args:
        maps: title -> weights (query, key).
        rows: one word for each query.
        columns: one word for each key; the rows' words if the sequence looks itself up.
    """
    columns = rows if columns is None else columns
    height = 0.9 + WIDTH / len(maps) * 0.8 * len(rows) / len(columns)
    fig, axes = plt.subplots(1, len(maps), figsize=(WIDTH, height), squeeze=False)
    for axis, (title, weights) in zip(axes[0], maps.items(), strict=True):
        axis.imshow(weights.detach().numpy(), cmap="qkv_weights", vmin=0, vmax=1, aspect="equal")
        axis.set_title(title)
        axis.set_xticks(range(len(columns)), columns, rotation=35, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(rows)), rows)
        axis.set_xlabel("keys: what is looked at")
        axis.grid(False)
        axis.tick_params(length=0)
        for i, row in enumerate(weights.tolist()):
            for j, weight in enumerate(row):
                ink = "#FFFFFF" if weight > 0.55 else INK
                axis.text(j, i, f"{weight:.2f}"[1:] if weight < 0.995 else "1", ha="center", va="center", color=ink)
    axes[0, 0].set_ylabel("queries: who looks")
    return fig


def sharpness(lengths: Tensor, weights: Tensor, words: Sequence[str], title: str) -> Figure:
    """Every word's weight as the query grows longer.

    Args:
        lengths: (n,).
        weights: (n, key).
        words: one for each key; words whose curves coincide share a label.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 2.9))
    curves: dict[tuple[float, ...], list[str]] = {}
    for word, curve in zip(words, weights.T.tolist(), strict=True):
        curves.setdefault(tuple(round(w, 6) for w in curve), []).append(word)
    for i, (curve, names) in enumerate(curves.items()):
        axis.plot(lengths, curve, color=CYCLE[i], linestyle=LINES[i], label=", ".join(names))
    axis.set(xlabel="length of the query", ylabel="weight", ylim=(-0.01, 1.02), title=title)
    axis.set_xlim(float(lengths[0]), float(lengths[-1]))
    axis.legend(loc="center right")
    return fig


def landscape(angles: Tensor, losses: Mapping[str, Tensor], title: str) -> Figure:
    """The loss as the query turns, one curve for each kind of lookup."""
    fig, axis = plt.subplots(figsize=(WIDTH, 2.7))
    for i, (name, loss) in enumerate(losses.items()):
        axis.plot(angles, loss, color=(KEY, QUERY)[i % 2], linestyle=LINES[i], label=name)
    axis.set(xlabel="direction of the query, in degrees", ylabel="loss", title=title, xlim=(-180, 180))
    axis.set_ylim(bottom=-4)
    axis.set_xticks(range(-180, 181, 60))
    axis.legend(loc="upper left")
    return fig


def learning(steps: Sequence[int], curves: Mapping[str, Tensor], chance: float, title: str) -> Figure:
    """Accuracy against training steps: the mean over seeds, and a thin line for each seed.

    Args:
        steps: at which steps accuracy was measured.
        curves: name -> accuracies (seed, step).
        chance: the accuracy of guessing.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 2.9))
    colours = (VALUE, QUERY, KEY, CYCLE[3], CYCLE[4])
    for i, (name, runs) in enumerate(curves.items()):
        axis.plot(steps, runs.T, color=colours[i], linewidth=0.7, alpha=0.45)
        axis.plot(steps, runs.mean(0), color=colours[i], marker=MARKERS[i], label=name)
    axis.axhline(chance, color=GREY, linestyle=":", linewidth=1.4, label="guessing")
    axis.set(xlabel="training step", ylabel="right key found", ylim=(0, 1.04), title=title)
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.5))
    return fig
