"""The exercise `Transformer`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores, squeezes
from proctor.inside.inputs import booleans, distinct, integers, normal, seeded
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.masks import causal_mask
from qkv.model.transformer import Transformer, embed

exercise = Exercise(
    Transformer,
    section="The encoder-decoder",
    minutes=45,
    difficulty=3,
    why="The whole model of 2017, of parts that you built.",
    points=3.0,
    hints=[
        "Three methods, each of a few lines: embed, go through the layers, normalise once at the end.",
        "The decoder may not see the future: which mask does its self-attention need? The other is for the memory.",
        "Tied output: the score of a token is the dot product with its row of the target's table.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def build_machine(cls: Any) -> Any:
    return seeded(cls(source_vocab=9, target_vocab=7, d_model=6, n_heads=2, d_ff=10, n_layers=2, max_length=12))


def sentences() -> tuple[Tensor, Tensor]:
    return integers(0, 9, 3, 5, seed="source"), integers(0, 7, 3, 4, seed="inputs")


def real_source() -> Tensor:
    return torch.arange(5) < torch.tensor([5, 2, 3])[:, None, None]  # (batch, 1, source)


def calling(model: Any, method: str) -> Any:
    """The model with one of its methods in the place of forward: called as modules are, hooks and all."""
    model.forward = getattr(model, method)
    return model


@exercise.probe
def reading(transformer: Any) -> Seen:
    """what `encode` makes of three sources of five ids"""
    return {"memory": calling(build_machine(transformer), "encode")(sentences()[0])}


@exercise.probe
def reading_without_padding(transformer: Any) -> Seen:
    """what `encode` makes of padded sources"""
    return {"memory": calling(build_machine(transformer), "encode")(sentences()[0], real_source())}


@exercise.probe
def speaking(transformer: Any) -> Seen:
    """what `decode` makes of four ids and a memory of five"""
    decode = calling(build_machine(transformer), "decode")
    return {"logits": decode(sentences()[1], normal(3, 5, 6, seed="memory"))}


@exercise.probe
def speaking_about_a_part(transformer: Any) -> Seen:
    """what `decode` makes of a memory of which every position may see another part"""
    mask = booleans(3, 4, 5, seed="mask")
    mask[..., 0] = True
    decode = calling(build_machine(transformer), "decode")
    return {"logits": decode(sentences()[1], normal(3, 5, 6, seed="memory"), mask)}


@exercise.probe
def machines_of_size_one(transformer: Any) -> Seen:
    """sizes of 1: batch, source, target, layers, heads, both vocabularies; and the longest length"""
    batch, source, target = distinct(2, 8, 3, seed="sizes")
    cases = [(1, source, target, (9, 7, 6, 2, 10, 1, 12)), (batch, 1, target, (9, 7, 6, 3, 10, 1, 12)),
             (batch, source, 1, (9, 7, 6, 1, 1, 1, 12)), (batch, source, source, (1, 7, 4, 4, 5, 2, source)),
             (1, 1, 1, (9, 1, 2, 1, 1, 1, 1))]  # fmt: skip
    return {
        f"logits, {b} × {n} -> {m}, sizes {sizes}": seeded(transformer(*sizes))(
            integers(0, sizes[0], b, n, seed="source"), integers(0, sizes[1], b, m, seed="inputs")
        )
        for b, n, m, sizes in cases
    }


@exercise.probe
def both_together(transformer: Any) -> Seen:
    """three sources of five ids, four ids of target, no mask"""
    return {"logits": build_machine(transformer)(*sentences())}


@exercise.probe
def with_padding(transformer: Any) -> Seen:
    """padded sources, in `forward`"""
    return {"logits": build_machine(transformer)(*sentences(), real_source())}


@exercise.probe
def with_masks_of_every_shape(transformer: Any) -> Seen:
    """masks that are all True, the same for the whole batch, or given by name"""
    model = build_machine(transformer)
    same = booleans(1, 1, 5, seed="same")
    same[..., 0] = True
    masks = {"all True": torch.ones(3, 1, 5).bool(), "(1, 1, source)": same, "(source,)": same[0, 0].clone()}
    return {f"logits, mask {name}": model(*sentences(), mask=mask) for name, mask in masks.items()}


def build_wide_machine(cls: Any) -> Any:
    """Sixteen wide: the rounding of float16 and bfloat16 stays well below what is let pass."""
    return seeded(cls(source_vocab=9, target_vocab=7, d_model=16, n_heads=2, d_ff=12, n_layers=2, max_length=12))


def sentences_of_one_shape() -> tuple[Tensor, Tensor]:
    return integers(0, 7, 3, 5, seed="source"), integers(0, 7, 3, 5, seed="inputs")


usual(exercise, sentences, build_wide_machine, alike=sentences_of_one_shape)


@exercise.property
def where_eps_decides(transformer: Any) -> Seen:
    """a machine whose tables hardly vary, so that eps decides

    On vectors that hardly vary, where eps decides, your numbers differ. The last norms are `nn.LayerNorm(d_model)`,
    whose eps is 1e-5.
    """
    model = build_machine(transformer)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "layer" not in name and not name.endswith("norm.weight"):
                parameter.mul_(1e-3)
        model.positions.mul_(1e-3)
    source, inputs = sentences()
    memory = model.encode(source)
    return {"memory": memory, "logits": model.decode(inputs, normal(*memory.shape, seed="memory"))}


@exercise.misconception
class FutureVisible(Transformer):
    """Your decoder sees the future: its self-attention has no causal mask.

    In training it would copy the next token from its own input, and in use there is none to copy.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(inputs, self.target_table, self.positions)
        for layer in self.decoder:
            x = layer(x, memory, None, mask)
        return self.decoder_norm(x) @ self.target_table.T


@exercise.misconception
class MemoryNotNormalised(Transformer):
    """Your encoder does not normalise its output.

    In a pre-norm stack the stream itself is never normalised, so a last norm is needed before others read it.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(source, self.source_table, self.positions)
        for layer in self.encoder:
            x = layer(x, mask)
        return x


@exercise.misconception
class OutputNotNormalised(Transformer):
    """Your decoder does not normalise before the output.

    The stream has grown through all layers; without the last norm the logits grow with it.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(inputs, self.target_table, self.positions)
        past = causal_mask(inputs.shape[1]).to(inputs.device)
        for layer in self.decoder:
            x = layer(x, memory, past, mask)
        return x @ self.target_table.T


@exercise.misconception
class SourceMaskNotUsed(Transformer):
    """Your encoder does not use the mask.

    Real tokens then take in what stands at the padding.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().encode(source, None)


@exercise.misconception
class MemoryMaskNotUsed(Transformer):
    """Your decoder does not use the mask.

    It then reads the padding of the source.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, None)


@exercise.misconception
class OneLayerOnly(Transformer):
    """Your encoder uses one layer only.

    Each layer takes what the one before has made: the loop has to carry x on.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(source, self.source_table, self.positions)
        return self.encoder_norm(self.encoder[-1](x, mask))


@exercise.misconception
class ProbabilitiesReturned(Transformer):
    """You return probabilities instead of logits.

    The loss takes the softmax itself, and in a stable way; taken twice it flattens everything.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, mask).softmax(-1)


@exercise.misconception
class LogProbabilitiesReturned(Transformer):
    """You return log-probabilities instead of logits.

    They differ by one number for each position, and the loss finds that number itself. Return the plain scores.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, mask).log_softmax(-1)


@exercise.misconception
class EncoderBlindToTheFuture(Transformer):
    """Your encoder hides the future: its mask is causal.

    The source is there as a whole, and its end may decide what its beginning means. Only the decoder waits.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        past = causal_mask(source.shape[1]).to(source.device)
        return super().encode(source, past if mask is None else past & mask)


@exercise.misconception
class TablesExchanged(Transformer):
    """Your encoder embeds with the target's table.

    Source and target are two languages with two vocabularies.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(source % len(self.target_table), self.target_table, self.positions)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)


@exercise.misconception
class OnlyTheFutureVisible(Transformer):
    """Your causal mask is turned: each position of the decoder sees itself and what comes after.

    Rows are queries, columns are keys: a row allows its own column and those before it.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(inputs, self.target_table, self.positions)
        past = causal_mask(inputs.shape[1]).to(inputs.device).T
        for layer in self.decoder:
            x = layer(x, memory, past, mask)
        return self.decoder_norm(x) @ self.target_table.T


@exercise.misconception
class LastPositionOnly(Transformer):
    """You return the logits of the last position alone.

    That is enough to say the next word. In training all positions are asked at once.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, mask)[:, -1]


@exercise.misconception
class OutputScaled(Transformer):
    """You divide the logits by √d_model.

    That is for the scores of an attention. The output is the plain dot product with the rows of the table.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, mask) / math.sqrt(self.target_table.shape[-1])


@exercise.misconception
class RowsNotEnlarged(Transformer):
    """Your encoder and your decoder do not multiply the rows of their tables by √d_model.

    `embed` does it. Rows that are looked up and added to the positions as they are, are too small beside them.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.source_table[source] + self.positions[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.target_table[inputs] + self.positions[: inputs.shape[1]]
        past = causal_mask(inputs.shape[1]).to(inputs.device)
        for layer in self.decoder:
            x = layer(x, memory, past, mask)
        return self.decoder_norm(x) @ self.target_table.T


squeezes(exercise)
ignores(exercise, "mask")
