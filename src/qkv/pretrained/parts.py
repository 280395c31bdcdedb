"""What a layout is made of: a tensor of a file, and what our parameters take of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from torch import Tensor, nn

from qkv.pretrained.checkpoint import Config, Shape

Convert = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Part:
    """One tensor of a file, and what our parameters take of it."""

    name: str
    shape: Shape
    ours: Mapping[str, Convert]


@dataclass(frozen=True)
class Layout:
    """How one architecture is laid out in a file.

    `model` builds ours from the configuration and the names in the file, `parts` says what becomes of every tensor.
    """

    title: str
    classes: tuple[str, ...]  # as config.json calls them
    model: Callable[[Config, set[str]], nn.Module]
    parts: Callable[[Config, set[str]], Iterator[Part]]
    rename: Callable[[str], str] = field(default=str)
    unused: str = ""  # pattern of tensors that are there for other purposes
    copies: Mapping[str, str] = field(default_factory=dict)  # a tensor that may be there again under another name
    computed: Callable[[Config], Mapping[str, Tensor]] = lambda config: {}  # buffers that no file holds


def same(tensor: Tensor) -> Tensor:
    return tensor


def turned(tensor: Tensor) -> Tensor:
    return tensor.T


def third(i: int, turn: bool) -> Convert:
    """One of the three projections that GPT-2 keeps side by side."""

    def convert(tensor: Tensor) -> Tensor:
        piece = tensor.chunk(3, dim=-1)[i]
        return piece.T if turn else piece

    return convert


def plain(theirs: str, ours: str, *shape: int) -> Part:
    return Part(theirs, shape, {ours: same})


def linear(theirs: str, ours: str, d_in: int, d_out: int) -> Iterator[Part]:
    """A weight (d_out, d_in), as in nn.Linear, and its bias."""
    yield plain(f"{theirs}.weight", f"{ours}.weight", d_out, d_in)
    yield plain(f"{theirs}.bias", f"{ours}.bias", d_out)


def turned_linear(theirs: str, ours: str, d_in: int, d_out: int) -> Iterator[Part]:
    """A weight (d_in, d_out), as in GPT-2's files, and its bias."""
    yield Part(f"{theirs}.weight", (d_in, d_out), {f"{ours}.weight": turned})
    yield plain(f"{theirs}.bias", f"{ours}.bias", d_out)


def norm(theirs: str, ours: str, d: int) -> Iterator[Part]:
    yield plain(f"{theirs}.weight", f"{ours}.weight", d)
    yield plain(f"{theirs}.bias", f"{ours}.bias", d)
