"""Our model against torch's own, on the same weights and sizes: training step, forward and backward, memory.

Every ratio is measured side by side: the two take turns, and medians are compared. `python benchmarks/speed.py` prints
this part of the results alone.
"""

from __future__ import annotations

import copy
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from qkv.model.blocks import EncoderLayer
from qkv.model.fused import fuse
from qkv.model.masks import causal_mask
from qkv.model.transformer import Transformer
from qkv.model.twin import TorchTransformer, copy_encoder_layer

Work = Callable[[], object]
VOCAB = 1000


@dataclass(frozen=True)
class Size:
    """What is measured: widths, layers and the batch."""

    d_model: int
    n_heads: int
    n_layers: int
    batch: int
    length: int

    def __str__(self) -> str:
        return (
            f"d {self.d_model}, {self.n_heads} heads, {self.n_layers} layers, batch {self.batch}, length {self.length}"
        )


SMALLEST = Size(8, 2, 1, 2, 4)  # to see that all of it runs
SIZES = (Size(64, 4, 2, 32, 32), Size(128, 4, 3, 8, 128), Size(256, 8, 2, 4, 256))


def section(rounds: int = 15, sizes: Sequence[Size] = SIZES) -> list[str]:
    """The lines of the results about the model's speed."""
    torch.set_num_threads(1)
    lines = [
        "## The model against torch's own",
        "",
        "Same weights, same sizes, one thread, in turns: medians of processor time, and the peak of allocated bytes.",
        "Speed above 1 × is faster than torch's, memory below 1 × is less. *As taught* is the code of the chapters,",
        "*fused* the same model after `qkv.model.fused.fuse(model)`.",
        "",
        "| work | size | speed, as taught | speed, fused | memory, as taught | memory, fused |",
        "|---|---|---|---|---|---|",
    ]
    for work, make in (("training step, encoder-decoder", translation), ("forward + backward, decoder only", language)):
        for size in sizes:
            lines.append(f"| {work} | {size} | {compared(make(size), rounds)} |")
    return lines


def compared(works: tuple[Work, Work, Work], rounds: int) -> str:
    """Cells of the table: ours as taught and fused against torch's."""
    seconds = [statistics.median(column) for column in zip(*turns(works, rounds), strict=True)]
    taught, fused, theirs = seconds
    peaks = [peak_bytes(work) for work in works]
    return (
        f"{theirs / taught:.2f} × | {theirs / fused:.2f} × | {peaks[0] / peaks[2]:.2f} × | {peaks[1] / peaks[2]:.2f} ×"
    )


def turns(works: tuple[Work, ...], rounds: int) -> list[tuple[float, ...]]:
    """Seconds of each, once a round. The processor's time, not the wall's: other programs run, too."""
    for work in works:
        work()  # once to warm up
    return [tuple(clocked(work) for work in works) for _ in range(rounds)]


def clocked(work: Work) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def peak_bytes(work: Work) -> int:
    """The most memory that was allocated at once during the work, beyond what was there before."""
    for _ in range(2):  # the first time the gradients that it frees are of unknown size
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            work()
    # recorded.events() leaves out what was allocated inside an operator: the raw events have it all
    changes = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes.sort(key=lambda event: event.start_ns())
    return max(itertools.accumulate(event.nbytes() for event in changes))


def translation(size: Size) -> tuple[Work, Work, Work]:
    """A whole training step: forward, loss, backward, Adam."""
    torch.manual_seed(0)
    d = size.d_model
    ours = Transformer(VOCAB, VOCAB, d, size.n_heads, 4 * d, size.n_layers, max_length=size.length)
    source, inputs, targets = torch.randint(VOCAB, (3, size.batch, size.length)).unbind()
    real = torch.rand(size.batch, 1, size.length) < 0.9
    real[..., 0] = True

    def training(model: nn.Module) -> Work:
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)

        def step() -> Tensor:
            optimiser.zero_grad()
            loss = F.cross_entropy(model(source, inputs, real).flatten(0, 1), targets.flatten())
            loss.backward()
            optimiser.step()
            return loss

        return step

    return training(ours), training(fuse(copy.deepcopy(ours))), training(TorchTransformer(ours))


def language(size: Size) -> tuple[Work, Work, Work]:
    """Forward and backward of a stack of layers that look back only."""
    torch.manual_seed(0)
    d = size.d_model
    ours = nn.ModuleList(EncoderLayer(d, size.n_heads, 4 * d) for _ in range(size.n_layers))
    theirs = nn.ModuleList(
        nn.TransformerEncoderLayer(d, size.n_heads, 4 * d, 0.0, "gelu", batch_first=True, norm_first=True) for _ in ours
    )
    for our_layer, their_layer in zip(ours, theirs, strict=True):
        copy_encoder_layer(our_layer, their_layer)
    x = torch.randn(size.batch, size.length, d)
    past = causal_mask(size.length)
    future = nn.Transformer.generate_square_subsequent_mask(size.length)

    def through(layers: nn.ModuleList, **look_back: object) -> Work:
        def forward_and_backward() -> Tensor:
            layers.zero_grad()
            stream = x
            for layer in layers:
                stream = layer(stream, **look_back)
            stream.square().mean().backward()
            return stream

        return forward_and_backward

    fused = fuse(copy.deepcopy(ours))
    return through(ours, mask=past), through(fused, mask=past), through(theirs, src_mask=future, is_causal=True)


if __name__ == "__main__":
    print("\n".join(section()))
