"""What chapter 19 draws: when a tiny GPT learns, which of its heads remember, and the model at work in the page; and
how the chapter reads the model part by part."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.models import in_bytes
from qkv.figures.recurrence import headline
from qkv.figures.style import BLUE, GREEN, GREY, INK, VERMILION, WIDTH

LOOKS = ((BLUE, "-"), (VERMILION, "--"), (GREEN, "-."))  # colour and dash of each arm, in order


class Curve(NamedTuple):
    """How a model came along: the steps at which it was looked at, and at each of them loss and memory."""

    steps: list[int]
    loss: list[float]
    memory: list[float]


def drop(curve: Curve, low: float = 0.5, high: float = 0.9) -> tuple[int, int] | None:
    """The last step at which the model remembered less than `low`, and the first from which on it was `high` or more.

    None if it never got there.
    """
    below = [step for step, memory in zip(curve.steps, curve.memory, strict=True) if memory < low]
    last = below[-1] if below else -1
    after = [step for step, m in zip(curve.steps, curve.memory, strict=True) if m >= high and step > last]
    return (last, after[0]) if below and after else None


def learning(arms: Mapping[str, Sequence[Curve]], floor: float, title: str) -> Figure:
    """Loss above the floor, and memory, against the steps of training; the steps in which memory comes are shaded.

    Args:
        arms: kind of model -> a curve for each seed.
        floor: the loss that nobody can get below.
        title: a question.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.2))
    for (name, curves), (colour, dash) in zip(arms.items(), LOOKS, strict=False):
        for i, curve in enumerate(curves):
            label = name if i == 0 else None
            left.plot(curve.steps, curve.loss, color=colour, linestyle=dash, label=label, linewidth=1.6)
            right.plot(curve.steps, curve.memory, color=colour, linestyle=dash, linewidth=1.6)
            if span := drop(curve):
                for ax in (left, right):
                    ax.axvspan(*span, color=colour, alpha=0.12, linewidth=0)
    left.axhline(floor, color=INK, linewidth=1, linestyle=":")
    last = max(curve.steps[-1] for curves in arms.values() for curve in curves)
    left.text(last, floor - 0.03, f"floor {floor:.3f}", ha="right", va="top", fontsize=9)
    left.set(xlabel="step", ylim=(floor - 0.25, 2.5), xlim=(0, last))
    left.set_title("nats a word, fresh ledgers", fontweight="normal", fontsize=10.5)
    right.set(xlabel="step", ylim=(0, 1.05), xlim=(0, last))
    right.set_title("things and numbers remembered", fontweight="normal", fontsize=10.5)
    if len(arms) > 1:
        fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    headline(fig, title)
    return fig


def looks(model: nn.Module, ids: Tensor, rotate: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Where every head of a model looks: weights (layer, text, head, query, key).

    Args:
        model: parts and parameters as `TinyGPT` names them, ours or a student's.
        ids: texts (text, position).
        rotate: turns queries and keys by their positions, as in the model.
    """
    return through(model, ids, rotate)[2]


@torch.no_grad()
def through(
    model: nn.Module,
    ids: Tensor,
    rotate: Callable[[Tensor, Tensor], Tensor],
    change: Callable[[int, Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Read texts part by part: logits (text, position, word), what every head says (layer, text, head, position,
    d_head) and where it looks (layer, text, head, query, key).

    Args:
        model: parts and parameters as `TinyGPT` names them, ours or a student's.
        ids: texts (text, position).
        rotate: turns queries and keys by their positions, as in the model.
        change: change(layer, heads) gives what is heard in place of what the heads of a layer say (text, head,
            position, d_head), before `out_proj` mixes them.
    """
    positions = torch.arange(ids.shape[1], device=ids.device)
    mask = positions[:, None] >= positions
    said, found = [], []
    x = model.tokens(ids)  # type: ignore[operator]
    for i, layer in enumerate(model.layers):  # type: ignore[arg-type]
        attention, y = layer["attention"], layer["norm1"](x)
        q, k, v = (
            part(y).unflatten(-1, (attention.n_heads, -1)).transpose(1, 2)
            for part in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        scores = rotate(q, positions) @ rotate(k, positions).transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        heads = weights @ v if change is None else change(i, weights @ v)
        x = x + attention.out_proj(heads.transpose(1, 2).flatten(2))
        x = x + layer["feed_forward"](layer["norm2"](x))
        said.append(heads)
        found.append(weights)
    return model.out(model.norm(x)), torch.stack(said), torch.stack(found)  # type: ignore[operator]


def heads_found(after: Tensor, before: Tensor, memory: Tensor, whole: float) -> Figure:
    """What each head looks at, and what is left of the memory without it.

    Args:
        after: weight on what came after an earlier occurrence of the same word (layer, head).
        before: weight on the word before (layer, head).
        memory: share remembered without this head (layer, head).
        whole: share remembered by the whole model.
    """
    layers, heads = after.shape
    names = [f"{layer + 1}.{head + 1}" for layer in range(layers) for head in range(heads)]
    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.1), sharey=False)
    at = range(len(names))
    left.bar([i - 0.2 for i in at], before.flatten().tolist(), width=0.38, color=BLUE, label="the word before")
    label = "what came after the same word"
    left.bar([i + 0.2 for i in at], after.flatten().tolist(), width=0.38, color=VERMILION, label=label, hatch="//")
    left.set(ylim=(0, 1.05), xlabel="layer.head")
    left.set_title("weight on …", fontweight="normal", fontsize=10.5)
    right.bar(at, memory.flatten().tolist(), width=0.6, color=GREY)
    right.axhline(whole, color=INK, linewidth=1, linestyle=":")
    right.set(ylim=(0, 1.05), xlabel="layer.head that is silenced")
    right.set_title("still remembered", fontweight="normal", fontsize=10.5)
    for ax in (left, right):
        ax.set_xticks(list(at), names)
        ax.grid(visible=False, axis="x")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    headline(fig, "Which heads remember?")
    return fig


def three_answers(weight: Sequence[float], moved: Sequence[float], lost: Sequence[float]) -> Figure:
    """For each head of one layer: its weight on the answer, how far the answer moves with it, what is lost without it.

    Args:
        weight: share of its weight that lies on the answer, for each head.
        moved: share of the way that the answer goes when this head alone says what it would say elsewhere.
        lost: share of the memory that is lost when it is silenced.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.0))
    bars = (
        (weight, "weight on the answer", BLUE, ""),
        (moved, "the answer moves with it", VERMILION, "//"),
        (lost, "memory lost without it", GREY, ".."),
    )
    for i, (heights, label, colour, hatch) in enumerate(bars):
        at = [head + 0.27 * (i - 1) for head in range(len(heights))]
        ax.bar(at, heights, width=0.25, color=colour, label=label, hatch=hatch)
    ax.set_xticks(range(len(weight)), [f"2.{head + 1}" for head in range(len(weight))])
    ax.set(title="What does a head of the second layer do?", xlabel="layer.head", ylabel="share", ylim=(0, 1.05))
    ax.grid(visible=False, axis="x")
    fig.legend(loc="outside lower center", ncols=3)
    return fig


def two_maps(weights: Sequence[Tensor], titles: Sequence[str], words: Sequence[str]) -> Figure:
    """Attention maps of single heads over one text, side by side.

    Args:
        weights: maps (query, key).
        titles: which head each is.
        words: the text.
    """
    fig, axes = plt.subplots(1, len(weights), figsize=(WIDTH, 4.1), squeeze=False)
    for ax, weight, title in zip(axes[0], weights, titles, strict=True):
        ax.imshow(weight.cpu().numpy(), cmap="qkv_weights", vmin=0, vmax=1)
        ax.set_xticks(range(len(words)), words, rotation=90, fontsize=7.5)
        ax.set_yticks(range(len(words)), words, fontsize=7.5)
        ax.set_title(title, fontweight="normal", fontsize=10.5)
        ax.tick_params(length=0)
        ax.grid(False)
    headline(fig, "Where do the two heads look?")
    return fig


def keeper(model: nn.Module, n_heads: int, language: Any, text: str, heads: tuple[int, int]) -> Interactive:
    """The capstone's GPT, which reads in the page what the reader writes.

    Args:
        model: parameters as `TinyGPT` names them, two layers.
        n_heads: heads of each attention.
        language: the module of the language, `qkv.tasks.ledgers`: its words.
        text: what stands there at first, without the `<end>` in front.
        heads: of each layer the head that is shown at first, from 0.
    """
    every = ("all heads", *(f"head {head + 1}" for head in range(n_heads)))
    n = 1 + len(text.split())
    state = {name: in_bytes(tensor.detach().float().cpu()) for name, tensor in model.state_dict().items()}
    return interactive(
        "Where does it look, and what does it expect?",
        controls=[
            Slider("word", "look at word", range(1, language.LENGTH + 1), n),
            Choice("first", "layer 1", every, every[1 + heads[0]]),
            Choice("second", "layer 2", every, every[1 + heads[1]]),
        ],
        draw="keeper.js",
        still=still_keeper(text),
        alt="A ledger, line by line, twice: once for each layer, each word shaded by the weight that it gets from the "
        "word at the cursor. Below them a bar for each of the six likeliest next words.",
        data={
            "words": language.WORDS,
            "end": language.END,
            "length": language.LENGTH,
            "heads": n_heads,
            "text": text,
            "tensors": state,
        },
    )


def still_keeper(text: str) -> Figure:
    """What a reader without scripts sees: the ledger, line by line."""
    words = text.split()
    lines = [words[i : i + 4] for i in range(0, len(words), 4)]
    fig, ax = plt.subplots(figsize=(WIDTH, 0.3 + 0.24 * len(lines)))
    ax.axis("off")
    ax.set(xlim=(0, 8), ylim=(len(lines) - 0.5, -0.5))
    for row, line in enumerate(lines):
        for column, word in enumerate(line):
            ax.text(0.1 + column, row, word, va="center", fontsize=10)
    return fig
