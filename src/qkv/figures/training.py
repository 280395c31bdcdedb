"""What chapter 09 draws: schedules, Adam's correction, runs with and without warm-up, calibration, float16."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from torch import Tensor

from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILION, WIDTH

COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE)
LINES = ("-", "--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)))
MARKERS = "osD^v"
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")  # 100, not 10²
FLOAT16 = (-24, 16)  # powers of two: the smallest number that it has, and the largest that it has not


def schedules(rates: Mapping[str, Tensor], title: str) -> Figure:
    """Learning rates against the step.

    Args:
        rates: name -> the rate of steps 1, 2, … (step,).
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.0))
    for i, (name, curve) in enumerate(rates.items()):
        steps = torch.arange(1, len(curve) + 1)
        axis.plot(steps, 1000 * curve, color=COLOURS[i], linestyle=LINES[i], label=name)
        top = int(curve.argmax())
        axis.plot(steps[top], 1000 * curve[top], color=COLOURS[i], marker=MARKERS[i])
    axis.set(xlabel="step", ylabel="rate, in thousandths", title=title)
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper right")
    return fig


def uncorrected(ratios: Mapping[str, Tensor], title: str) -> Figure:
    """How much too large Adam's steps are without the correction, against the number of the step, (step,) each."""
    fig, axis = plt.subplots(figsize=(WIDTH, 2.9))
    for i, (name, ratio) in enumerate(ratios.items()):
        steps = torch.arange(1, len(ratio) + 1)
        marks = [0, 2, 9, 29, 99, 299]
        axis.plot(steps, ratio, color=COLOURS[i], linestyle=LINES[i], marker=MARKERS[i], markevery=marks, label=name)
    axis.axhline(1, color=GREY, linewidth=1.2)
    axis.set(xscale="log", xlabel="step", ylabel="times the corrected step", title=title)
    axis.xaxis.set_major_formatter(PLAIN)
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper right")
    return fig


def panels(
    kinds: Mapping[str, Mapping[str, Tensor]],
    title: str,
    ylabel: str,
    chance: float | None = None,
    log_steps: bool = False,
) -> Figure:
    """Something that was followed through training, a panel for each kind of model, a thin line for each seed.

    Args:
        kinds: kind of model -> name of the schedule -> values (seed, step), on a logarithmic axis.
        chance: the value of a model that guesses.
        log_steps: whether the steps are on a logarithmic axis as well, so that the first ones can be seen.
    """
    fig, axes = plt.subplots(1, len(kinds), figsize=(WIDTH, 3.3), sharey=True, squeeze=False)
    fig.suptitle(title, x=0.01, ha="left")
    names = list(dict.fromkeys(name for runs_of in kinds.values() for name in runs_of))
    for axis, (kind, runs_of) in zip(axes[0], kinds.items(), strict=True):
        for name, runs in runs_of.items():
            i = names.index(name)
            steps = torch.arange(1, runs.shape[1] + 1)
            axis.plot(steps, runs.T, color=COLOURS[i], linewidth=0.5, alpha=0.35)
            marks = [0, 1, 3, 9, 29, 99] if log_steps else [*range(10 * i, len(steps), 50)]
            mean = runs.log().mean(0).exp()
            axis.plot(steps, mean, color=COLOURS[i], linestyle=LINES[i], marker=MARKERS[i], markevery=marks, label=name)
        if chance is not None:
            axis.axhline(chance, color=GREY, linestyle=":", linewidth=1.4)
        axis.set(xlabel="training step", yscale="log")
        if log_steps:
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter(PLAIN)
        axis.set_title(kind, weight="normal")
    axes[0, 0].set_ylabel(ylabel)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), handlelength=2.6)
    return fig


def reliability(tasks: Mapping[str, Mapping[str, tuple[Tensor, Tensor]]], title: str) -> Figure:
    """How often a model is right against how sure it is, a panel for each task. On the diagonal it tells the truth.

    Args:
        tasks: task -> name -> confidence and whether it was right, (answers,) each.
    """
    fig, axes = plt.subplots(1, len(tasks), figsize=(WIDTH, 3.5), sharey=True, squeeze=False)
    fig.suptitle(title, x=0.01, ha="left")
    edges = torch.linspace(0, 1, 11)
    for axis, (task, answers) in zip(axes[0], tasks.items(), strict=True):
        axis.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.4)
        for i, (name, (sure, right)) in enumerate(answers.items()):
            bins = torch.bucketize(sure, edges[1:-1])
            filled = [b for b in range(10) if (bins == b).sum() >= 50]  # fewer answers say nothing
            x = [float(sure[bins == b].mean()) for b in filled]
            y = [float(right[bins == b].float().mean()) for b in filled]
            axis.plot(x, y, color=COLOURS[i], linestyle=LINES[i], marker=MARKERS[i], label=name)
        axis.set(xlabel="how sure the model is", xlim=(0, 1.02), ylim=(0, 1.03))
        axis.set_title(task, weight="normal")
    axes[0, 0].set_ylabel("how often it is right")
    axes[0, 0].legend(loc="lower right")
    axes[0, 0].text(0.1, 0.16, "the truth", color=GREY, rotation=38, fontsize=9)
    return fig


def arrows(before: Sequence[float], after: Mapping[str, Sequence[float]], limit: float, title: str) -> Figure:
    """A gradient of two numbers and what kinds of clipping make of it, each with a circle of the length allowed."""
    fig, axes = plt.subplots(1, len(after), figsize=(WIDTH, 2.2), sharex=True, sharey=True)
    fig.suptitle(title, x=0.01, ha="left")
    for i, (axis, (name, point)) in enumerate(zip(axes, after.items(), strict=True)):
        circle = plt.Circle((0, 0), limit, fill=False, color=GREY, linewidth=1.2, linestyle=":")
        axis.add_patch(circle)
        style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 12}
        axis.annotate("", before, (0, 0), arrowprops={**style, "color": GREY, "linewidth": 1.4})
        axis.annotate("", point, (0, 0), arrowprops={**style, "color": COLOURS[i], "linewidth": 2.6})
        axis.set_title(name, weight="normal")
        axis.set(xlim=(-0.4, before[0] + 0.4), ylim=(-0.4, max(before[1], limit) + 0.5), aspect="equal")
        axis.set_xlabel("first weight")
    axes[0].set_ylabel("second weight")
    return fig


def exponents(gradients: Mapping[str, Tensor], title: str) -> Figure:
    """Sizes of gradients as powers of two, and what float16 can hold, a panel for each set of gradients.

    Args:
        gradients: name -> numbers of any shape; zeros are left out.
    """
    fig, axes = plt.subplots(len(gradients), 1, figsize=(WIDTH, 1.2 + 1.35 * len(gradients)), sharex=True, sharey=True)
    fig.suptitle(title, x=0.01, ha="left")
    low, high = FLOAT16
    edges = torch.arange(-36, 20).tolist()
    for axis, (name, numbers) in zip(axes, gradients.items(), strict=True):
        sizes = numbers[numbers != 0].abs().log2()
        counts = torch.histogram(sizes.float().cpu(), torch.tensor(edges, dtype=torch.float32)).hist / sizes.numel()
        lost = [GREY if left < low - 1 else BLUE for left in edges[:-1]]
        axis.bar(edges[:-1], counts.tolist(), width=0.9, align="edge", color=lost)
        for edge in (low, high):
            axis.axvline(edge, color=INK, linewidth=1.2, linestyle="--")
        axis.axvspan(low, low + 10, color=ORANGE, alpha=0.15, linewidth=0)
        axis.set_title(name, weight="normal")
        axis.set_yticks([])
        axis.grid(False)
        axis.spines["left"].set_visible(False)
    top = 1.3 * axes[0].get_ylim()[1]  # room for words above the bars
    axes[0].set_ylim(top=top)
    for x, word, side in (
        (low - 0.6, "becomes 0", "right"),
        (low + 5, "loses digits", "center"),
        (high + 0.6, "inf", "left"),
    ):
        axes[0].text(x, 0.88 * top, word, ha=side, fontsize=9.5)
    axes[-1].set_xlabel("size of a gradient, as a power of two")
    return fig


def scale_history(scales: Sequence[float], skipped: Sequence[int], title: str) -> Figure:
    """The loss scale step by step, with the steps that were skipped.

    Args:
        scales: the scale that each step used.
        skipped: numbers of the steps, from 1, whose gradients were not finite.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 2.7))
    powers = [math.log2(scale) for scale in scales]
    steps = range(1, len(scales) + 1)
    axis.step(steps, powers, where="mid", color=BLUE)
    marks = [powers[step - 1] for step in skipped]
    axis.plot(
        skipped, marks, linestyle="", marker="x", markersize=7, markeredgewidth=2, color=VERMILION, label="skipped"
    )
    axis.set(xlabel="step", ylabel="log₂ of the scale", title=title)
    axis.legend(loc="lower right")
    return fig
