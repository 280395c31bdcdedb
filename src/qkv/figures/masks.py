"""What chapter 05 draws: masks as tables, who moves whom, what a leak does to a loss, what padding does to a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.style import BLUE, GREEN, GREY, INK, KEY, ORANGE, VALUE, VERMILION, WIDTH

MARKERS = "osD^vP"
LINES = ("-", "--", "-.", ":")
COLOURS = (BLUE, VERMILION, GREEN, ORANGE)
PAD = "·"
PADS = (0, 1, 2, 3)  # of the mask builder: how many words may be padding
NO_YES = ("no", "yes")
SIDES = ("right", "left")


def table(axis: Axes, mask: Tensor, rows: Sequence[str], columns: Sequence[str]) -> None:
    """A mask as a table: allowed is filled, hidden is crossed out."""
    axis.imshow(mask.float().numpy() * 0.55, cmap="qkv_weights", vmin=0, vmax=1)
    for i, row in enumerate(mask.tolist()):
        for j, allowed in enumerate(row):
            if not allowed:
                cross(axis, i, j)
    name_cells(axis, rows, columns)


def cross(axis: Axes, i: int, j: int) -> None:
    axis.plot([j - 0.16, j + 0.16], [i + 0.16, i - 0.16], color=GREY, linewidth=1.1)
    axis.plot([j - 0.16, j + 0.16], [i - 0.16, i + 0.16], color=GREY, linewidth=1.1)


def name_cells(axis: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    axis.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(rows)), rows)
    axis.set_xticks([x - 0.5 for x in range(len(columns) + 1)], minor=True)
    axis.set_yticks([y - 0.5 for y in range(len(rows) + 1)], minor=True)
    axis.grid(False)
    axis.grid(True, which="minor", axis="both", color=GREY, linewidth=0.6, alpha=0.5)
    axis.tick_params(which="both", length=0)
    for side in axis.spines.values():
        side.set_visible(False)


def masks_as_tables(masks: Mapping[str, Tensor], words: Sequence[str], title: str) -> Figure:
    """Masks side by side, each (query, key) or (1, key), under one title.

    Args:
        masks: what each is called -> bool mask.
        words: one for each position.
    """
    fig, axes = plt.subplots(1, len(masks), figsize=(WIDTH, 3.0), squeeze=False)
    fig.suptitle(title, x=0.01, ha="left")
    for axis, (name, mask) in zip(axes[0], masks.items(), strict=True):
        table(axis, mask.expand(len(words), len(words)), words, words)
        axis.set_title(name, weight="normal")
        axis.set_xlabel("keys")
    axes[0, 0].set_ylabel("queries")
    return fig


def influence(maps: Mapping[str, Tensor], title: str) -> Figure:
    """How far each output moves when one token is changed; what does not move at all is crossed out.

    Args:
        maps: name -> relative change (changed token, output).
    """
    fig, axes = plt.subplots(1, len(maps), figsize=(WIDTH, 3.2), squeeze=False)
    fig.suptitle(title, x=0.01, ha="left")
    for axis, (name, change) in zip(axes[0], maps.items(), strict=True):
        n = len(change)
        moved = change.T  # (output, changed token): rows look, columns are looked at, as in a mask
        axis.imshow(moved.numpy().clip(0, 1), cmap="qkv_weights", vmin=0, vmax=1)
        for i in range(n):
            for j in range(n):
                if moved[i, j] == 0:
                    cross(axis, i, j)
                else:
                    ink = "#FFFFFF" if moved[i, j] > 0.55 else INK
                    number = f"{moved[i, j]:.2f}".lstrip("0") if moved[i, j] < 1 else f"{moved[i, j]:.1f}"
                    axis.text(j, i, number, ha="center", va="center", color=ink, fontsize=8)
        name_cells(axis, [str(i) for i in range(n)], [str(j) for j in range(n)])
        axis.set_xticks(range(n), [str(j) for j in range(n)], rotation=0, ha="center")
        axis.set_title(name, weight="normal")
        axis.set_xlabel("token that was changed")
    axes[0, 0].set_ylabel("output that moves")
    return fig


def leak(curves: Mapping[str, Tensor], floor: float, title: str) -> Figure:
    """Loss against training steps on a logarithmic axis: the mean over seeds, and a thin line for each seed.

    Args:
        curves: name -> losses (seed, step).
        floor: the lowest loss that is possible without looking.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.0))
    for i, (name, runs) in enumerate(curves.items()):
        steps = range(runs.shape[1])
        axis.plot(steps, runs.T, color=COLOURS[i], linewidth=0.6, alpha=0.4)
        mean = runs.log().mean(0).exp()
        axis.plot(steps, mean, color=COLOURS[i], linestyle=LINES[i], label=name, marker=MARKERS[i], markevery=20)
    axis.axhline(floor, color=GREY, linestyle=":", linewidth=1.6, label=f"guessing: ln 8 = {floor:.3f}")
    axis.set(xlabel="training step", ylabel="loss", yscale="log", title=title, xlim=(0, runs.shape[1] - 1))
    axis.legend(loc="lower left")
    return fig


def errors_on_a_log_axis(runs: Mapping[str, Sequence[float]], title: str, label: str) -> Figure:
    """One row for each way to do it, a dot for each seed; 0 is drawn at the left edge.

    Args:
        runs: name -> the errors, one for each seed.
        label: what the errors are errors of.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 0.95 + 0.34 * len(runs)))
    smallest = 1e-17
    for row, errors in enumerate(runs.values()):
        clean = max(errors) < 1e-9
        shown = [max(error, smallest) for error in errors]
        axis.plot(shown, [row] * len(shown), "D" if clean else "o", color=VALUE if clean else KEY, markersize=6)
    axis.set_yticks(range(len(runs)), list(runs))
    axis.invert_yaxis()
    axis.axvspan(smallest / 3, 1e-14, color=VALUE, alpha=0.1, linewidth=0)
    axis.text(1e-17, 0, "rounding", color=VALUE, va="center")
    axis.set(xscale="log", xlim=(smallest / 3, 3), xlabel=label)
    fig.suptitle(title, x=0.01, ha="left")
    axis.grid(True, axis="x")
    axis.tick_params(axis="y", length=0)
    return fig


def pooled(widths: Sequence[int], errors: Mapping[str, Tensor], title: str) -> Figure:
    """How far a pooled vector is off as the batch gets wider: the mean over seeds, and a band of one deviation.

    Args:
        widths: how many padding positions there were.
        errors: name -> errors (seed, width).
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 2.8))
    for i, (name, runs) in enumerate(errors.items()):
        mean, deviation = runs.mean(0), runs.std(0)
        axis.fill_between(widths, mean - deviation, mean + deviation, color=COLOURS[i], alpha=0.15, linewidth=0)
        axis.plot(widths, mean, color=COLOURS[i], linestyle=LINES[i], marker=MARKERS[i], label=name)
    axis.set(xlabel="padding positions beside 7 real tokens", ylabel="relative error", title=title)
    axis.set_ylim(bottom=-0.02)
    axis.legend(loc="upper left")
    return fig


def weight_map(weights: Tensor, mask: Tensor, words: Sequence[str], title: str) -> Figure:
    """Weights with their numbers; a hidden pair is crossed out."""
    fig, axis = plt.subplots(figsize=(WIDTH, 4.6))
    axis.imshow(weights.numpy(), cmap="qkv_weights", vmin=0, vmax=1)
    for i in range(len(words)):
        for j in range(len(words)):
            if not mask[i, j]:
                cross(axis, i, j)
                continue
            ink = "#FFFFFF" if weights[i, j] > 0.55 else INK
            axis.text(j, i, f"{weights[i, j]:.2f}", ha="center", va="center", color=ink)
    name_cells(axis, words, words)
    axis.set(xlabel="keys: what is looked at", ylabel="queries: who looks", title=title)
    return fig


def mask_builder(
    causal_mask: Callable[[int], Tensor],
    padding_mask: Callable[[Tensor, int], Tensor],
    combine_masks: Callable[..., Tensor | None],
    masked_softmax: Callable[[Tensor, Tensor], Tensor],
    words: Sequence[str],
    vectors: Tensor,
    title: str,
) -> Interactive:
    """Causal, padding and window masks to be switched on and off, and the weights of a small attention under them.

    Every state is computed beforehand by the reader's own functions. Padding takes the place of the last words (or
    pushes the words to the right); its vector is 0.

    Args:
        words: one for each position of the widest sentence.
        vectors: one for each word (word, d); like finds like.
    """
    n = len(words)
    distances = torch.arange(n)[:, None] - torch.arange(n)
    names: list[list[list[str]]] = []  # [pads][side]
    weights: list[list[list[list[list[list[int]]]]]] = []  # [pads][side][causal][hide pads][window] -> n·n numbers
    for pads in PADS:
        names.append([])
        weights.append([])
        for side in SIDES:
            zeros = torch.zeros(pads, vectors.shape[1])
            parts = [vectors[: n - pads], zeros] if side == "right" else [zeros, vectors[: n - pads]]
            x = torch.cat(parts)
            scores = x @ x.T / math.sqrt(vectors.shape[1])
            real = padding_mask(torch.tensor([n - pads]), n)[0]  # (1, n)
            real = real if side == "right" else real.flip(-1)
            kept, blank = list(words[: n - pads]), [PAD] * pads
            names[-1].append([*kept, *blank] if side == "right" else [*blank, *kept])
            states: list[list[list[list[int]]]] = []
            for causal in (None, causal_mask(n)):
                states.append([])
                for padding in (None, real):
                    found = []
                    for window in range(1, n + 1):
                        near = distances.abs() < window
                        mask = combine_masks(causal, padding, near)
                        assert mask is not None
                        shares = (1000 * masked_softmax(scores, mask)).round().int()
                        found.append(torch.where(mask, shares, -1).flatten().tolist())
                    states[-1].append(found)
            weights[-1].append(states)
    first = weights[PADS.index(2)][0][1][1][n - 1]
    shown = torch.tensor(first).reshape(n, n)
    at_first = names[PADS.index(2)][0]
    last = at_first[n - 3]
    return interactive(
        title,
        controls=[
            Choice("causal", "hide the future", NO_YES, "yes"),
            Choice("hide", "hide padding", NO_YES, "yes"),
            Slider("pads", "padding", PADS, 2),
            Choice("side", "padding on the", SIDES, "right"),
            Slider("window", "window", list(range(1, n + 1)), n),
        ],
        draw="mask_builder.js",
        still=weight_map(shown.clamp(min=0) / 1000, shown >= 0, at_first, title),
        alt=f"A table of attention weights between {n} positions, of which the last two are padding. At first the "
        "future and the padding are hidden: only the cells on and below the diagonal, in the columns of real words, "
        f"have a weight. The row of {last} sums to 1 over {n - 2} words.",
        data={"names": names, "weights": weights, "pads": list(PADS), "pad": PAD},
    )
