"""What chapter 18 draws: what search makes of a judge, pairs under DPO, tries, the bill, and two figures that move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.recurrence import headline
from qkv.figures.style import BLUE, GREEN, GREY, INK, VERMILION, WIDTH

SHOWN = 6  # answers of the figure with one preference


@dataclass(frozen=True)
class Look:
    """How a policy stood at a step of its training."""

    step: int
    seen: float  # mean reward: what its judge sees
    truth: float  # share of right answers
    entropy: float  # nats a word
    kl: float  # nats an answer, from where training started
    wrote: Sequence[tuple[str, bool]]  # some answers, and whether they are right


def best_of(found: Mapping[int, tuple[float, float]], checker: float) -> Figure:
    """What a learned judge thinks of the best of n answers, and how often that is right.

    Args:
        found: n -> share of right answers, mean score of the judge.
        checker: how often there is a right answer among the largest n.
    """
    fig, axes = plt.subplots(1, 2, figsize=(WIDTH, 2.8))
    n = list(found)
    for axis, values, label, colour in zip(
        axes,
        ([score for _, score in found.values()], [right for right, _ in found.values()]),
        ("what the judge thinks", "right answers"),
        (VERMILION, BLUE),
        strict=True,
    ):
        axis.plot(n, values, color=colour, marker="o")
        axis.set(xscale="log", xlabel="answers to choose from", ylabel=label)
        axis.set_xticks(n, [str(one) for one in n])
        axis.minorticks_off()
    axes[1].plot(n[-1:], [checker], color=GREEN, marker="s", linestyle="none")
    axes[1].annotate("the checker ", (n[-1], checker), ha="right", va="center", fontsize=9.5)
    axes[1].set_ylim(0, 1.05)
    headline(fig, "What does a judge find among many answers?")
    return fig


def displaced(runs: Mapping[str, tuple[Tensor, Tensor]]) -> Figure:
    """By how much the log-probabilities of chosen and rejected answers changed, a panel for each run.

    Args:
        runs: name -> change of the chosen (pair,), change of the rejected (pair,), in nats.
    """
    fig, axes = plt.subplots(1, len(runs), figsize=(WIDTH, 3.0), sharex=True, sharey=True)
    for axis, (name, (chosen, rejected)) in zip(axes, runs.items(), strict=True):
        axis.axhline(0, color=GREY, linewidth=1)
        axis.scatter(rejected.cpu(), chosen.cpu(), s=9, color=BLUE, alpha=0.5, linewidths=0)
        axis.set_title(name, fontsize=10.5, weight="normal")
        axis.set_xlabel("rejected answer, change in nats")
    axes[0].set_ylabel("chosen answer, change in nats")
    headline(fig, "Do preferred answers become likelier?")
    return fig


def tries(found: Mapping[str, Mapping[int, float]]) -> Figure:
    """Share of errands for which one of k answers is right: model -> k -> share."""
    fig, axis = plt.subplots(figsize=(WIDTH, 2.8))
    for (name, passed), colour, marker in zip(found.items(), (BLUE, VERMILION), "os", strict=True):
        axis.plot(list(passed), list(passed.values()), color=colour, marker=marker, label=name)
    ticks = list(next(iter(found.values())))
    axis.set(xscale="log", xlabel="answers, k", ylabel="one of them is right", ylim=(0, 1.05))
    axis.set_xticks(ticks, [str(k) for k in ticks])
    axis.minorticks_off()
    axis.legend(loc="lower right")
    axis.set_title("Surer, or narrower?")
    return fig


def bill(found: Mapping[str, tuple[float, float, float, float]]) -> Figure:
    """What each stage does of what it is asked, and what it has lost.

    Args:
        found: stage -> right, right at temperature 0, other verbs followed, nats a word on the base text.
    """
    fig, axes = plt.subplots(1, 2, figsize=(WIDTH, 0.9 + 0.3 * len(found)), sharey=True)
    rows = list(range(len(found), 0, -1))
    axes[0].plot([row[0] for row in found.values()], rows, "o", color=BLUE, label="right")
    axes[0].plot([row[1] for row in found.values()], rows, "|", color=BLUE, markersize=9, label="right, greedily")
    axes[1].plot([row[3] for row in found.values()], rows, "s", color=VERMILION)
    axes[0].set(xlabel="does what it is asked (bars: at temperature 0)", xlim=(0, 1.03))
    axes[1].set(xlabel="nats a word on the base text")
    axes[1].set_xlim(left=0)
    axes[0].set_yticks(rows, list(found))
    axes[0].set_ylim(0.4, len(found) + 0.6)
    for axis in axes:
        axis.grid(visible=True, axis="both")
    headline(fig, "What did each step buy, and what did it break?")
    return fig


# ---- one preference


def preference(
    model: nn.Module,
    log_p: Callable[[nn.Module, Tensor], Tensor],
    asked: Tensor,
    write: Callable[..., Tensor],
    errands: Any,
) -> Interactive:
    """Six answers to one errand; a reader prefers one to another, and steps of DPO move all of them.

    A small step along the gradient of log p(chosen) - log p(rejected) changes log p(a) by the product of its own
    gradient with that one. These products are the model's; larger steps follow the same directions. The figure begins
    with the pair for which the chosen answer falls most.

    Args:
        model: what answers.
        log_p: the chapter's: model, ids -> log-probability of each answer (n,), with gradients.
        asked: one errand (1, ASKED).
        write: the chapter's: model, errands, generator -> ids (n, LENGTH).
        errands: the module of the task, `qkv.tasks.errands`: its words, and its checker.
    """
    answers, p, kernel = answers_and_gradients(model, log_p, asked, write)
    said = [errands.text(row).partition("= ")[2].removesuffix("<end>").strip() for row in answers]
    right = errands.right(answers).tolist()
    shown = [f"{words or '(nothing)'}{' ✓' if ok else ''}" for words, ok in zip(said, right, strict=True)]
    own = kernel.diagonal()[:, None] - kernel  # (chosen, rejected): what a step does to the chosen one itself
    chosen, rejected = divmod(int(own.fill_diagonal_(torch.inf).argmin()), len(shown))
    return interactive(
        "Where does the gap come from?",
        controls=[
            Choice("chosen", "preferred", shown, shown[chosen]),
            Choice("rejected", "to", shown, shown[rejected]),
            Slider("beta", "β", (0.1, 0.3, 1, 2, 4), 0.1),
            Slider("step", "steps", range(41), 0),
        ],
        draw="preference.js",
        still=still_preference(shown, p),
        alt="Six answers to one errand with a bar for how likely each is, and one for all other answers. Steps of DPO "
        "on one pair move all bars.",
        data={"answers": shown, "p": [float(f"{one:.4g}") for one in p.tolist()], "kernel": rounded(kernel)},
    )


def answers_and_gradients(
    model: nn.Module, log_p: Callable[[nn.Module, Tensor], Tensor], asked: Tensor, write: Callable[..., Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest of 400 answers (SHOWN, LENGTH), their probabilities, and the products of their gradients."""
    drawn = write(model, asked.repeat(400, 1), torch.Generator(asked.device).manual_seed(3)).unique(dim=0)
    with torch.no_grad():
        order = log_p(model, drawn).argsort(descending=True)
    answers = drawn[order[:SHOWN]]
    gradients = []
    for answer in answers:
        slopes = torch.autograd.grad(log_p(model, answer[None])[0], list(model.parameters()))
        gradients.append(torch.cat([slope.flatten() for slope in slopes]))
    rows = torch.stack(gradients)
    with torch.no_grad():
        return answers, log_p(model, answers).exp(), rows @ rows.T


def rounded(table: Tensor) -> list[list[float]]:
    return [[round(entry, 2) for entry in row] for row in table.tolist()]


def still_preference(shown: Sequence[str], p: Tensor) -> Figure:
    """What a reader without scripts sees: the answers before any step."""
    fig, axis = plt.subplots(figsize=(WIDTH, 2.4))
    rows = range(len(shown) + 1, 0, -1)
    axis.barh(list(rows), [*p.tolist(), 1 - p.sum().item()], color=BLUE, alpha=0.8)
    axis.set_yticks(list(rows), [*(words.replace("✓", "(right)") for words in shown), "any other"])
    axis.set(xlim=(0, 1), xlabel="probability")
    return fig


# ---- four judges


def judges(runs: Mapping[str, Sequence[Look]]) -> Interactive:
    """Trainings that differ in their reward: what the judge sees, what is true, and what is written, step by step.

    Args:
        runs: reward -> how the policy stood, as `Look`s of equally spaced steps.
    """
    last = max(look.step for seen in runs.values() for look in seen)
    steps = [look.step for look in max(runs.values(), key=len)]
    for before, after in pairwise(steps):
        if after - before != steps[1] - steps[0]:
            raise ValueError(f"the steps are {steps}, expected equally spaced ones.")
    return interactive(
        "What becomes of a model that is rewarded for this?",
        controls=[
            Choice("reward", "reward", list(runs), next(iter(runs))),
            Slider("step", "after step", steps, steps[0]),
        ],
        draw="judges.js",
        still=still_judges(runs),
        alt="Two curves over the steps of a training, what the judge sees and what is true, with a line at one step; "
        "below it the entropy, the distance from the start, and three answers that the model writes at this step.",
        data={"last": last, "runs": {name: [as_numbers(look) for look in seen] for name, seen in runs.items()}},
    )


def as_numbers(look: Look) -> dict[str, Any]:
    return {
        "step": look.step,
        "seen": round(look.seen, 3),
        "truth": round(look.truth, 3),
        "entropy": round(look.entropy, 3),
        "kl": round(look.kl, 2),
        "wrote": [[text, bool(ok)] for text, ok in look.wrote],
    }


def still_judges(runs: Mapping[str, Sequence[Look]]) -> Figure:
    """What a reader without scripts sees: a panel for each reward."""
    fig, axes = plt.subplots(1, len(runs), figsize=(WIDTH, 2.3), sharey=True)
    for axis, (name, seen) in zip(axes, runs.items(), strict=True):
        steps = [look.step for look in seen]
        axis.plot(steps, [look.seen for look in seen], color=VERMILION, linestyle="--", label="the judge sees")
        axis.plot(steps, [look.truth for look in seen], color=BLUE, label="truth")
        axis.set_title(name, fontsize=10.5, weight="normal")
        axis.set(xlabel="step", ylim=(0, 1.03))
    axes[-1].legend(loc="lower left", fontsize=8.5, labelcolor=INK)
    return fig
