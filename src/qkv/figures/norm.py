"""What chapter 06 draws: rows against columns, what eps does to a gradient, neighbours, and gradients by depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullFormatter
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, WIDTH

MARKERS = "osD^"
LINES = ("-", "--", "-.", ":")
COLOURS = (BLUE, VERMILION, GREEN, ORANGE)
# One look for each place of the norm in every figure: colour, marker, dash.
LOOKS = {"pre-norm": (BLUE, "o", "-"), "post-norm": (VERMILION, "s", "--"), "no norm": (GREY, "x", ":")}
MEASURES = ("the stream", "the weights")


def rows_and_columns(x: Tensor, title: str) -> Figure:
    """The numbers of a batch (token, component) twice: one row is framed, then one column."""
    fig, axes = plt.subplots(1, 2, figsize=(WIDTH, 2.7))
    fig.suptitle(title, x=0.01, ha="left")
    n, d = x.shape
    frames = {
        "layer norm: a row, one token": Rectangle((-0.5, 0.5), d, 1),
        "batch norm: a column, all tokens": Rectangle((1.5, -0.5), 1, n),
    }
    for axis, (name, frame) in zip(axes, frames.items(), strict=True):
        axis.imshow(x.numpy(), cmap="qkv_signed", vmin=-4, vmax=4, aspect="auto")
        for i in range(n):
            for j in range(d):
                ink = "#FFFFFF" if abs(x[i, j]) > 1.9 else INK
                axis.text(j, i, f"{x[i, j]:.1f}".replace("-", "−"), ha="center", va="center", color=ink, fontsize=8)
        frame.set(fill=False, edgecolor=INK, linewidth=2.4, clip_on=False, zorder=3)
        axis.add_patch(frame)
        axis.set_title(name, weight="normal")
        axis.set_xlabel("component")
        axis.set_xticks(range(d), [str(j) for j in range(d)])
        axis.set_yticks(range(n), [str(i) for i in range(n)])
        axis.grid(False)
        axis.tick_params(length=0)
    axes[0].set_ylabel("token")
    return fig


def against_sigma(sigmas: Sequence[float], sizes: Mapping[str, Tensor], title: str) -> Figure:
    """The size of a gradient against σ, both on logarithmic axes; the spread over seeds is a band.

    Args:
        sizes: name -> sizes (seed, sigma).
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.0))
    for i, (name, runs) in enumerate(sizes.items()):
        axis.fill_between(sigmas, runs.amin(0), runs.amax(0), color=COLOURS[i], alpha=0.15, linewidth=0)
        axis.plot(sigmas, runs.mean(0), color=COLOURS[i], linestyle=LINES[i], marker=MARKERS[i], label=name)
    axis.set(xscale="log", yscale="log", xlabel="σ of the vector that goes in", ylabel="size of dx", title=title)
    axis.legend(loc="upper right")
    return fig


def by_batch_size(sizes: Sequence[int], changes: Mapping[str, Tensor], title: str) -> Figure:
    """How far one vector's result moves, against the size of its batch: the mean, and a band from least to most.

    Args:
        changes: name -> changes (seed, size).
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 2.9))
    for i, (name, runs) in enumerate(changes.items()):
        axis.fill_between(sizes, runs.amin(0), runs.amax(0), color=COLOURS[i], alpha=0.15, linewidth=0)
        axis.plot(sizes, runs.mean(0), color=COLOURS[i], linestyle=LINES[i], marker=MARKERS[i], label=name)
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [str(size) for size in sizes])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set(xlabel="vectors in the batch", ylabel="relative change", title=title)
    axis.set_ylim(bottom=-0.03)
    axis.legend(loc="upper right")
    return fig


def learning(curves: Mapping[int, Mapping[str, Tensor]], chance: float, title: str) -> Figure:
    """Loss against training steps, a panel for each depth, a thin line for each seed.

    Args:
        curves: depth -> name -> losses (seed, step).
        chance: the loss of a model that guesses.
    """
    fig, axes = plt.subplots(1, len(curves), figsize=(WIDTH, 3.0), sharey=True, squeeze=False)
    fig.suptitle(title, x=0.01, ha="left")
    for axis, (depth, runs_of) in zip(axes[0], curves.items(), strict=True):
        for name, runs in runs_of.items():
            colour, marker, line = LOOKS[name]
            steps = range(runs.shape[1])
            axis.plot(steps, runs.T, color=colour, linewidth=0.6, alpha=0.5)
            mean = runs.log().mean(0).exp()
            axis.plot(steps, mean, color=colour, linestyle=line, marker=marker, markevery=20, label=name)
        axis.axhline(chance, color=GREY, linestyle=":", linewidth=1.4)
        axis.set(xlabel="training step", yscale="log")
        axis.set_title(f"{depth} layers", weight="normal")
    axes[0, 0].set_ylabel("loss")
    axes[0, 0].legend(loc="lower left")
    return fig


def layer_lines(axis: Axes, sizes: Mapping[str, Sequence[float]]) -> None:
    for name, values in sizes.items():
        colour, marker, line = LOOKS[name]
        places = range(1, len(values) + 1)
        axis.plot(places, values, color=colour, linestyle=line, marker=marker, label=name)
    axis.set(yscale="log", xlabel="layer, from the input to the output")


def gradients_by_depth(sizes: Mapping[str, Mapping[str, Mapping[int, Tensor]]], depth: int, title: str) -> Interactive:
    """Gradient norms by layer at initialisation; the reader moves the depth.

    Args:
        sizes: "the stream" or "the weights" -> place of the norm -> depth -> norms (seed, layer). What is drawn is the
            geometric mean over seeds.
        depth: where the slider stands at first.
    """
    means = {
        measure: {name: {n: geometric(runs) for n, runs in by_depth.items()} for name, by_depth in kinds.items()}
        for measure, kinds in sizes.items()
    }
    depths = list(next(iter(means[MEASURES[0]].values())))
    still, axis = plt.subplots(figsize=(WIDTH, 3.2))
    first = {name: by_depth[depth] for name, by_depth in means[MEASURES[0]].items() if name != "no norm"}
    layer_lines(axis, first)
    axis.set(ylabel="gradient, the top being 1", title=title)
    axis.legend()
    pre, post = first["pre-norm"], first["post-norm"]
    return interactive(
        title,
        controls=[
            Slider("depth", "layers", depths, depth),
            Choice("measure", "gradient of", MEASURES, MEASURES[0]),
            Choice("without", "without a norm", ("hidden", "shown"), "hidden"),
        ],
        draw="gradients_by_depth.js",
        still=still,
        alt=f"Gradient norm by layer in a stack of {depth} layers at initialisation, on a logarithmic axis. From the "
        f"output to the input the gradient of the stream grows to {pre[0]:.1f} times its size in pre-norm; in "
        f"post-norm it stays about level, at {post[0]:.1f} times.",
        data={"sizes": means, "looks": list(LOOKS)},
    )


def geometric(runs: Tensor) -> list[float]:
    """The geometric mean over seeds, rounded: numbers for a drawing."""
    return [float(f"{size:.4g}") for size in runs.double().log().mean(0).exp().tolist()]
