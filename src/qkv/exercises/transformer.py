"""Chapter 08: embedding, shifting, the encoder-decoder, greedy and beam decoding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import booleans, distinct, integers, normal, number, permutation, seeded, whole
from proctor.inside.properties import usual
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.masks import causal_mask
from qkv.model.transformer import Transformer, beam_search, embed, greedy_decode, shift_right

Seen = dict[str, Any]
Step = Callable[[list[int]], Tensor]

# embed ----------------------------------------------------------------------------------------------------------------

EMBEDDED = "return table[ids] * math.sqrt(table.shape[{dim}]) + positions[:ids.shape[-1]]"

embedding = Exercise(
    embed,
    section="From ids to vectors",
    minutes=10,
    difficulty=1,
    why="Words and places enter the stream here, at scales that have to fit each other.",
    hints=[
        "A token's vector is a row of the table: indexing with ids gives all of them at once.",
        "The rows are small, the positions are not. By what are the rows multiplied?",
        "There may be more positions than tokens: take as many as there are tokens.",
    ],
    equivalents={
        f"{EMBEDDED.format(dim=-1)}  ->  {EMBEDDED.format(dim=1)}": "a table has two dimensions",
    },
)


def ids_and_tables() -> tuple[Tensor, Tensor, Tensor]:
    return integers(0, 7, 2, 3, seed="ids"), normal(7, 4, seed="table"), normal(9, 4, seed="positions")


@embedding.probe
def two_sequences(embed: Any) -> Seen:
    """two sequences of three ids, vocabulary 7, d_model = 4"""
    return {"vectors": embed(*ids_and_tables())}


@embedding.probe
def one_sequence(embed: Any) -> Seen:
    """one sequence of five ids, without a batch, as many positions as ids"""
    return {"vectors": embed(integers(0, 6, 5, seed="ids"), normal(6, 8, seed="table"), normal(5, 8, seed="p"))}


@embedding.probe
def two_batch_dimensions(embed: Any) -> Seen:
    """two batch dimensions"""
    arguments = integers(0, 5, 2, 3, 4, seed="ids"), normal(5, 6, seed="table"), normal(10, 6, seed="positions")
    return {"vectors": embed(*arguments)}


@embedding.probe
def embeddings_of_size_one(embed: Any) -> Seen:
    """sizes of 1: the sequence, the batch, the width, the vocabulary, the positions"""
    batch, seq, d = distinct(2, 9, 3, seed="sizes")
    cases = [((1,), 7, d, 3), ((batch, 1), 7, d, 4), ((1, seq), 7, d, 12), ((batch, seq), 7, 1, 12),
             ((batch, seq), 1, d, seq), ((1, 1), 1, 1, 1)]  # fmt: skip
    return {
        f"vectors, ids {shape}, table {vocab} × {width}": embed(
            integers(0, vocab, *shape, seed="ids"),
            normal(vocab, width, seed="table"),
            normal(length, width, seed="positions"),
        )
        for shape, vocab, width, length in cases
    }


def ids_and_tables_of_one_shape() -> tuple[Tensor, Tensor, Tensor]:
    return integers(0, 5, 5, seed="ids"), normal(5, 4, seed="table"), normal(5, 4, seed="positions")


usual(embedding, ids_and_tables, alike=ids_and_tables_of_one_shape)


@embedding.misconception
def not_enlarged(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You do not multiply the rows by √d_model.

    The table is shared with the output, where small rows are wanted. Beside them positions are several times longer;
    the factor brings both to one size.
    """
    return table[ids] + positions[: ids.shape[-1]]


@embedding.misconception
def divided_by_the_root(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You divide by √d_model.

    That is for scores. Here the rows are too small already, and are multiplied.
    """
    return table[ids] / math.sqrt(table.shape[-1]) + positions[: ids.shape[-1]]


@embedding.misconception
def multiplied_by_the_width(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You multiply by d_model; the root is missing.

    The rows would drown the positions.
    """
    return table[ids] * table.shape[-1] + positions[: ids.shape[-1]]


@embedding.misconception
def positions_enlarged_too(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You multiply the sum, positions included.

    Only the rows of the table are enlarged.
    """
    return (table[ids] + positions[: ids.shape[-1]]) * math.sqrt(table.shape[-1])


@embedding.misconception
def positions_by_token(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You look the positions up by token id.

    A position's vector depends on where a token stands, not on which token it is.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[ids]


@embedding.misconception
def positions_forgotten(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You do not add the positions.

    Without them attention sees a bag of tokens.
    """
    return table[ids] * math.sqrt(table.shape[-1])


@embedding.misconception
def last_positions(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You take the last positions of the table instead of the first.

    The first token stands at position 0.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[-ids.shape[-1] :]


@embedding.misconception
def root_of_the_vocabulary(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You multiply by the root of the number of tokens in the vocabulary.

    `len(table)` counts rows. The width is the last size of the table: d_model.
    """
    return table[ids] * math.sqrt(len(table)) + positions[: ids.shape[-1]]


@embedding.misconception
def positions_from_one(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """Your positions begin at 1.

    The first token stands at position 0; counted from 1, the last token may find no vector at all.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[1 : ids.shape[-1] + 1]


@embedding.misconception
def a_batch_of_sequences_only(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You read the length off dimension 1, which is the last one only in a batch of sequences.

    `...` may be none, one or several dimensions. Time is always the last: -1.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[: ids.shape[1]]


# shift_right ----------------------------------------------------------------------------------------------------------

shifting = Exercise(
    shift_right,
    section="Shifting the target",
    minutes=5,
    difficulty=1,
    why="The decoder is asked for each next word; shifted by one, the answer is not in the question.",
    hints=[
        "The decoder should say 5 6 7. What has it read when it says 5? When it says 7?",
        "One column comes in at the front, one goes out at the end.",
        "The new column has the shape (batch, 1), the dtype of the ids, and bos everywhere.",
    ],
)


def some_targets() -> tuple[Tensor, int]:
    return integers(2, 90, 3, 5, seed="targets"), whole(91, 200, seed="bos")


@shifting.probe
def three_targets(shift_right: Any) -> Seen:
    """three targets of five ids"""
    return {"inputs": shift_right(*some_targets())}


@shifting.probe
def targets_of_size_one(shift_right: Any) -> Seen:
    """targets of one id each, one target, and both"""
    n, *starts = distinct(4, 60, 4, seed="n and bos")
    shapes = [(n, 1), (1, n), (1, 1)]
    return {
        f"inputs of {shape}, bos {bos}": shift_right(integers(0, 90, *shape, seed="targets"), bos)
        for shape, bos in zip(shapes, starts, strict=True)
    }


@shifting.probe
def as_many_targets_as_tokens(shift_right: Any) -> Seen:
    """six targets of six ids, bos = 0"""
    return {"inputs": shift_right(integers(1, 90, 6, 6, seed="targets"), 0)}


usual(
    shifting, some_targets, without=("gradients", "in_float64", "in_float16", "in_bfloat16")
)  # ids: no floating dtype to keep


@shifting.misconception
def not_shifted(targets: Tensor, bos: int) -> Tensor:
    """You replace the first id by bos, and shift nothing.

    The decoder then reads the very token that it should say: the loss falls to 0, and nothing is learned.
    """
    return torch.cat([torch.full_like(targets[:, :1], bos), targets[:, 1:]], 1)


@shifting.misconception
def rotated(targets: Tensor, bos: int) -> Tensor:
    """You rotate: the last id comes in at the front.

    Then the decoder starts by reading the end. bos comes in at the front.
    """
    return targets.roll(1, dims=1)


@shifting.misconception
def shifted_left(targets: Tensor, bos: int) -> Tensor:
    """You shift to the left: each position reads the token after its target.

    That is the future. Each position should read the token before.
    """
    return torch.cat([targets[:, 1:], torch.full_like(targets[:, :1], bos)], 1)


@shifting.misconception
def one_longer(targets: Tensor, bos: int) -> Tensor:
    """You put bos in front, but keep the last id: one column too many.

    Inputs and targets go together, position by position, so they are equally long.
    """
    return torch.cat([torch.full_like(targets[:, :1], bos), targets], 1)


@shifting.misconception
def shifted_across_the_batch(targets: Tensor, bos: int) -> Tensor:
    """You shift along the batch: each sequence reads its neighbour.

    The second dimension is time.
    """
    return torch.cat([torch.full_like(targets[:1], bos), targets[:-1]], 0)


@shifting.misconception
def zero_for_bos(targets: Tensor, bos: int) -> Tensor:
    """You put 0 in front, whatever bos is.

    0 may be padding, or an ordinary token.
    """
    return shift_right(targets, 0)


@shifting.misconception
def start_missing(targets: Tensor, bos: int) -> Tensor:
    """You take the last id off, but put no bos in front: one column too few.

    The decoder has to read something before it says its first word.
    """
    return targets[:, :-1]


@shifting.misconception
def end_kept_instead(targets: Tensor, bos: int) -> Tensor:
    """You put bos in front and leave out the last id but one, so that the last stays.

    The last id is what should be said last; nobody reads it. All others move by one.
    """
    return torch.cat([torch.full_like(targets[:, :1], bos), targets[:, :-2], targets[:, -1:]], 1)[:, : targets.shape[1]]


@shifting.misconception
def shifted_by_two(targets: Tensor, bos: int) -> Tensor:
    """You shift by two: bos stands there twice.

    Perhaps what you shift begins with bos already, or you shift where the data was shifted before. Each position
    should read the token just before its target.
    """
    return shift_right(shift_right(targets, bos), bos)


@shifting.misconception
def ids_as_floats(targets: Tensor, bos: int) -> Tensor:
    """Your ids come back as floating numbers.

    `torch.ones` makes floats unless told otherwise, and `cat` follows them. A table is indexed by int64.
    """
    return shift_right(targets, bos).float()


# Transformer ----------------------------------------------------------------------------------------------------------

machine = Exercise(
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


@machine.probe
def reading(transformer: Any) -> Seen:
    """what `encode` makes of three sources of five ids"""
    return {"memory": calling(build_machine(transformer), "encode")(sentences()[0])}


@machine.probe
def reading_without_padding(transformer: Any) -> Seen:
    """what `encode` makes of padded sources"""
    return {"memory": calling(build_machine(transformer), "encode")(sentences()[0], real_source())}


@machine.probe
def speaking(transformer: Any) -> Seen:
    """what `decode` makes of four ids and a memory of five"""
    decode = calling(build_machine(transformer), "decode")
    return {"logits": decode(sentences()[1], normal(3, 5, 6, seed="memory"))}


@machine.probe
def speaking_about_a_part(transformer: Any) -> Seen:
    """what `decode` makes of a memory of which every position may see another part"""
    mask = booleans(3, 4, 5, seed="mask")
    mask[..., 0] = True
    decode = calling(build_machine(transformer), "decode")
    return {"logits": decode(sentences()[1], normal(3, 5, 6, seed="memory"), mask)}


@machine.probe
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


@machine.probe
def both_together(transformer: Any) -> Seen:
    """three sources of five ids, four ids of target, no mask"""
    return {"logits": build_machine(transformer)(*sentences())}


@machine.probe
def with_padding(transformer: Any) -> Seen:
    """padded sources, in `forward`"""
    return {"logits": build_machine(transformer)(*sentences(), real_source())}


@machine.probe
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


usual(machine, sentences, build_wide_machine, alike=sentences_of_one_shape)


@machine.property
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
    return {"memory": model.encode(sentences()[0])}


@machine.misconception
class FutureVisible(Transformer):
    """Your decoder sees the future: its self-attention has no causal mask.

    In training it would copy the next token from its own input, and in use there is none to copy.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(inputs, self.target_table, self.positions)
        for layer in self.decoder:
            x = layer(x, memory, None, mask)
        return self.decoder_norm(x) @ self.target_table.T


@machine.misconception
class MemoryNotNormalised(Transformer):
    """Your encoder does not normalise its output.

    In a pre-norm stack the stream itself is never normalised, so a last norm is needed before others read it.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(source, self.source_table, self.positions)
        for layer in self.encoder:
            x = layer(x, mask)
        return x


@machine.misconception
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


@machine.misconception
class SourceMaskNotUsed(Transformer):
    """Your encoder does not use the mask.

    Real tokens then take in what stands at the padding.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().encode(source, None)


@machine.misconception
class MemoryMaskNotUsed(Transformer):
    """Your decoder does not use the mask.

    It then reads the padding of the source.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, None)


@machine.misconception
class OneLayerOnly(Transformer):
    """Your encoder uses one layer only.

    Each layer takes what the one before has made: the loop has to carry x on.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(source, self.source_table, self.positions)
        return self.encoder_norm(self.encoder[-1](x, mask))


@machine.misconception
class ProbabilitiesReturned(Transformer):
    """You return probabilities instead of logits.

    The loss takes the softmax itself, and in a stable way; taken twice it flattens everything.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, mask).softmax(-1)


@machine.misconception
class LogProbabilitiesReturned(Transformer):
    """You return log-probabilities instead of logits.

    They differ by one number for each position, and the loss finds that number itself. Return the plain scores.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, mask).log_softmax(-1)


@machine.misconception
class EncoderBlindToTheFuture(Transformer):
    """Your encoder hides the future: its mask is causal.

    The source is there as a whole, and its end may decide what its beginning means. Only the decoder waits.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        past = causal_mask(source.shape[1]).to(source.device)
        return super().encode(source, past if mask is None else past & mask)


@machine.misconception
class TablesExchanged(Transformer):
    """Your encoder embeds with the target's table.

    Source and target are two languages with two vocabularies.
    """

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        x = embed(source % len(self.target_table), self.target_table, self.positions)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)


@machine.misconception
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


@machine.misconception
class LastPositionOnly(Transformer):
    """You return the logits of the last position alone.

    That is enough to say the next word. In training all positions are asked at once.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, mask)[:, -1]


@machine.misconception
class OutputScaled(Transformer):
    """You divide the logits by √d_model.

    That is for the scores of an attention. The output is the plain dot product with the rows of the table.
    """

    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().decode(inputs, memory, mask) / math.sqrt(self.target_table.shape[-1])


@machine.misconception
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


# greedy_decode --------------------------------------------------------------------------------------------------------

greedy = Exercise(
    greedy_decode,
    section="Greedy decoding",
    minutes=15,
    difficulty=2,
    why="A model gives probabilities; somebody has to say a word. This is the simplest way.",
    hints=[
        "The prefix starts with bos and grows by one token a step. What is asked in each step?",
        "Two reasons to stop: eos was said, or the answer is long enough.",
        "The answer leaves bos out and keeps eos.",
    ],
)


def speaker(name: str, vocab: int, eos: int, patience: int = 10**6) -> Step:
    """A model of a kind: log-probabilities that depend on the whole prefix; after `patience` tokens it ends."""

    rows = [normal(vocab, seed=f"{name} {i}", std=2.0) for i in range(11)]  # drawn now, so that any prefix has one

    def step(prefix: list[int]) -> Tensor:
        logits = rows[sum((i + 1) * token for i, token in enumerate(prefix)) % 11].clone()
        logits[eos] = 50.0 if len(prefix) > patience else -30.0
        return logits.log_softmax(-1)

    return step


def drawn_task(name: str, low: int = 5, high: int = 10) -> tuple[int, int, int]:
    """The size of a vocabulary, and two different ids of it, for bos and eos."""
    vocab = whole(low, high, seed=f"vocab {name}")
    bos, eos = distinct(0, vocab, 2, seed=f"ids {name}")
    return vocab, bos, eos


@greedy.probe
def until_the_end(greedy_decode: Any) -> Seen:
    """models that end after a few tokens"""
    found: Seen = {}
    for name, patience in zip("abc", distinct(3, 9, 3, seed="patience"), strict=True):
        vocab, bos, eos = drawn_task(name)
        model = speaker(name, vocab, eos, patience=patience)
        found[f"ids, eos after {patience}"] = list(greedy_decode(model, bos, eos, 20))
    return found


@greedy.probe
def cut_off(greedy_decode: Any) -> Seen:
    """models that would go on for ever, cut off after one token and after several"""
    found: Seen = {}
    for limit in (1, *distinct(4, 12, 2, seed="limits")):
        vocab, bos, eos = drawn_task(f"cut {limit}")
        found[f"ids, at most {limit}"] = list(greedy_decode(speaker(f"b {limit}", vocab, eos), bos, eos, limit))
    return found


@greedy.probe
def ended_at_the_limit(greedy_decode: Any) -> Seen:
    """a model that ends exactly at the limit, one that ends at once, and one that knows no other word"""
    vocab, bos, eos = drawn_task("limit")
    limit = whole(4, 9, seed="limit")
    return {
        "at the limit": list(greedy_decode(speaker("c", vocab, eos, patience=limit - 1), bos, eos, limit)),
        "at once": list(greedy_decode(speaker("d", vocab, eos, patience=0), bos, eos, limit)),
        "no other word": list(greedy_decode(lambda prefix: torch.zeros(1), 1, 0, limit)),
    }


@greedy.probe
def equally_likely(greedy_decode: Any) -> Seen:
    """tokens that are equally likely"""
    order = permutation(9, seed="order").tolist()  # who ties at first, who ties later, who never comes
    rows = [torch.full((9,), -9.0) for _ in range(2)]
    rows[0][order[:3]], rows[1][order[2:6]] = -1.5, -1.75

    def undecided(prefix: list[int]) -> Tensor:
        return rows[len(prefix) // 3 % 2].clone()

    return {"ids": list(greedy_decode(undecided, order[7], order[8], 6))}


@greedy.probe
def what_it_asks(greedy_decode: Any) -> Seen:
    """the prefixes that the model is asked about"""
    asked: list[list[int]] = []
    vocab, bos, eos = drawn_task("asks")
    model = speaker("e", vocab, eos, patience=whole(3, 7, seed="patience"))

    def step(prefix: list[int]) -> Tensor:
        if list(prefix) not in asked[-1:]:  # asking the same twice is a waste, not a mistake
            asked.append(list(prefix))
        return model(list(prefix))

    greedy_decode(step, bos, eos, 8)
    return {"asked": [entry for prefix in asked for entry in (len(prefix), *prefix)]}


@greedy.assembled
def decode_in_steps(
    step: Step,
    bos: int,
    eos: int,
    max_length: int,
    *,
    limit: Any = lambda max_length: max_length,
    ask: Any = lambda bos, ids: [bos, *ids],
    choose: Any = lambda log_p: int(log_p.argmax()),
    ends: Any = lambda token, eos: token == eos,
    answer: Any = lambda bos, ids, eos: ids,
) -> list[int]:
    ids: list[int] = []
    while len(ids) < limit(max_length):
        ids.append(choose(step(ask(bos, ids))))
        if ends(ids[-1], eos):
            break
    return answer(bos, ids, eos)


@greedy.instead_of("answer")
def start_kept(bos: int, ids: list[int], eos: int) -> list[int]:
    """Your answer begins with bos.

    bos starts the machine; it is not part of what it says.
    """
    return [bos, *ids]


@greedy.instead_of("answer")
def end_dropped(bos: int, ids: list[int], eos: int) -> list[int]:
    """You leave eos out of the answer.

    Here it is kept: it tells an answer that ended from one that was cut off.
    """
    return [token for token in ids if token != eos]


@greedy.instead_of("answer")
def only_the_last_said(bos: int, ids: list[int], eos: int) -> list[int]:
    """You return the last token alone.

    The answer is all that was said after bos, in order.
    """
    return ids[-1:]


@greedy.instead_of("ends")
def never_stops(token: int, eos: int) -> bool:
    """You go on after eos.

    What a model says after its end means nothing.
    """
    return False


@greedy.instead_of("limit")
def one_too_short(max_length: int) -> int:
    """Your answer is cut off one token before the limit.

    max_length counts what is said. bos is not said, so it does not count.
    """
    return max_length - 1


@greedy.instead_of("limit")
def one_too_long(max_length: int) -> int:
    """Your answer may be one token longer than allowed.

    Check the length before you ask for another token.
    """
    return max_length + 1


@greedy.instead_of("choose")
def largest_id_of_equals(log_p: Tensor) -> int:
    """Of equally likely tokens you take the largest id.

    Ties go to the smallest id, so that an answer does not depend on the machine.
    """
    return len(log_p) - 1 - int(log_p.flip(0).argmax())


@greedy.instead_of("choose")
def least_likely(log_p: Tensor) -> int:
    """You say the least likely token.

    Log-probabilities are negative; the likeliest is the one nearest to 0, the largest.
    """
    return int(log_p.argmin())


@greedy.instead_of("ask")
def last_token_only(bos: int, ids: list[int]) -> list[int]:
    """You ask the model about the last token alone.

    The prefix is all that has been said, from bos on.
    """
    return ids[-1:] or [bos]


@greedy.instead_of("ask")
def start_left_out_of_the_prefix(bos: int, ids: list[int]) -> list[int]:
    """After the first token you ask the model without bos.

    It was trained on prefixes that begin with bos; without it, every token stands one position too early.
    """
    return list(ids) or [bos]


# beam_search ----------------------------------------------------------------------------------------------------------

beaming = Exercise(
    beam_search,
    section="Beam search",
    minutes=30,
    difficulty=3,
    why="Keeping a few prefixes finds likelier sentences, which are not always better ones.",
    points=2.0,
    hints=[
        "A hypothesis is a list of ids and a sum. One step: extend each by every token, keep the best.",
        "Which of the kept ones are complete? They leave the beam and wait; the others are extended in the next step.",
        "The width is chosen by the plain sums. Only the last choice, among complete hypotheses, uses the length.",
    ],
    equivalents={
        "beam: list[tuple[list[int], float]] = [([], 0.0)]  ->  beam: list[tuple[float, list[int]]] = [([], 0.0)]": (
            "an annotation"
        ),
        "for token, log_p in enumerate(step([bos, *ids]).tolist()):  ->  "
        "for token, log_p in enumerate(step([bos, *ids])):": "tensors without dimensions add up as numbers do",
    },
)


def searched(result: Any) -> Seen:
    ids, score = result
    return {"ids": list(ids), "score": torch.tensor(float(score), dtype=torch.float32)}  # sums in float32 are welcome


def talkative(name: str, vocab: int, eos: int, liking: float = 0.7) -> Step:
    """A model for which long and short answers are about equally likely, so that the length decides."""

    rows = [normal(vocab, seed=f"{name} {i}") for i in range(13)]

    def step(prefix: list[int]) -> Tensor:
        logits = rows[sum((i + 2) * token for i, token in enumerate(prefix)) % 13].clone()
        logits[eos] = logits[eos] + liking
        return logits.log_softmax(-1)

    return step


def labelled(result: Any, label: str) -> Seen:
    return {f"{name} {label}": value for name, value in searched(result).items()}


@beaming.probe
def three_wide(beam_search: Any) -> Seen:
    """width 3, six tokens at most, models that never end"""
    found: Seen = {}
    for name in "ab":
        vocab, bos, eos = drawn_task(f"three {name}")
        found |= labelled(beam_search(speaker(name, vocab, eos), bos, eos, 6, 3), f"of model {name}")
    return found


@beaming.probe
def one_wide(beam_search: Any) -> Seen:
    """width 1, and an answer that ends before the limit"""
    vocab, bos, eos = drawn_task("one")
    patience = whole(2, 6, seed="patience")
    return searched(beam_search(speaker("b", vocab, eos, patience=patience), bos, eos, 8, 1))


@beaming.probe
def wider_than_the_vocabulary(beam_search: Any) -> Seen:
    """widths far above the vocabulary, of which one has a single word"""
    vocab, bos, eos = drawn_task("narrow", 4, 6)
    wide = labelled(beam_search(talkative("c", vocab, eos), bos, eos, 4, 20, 1.0), "at width 20")
    single = beam_search(lambda prefix: torch.full((1,), -0.25), 1, 0, 3, 5)
    return {**wide, **labelled(single, "of a single word")}


@beaming.probe
def with_a_length_penalty(beam_search: Any) -> Seen:
    """several answers of different lengths, penalties 0, 2 and one between"""
    vocab, bos, eos = drawn_task("penalty")
    found: Seen = {}
    for penalty in (0.0, number(0.5, 0.9, seed="penalty"), 2.0):
        result = beam_search(talkative("d", vocab, eos), bos, eos, 7, 4, length_penalty=penalty)
        found |= labelled(result, f"at penalty {penalty:.2f}")
    return found


@beaming.probe
def cut_off_beams(beam_search: Any) -> Seen:
    """hypotheses that never end, cut off after one token and after four"""
    vocab, bos, eos = drawn_task("cut")
    found: Seen = {}
    for limit in (1, 4):
        result = beam_search(speaker("e", vocab, eos), bos, eos, limit, 3, 1.0)
        found |= labelled(result, f"after {limit}")
    return found


def noisy(name: str, rows: dict[tuple[int, ...], list[float]]) -> Step:
    """A model from a table of what follows each answer so far; every number is a little off."""
    known = {said: torch.tensor(row) + normal(4, seed=f"{name} {said}", std=0.01) for said, row in rows.items()}
    rest = torch.tensor([-3.0, -3.5, -4.0, -4.5]) + normal(4, seed=f"{name} rest", std=0.01)

    def step(prefix: list[int]) -> Tensor:
        return known.get(tuple(prefix[1:]), rest).clone()

    return step


@beaming.probe
def a_garden_path(beam_search: Any) -> Seen:
    """a model whose likeliest first token leads nowhere, widths 1 and 2"""
    step = noisy("path", {(): [-9.0, -9.0, -0.6, -0.9], (2,): [-2.0, -3.0, -2.2, -2.1], (3,): [-0.1, -4.0, -4.0, -4.0]})
    found: Seen = {}
    for width in (1, 2):
        found |= labelled(beam_search(step, 1, 0, 3, width), f"at width {width}")
    return found


@beaming.probe
def an_early_end(beam_search: Any) -> Seen:
    """width 2, an answer of eos alone takes one of the two places, penalty 2"""
    step = noisy("end", {(): [-0.5, -9.0, -0.6, -1.5], (3,): [-0.01, -6.0, -6.0, -6.0]})
    return searched(beam_search(step, 1, 0, 2, 2, 2.0))


@beaming.probe
def a_place_for_the_finished(beam_search: Any) -> Seen:
    """width 2, where an answer of eos alone is better than what has to be followed, penalty 2"""
    rows = {
        (): [-0.5, -9.0, -0.6, -5.0],
        (2,): [-9.0, -9.0, -0.1, -0.3],
        (2, 2): [-5.0, -5.5, -6.0, -6.5],
        (2, 3): [-0.02, -6.0, -6.0, -6.0],
    }
    return searched(beam_search(noisy("place", rows), 1, 0, 3, 2, 2.0))


@beaming.probe
def an_unlikely_end(beam_search: Any) -> Seen:
    """widths 1 and 2, where an answer of eos alone is worse than all that are followed after it"""
    rows = {
        (): [-0.9, -9.0, -0.1, -5.0],
        (2,): [-9.0, -9.0, -0.1, -0.2],
        (2, 2): [-5.0, -5.5, -6.0, -6.5],
        (2, 3): [-0.02, -6.0, -6.0, -6.0],
    }
    found: Seen = {}
    for width in (1, 2):
        found |= labelled(beam_search(noisy("unlikely", rows), 1, 0, 3, width), f"at width {width}")
    return found


@beaming.probe
def a_late_bloomer(beam_search: Any) -> Seen:
    """a model whose third-best beginning leads to the best answer, widths 2 and 3"""
    rows = {
        (): [-9.0, -9.0, -0.5, -1.0],
        (2,): [-9.0, -9.0, -0.7, -0.8],
        (3,): [-9.0, -9.0, -1.5, -1.6],
        (3, 2): [-0.1, -4.0, -4.0, -4.0],
    }
    found: Seen = {}
    for width in (2, 3):
        found |= labelled(beam_search(noisy("bloom", rows), 1, 0, 3, width), f"at width {width}")
    return found


@beaming.probe
def many_models(beam_search: Any) -> Seen:
    """eight models, each with its own width, penalty, limit and liking for the end"""
    found: Seen = {}
    for i in range(8):
        vocab, bos, eos = drawn_task(f"many {i}", 4, 7)
        width, limit = whole(2, 6, seed=f"width {i}"), whole(3, 7, seed=f"limit {i}")
        penalty, liking = number(0.0, 2.0, seed=f"penalty {i}"), number(-1.5, 1.5, seed=f"liking {i}")
        result = beam_search(talkative(f"m{i}", vocab, eos, liking), bos, eos, limit, width, penalty)
        found |= labelled(result, f"of model {i}")
    return found


Beam = list[tuple[list[int], float]]


def keep_best(extended: Beam, width: int, eos: int, penalty: float) -> Beam:
    return sorted(extended, key=lambda h: h[1], reverse=True)[:width]


def plain_extension(step: Step, bos: int, ids: list[int], total: float) -> Beam:
    log_p = step([bos, *ids]).tolist()
    return [([*ids, token], total + p) for token, p in enumerate(log_p)]


def normalised(ids: list[int], total: float, penalty: float) -> float:
    return total / len(ids) ** penalty


def everything(complete: Beam, beam: Beam) -> Beam:
    return complete + beam


@beaming.assembled
def search_in_steps(
    step: Step,
    bos: int,
    eos: int,
    max_length: int,
    width: int,
    length_penalty: float = 0.0,
    *,
    extend: Any = plain_extension,
    keep: Any = keep_best,
    score: Any = normalised,
    candidates: Any = everything,
) -> tuple[list[int], float]:
    beam: Beam = [([], 0.0)]
    complete: Beam = []
    for _ in range(max_length):
        extended = [h for ids, total in beam for h in extend(step, bos, ids, total)]
        kept = keep(extended, width, eos, length_penalty)
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(candidates(complete, beam), key=lambda h: score(*h, length_penalty))
    return ids, score(ids, total, length_penalty)


@beaming.instead_of("keep")
def places_refilled(extended: Beam, width: int, eos: int, penalty: float) -> Beam:
    """You refill the places of completed hypotheses in the same step.

    A hypothesis that ends takes its place with it: the `width` best are kept, complete ones included.
    """
    ranked = sorted(extended, key=lambda h: h[1], reverse=True)
    unfinished = [h for h in ranked if h[0][-1] != eos][:width]
    worst = min((h[1] for h in unfinished), default=-math.inf)
    return unfinished + [h for h in ranked if h[0][-1] == eos and h[1] >= worst][:width]


@beaming.instead_of("keep")
def least_likely_kept(extended: Beam, width: int, eos: int, penalty: float) -> Beam:
    """You keep the least likely extensions: your list is sorted from the smallest sum up.

    Log-probabilities are negative; the best is the one nearest to 0, the largest.
    """
    return sorted(extended, key=lambda h: h[1])[:width]


@beaming.instead_of("score")
def penalty_ignored(ids: list[int], total: float, penalty: float) -> float:
    """You do not use the length penalty.

    Sums of log-probabilities favour short answers; dividing by a power of the length makes up for it.
    """
    return total


@beaming.instead_of("score")
def end_not_counted(ids: list[int], total: float, penalty: float) -> float:
    """You count one token less than the answer has.

    eos is part of the answer, and its log-probability of the sum.
    """
    return total / max(len(ids) - 1, 1) ** penalty


@beaming.instead_of("score")
def start_counted(ids: list[int], total: float, penalty: float) -> float:
    """You count bos as part of the answer's length.

    bos was given, not said: the length is that of the ids you return.
    """
    return total / (len(ids) + 1) ** penalty


@beaming.instead_of("score")
def penalty_of_another_paper(ids: list[int], total: float, penalty: float) -> float:
    """You divide by a power of (5 + length) / 6.

    That is the penalty of Google's translation system of 2016, and many libraries have it. Here it is a power of the
    length itself.
    """
    return total / ((5 + len(ids)) / 6) ** penalty


@beaming.instead_of("candidates")
def first_complete_wins(complete: Beam, beam: Beam) -> Beam:
    """You return the first hypothesis that was completed.

    A later one may have the better score: collect them all, choose at the end.
    """
    return complete[:1] or beam


@beaming.instead_of("candidates")
def unfinished_dropped(complete: Beam, beam: Beam) -> Beam:
    """You drop what is unfinished at max_length although it scores best.

    At the limit the unfinished hypotheses count as complete.
    """
    return complete or beam


@beaming.instead_of("extend")
def probabilities_added(step: Step, bos: int, ids: list[int], total: float) -> Beam:
    """You add probabilities instead of their logarithms.

    Probabilities of steps multiply; their logarithms add.
    """
    return [([*ids, token], total + math.exp(p)) for token, p in enumerate(step([bos, *ids]).tolist())]


@beaming.misconception
def greedy_in_disguise(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You follow one hypothesis only, whatever the width.

    Then a good answer that starts with the second-best token is never found.
    """
    return beam_search(step, bos, eos, max_length, 1, length_penalty)


@beaming.misconception
def width_for_each(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You keep the `width` best extensions of each hypothesis, so your beam widens from step to step.

    All extensions compete for the same `width` places; otherwise the work doubles, or worse, with every token.
    """
    beam: Beam = [([], 0.0)]
    complete: Beam = []
    for _ in range(max_length):
        kept = [h for ids, total in beam for h in keep_best(plain_extension(step, bos, ids, total), width, eos, 0.0)]
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(complete + beam, key=lambda h: normalised(h[0], h[1], length_penalty))
    return ids, normalised(ids, total, length_penalty)


@beaming.misconception
def chosen_by_the_sum(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You choose the answer by its summed log-probability, and divide by the length only afterwards.

    The penalty is there to decide which answer is returned: choose by the score.
    """
    ids, total = beam_search(step, bos, eos, max_length, width)
    return ids, normalised(ids, total, length_penalty)


@beaming.misconception
def goes_on_after_the_end(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You extend hypotheses that have ended.

    What a model says after eos means nothing, and its log-probabilities only make the answer worse.
    """
    return beam_search(step, bos, -1, max_length, width, length_penalty)


@beaming.misconception
def start_returned(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """Your answer begins with bos.

    bos starts the machine; it is not part of what it says.
    """
    ids, score = beam_search(step, bos, eos, max_length, width, length_penalty)
    return [bos, *ids], score


@beaming.misconception
def sum_returned(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You choose by the score, but return the plain sum.

    The score that you return should be the one that was compared: divided by the length's power.
    """
    ids, score = beam_search(step, bos, eos, max_length, width, length_penalty)
    return ids, score * len(ids) ** length_penalty


def searched_otherwise(
    step: Step, bos: int, eos: int, max_length: int, width: int, penalty: float, enough: Any
) -> tuple[list[int], float]:
    """The search with a reason to stop before max_length: `enough` of the complete ones."""
    beam: Beam = [([], 0.0)]
    complete: Beam = []
    for _ in range(max_length):
        kept = keep_best([h for ids, total in beam for h in plain_extension(step, bos, ids, total)], width, eos, 0.0)
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
        if enough(complete):
            beam = []
            break
    ids, total = max(complete + beam, key=lambda h: normalised(h[0], h[1], penalty))
    return ids, normalised(ids, total, penalty)


@beaming.misconception
def stopped_when_enough_are_complete(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You stop as soon as `width` hypotheses are complete.

    Many libraries do so to save time. Here those that are still unfinished go on until max_length.
    """
    return searched_otherwise(
        step, bos, eos, max_length, width, length_penalty, lambda complete: len(complete) >= width
    )


@beaming.misconception
def finished_stay_in_the_beam(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """Your complete hypotheses stay in the beam and compete with longer ones for its places.

    Then a complete one can be pushed out and is lost, or takes a place for ever. Here it leaves the beam and waits.
    """
    beam: Beam = [([], 0.0)]
    for _ in range(max_length):
        done = [h for h in beam if h[0] and h[0][-1] == eos]
        grown = [h for h in beam if not h[0] or h[0][-1] != eos]
        extended = [h for ids, total in grown for h in plain_extension(step, bos, ids, total)]
        beam = keep_best(done + extended, width, eos, 0.0)
    ids, total = max(beam, key=lambda h: normalised(h[0], h[1], length_penalty))
    return ids, normalised(ids, total, length_penalty)


@beaming.misconception
def places_lost_for_good(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """Your beam loses a place for good with every hypothesis that ends.

    The place is not refilled in that step. In the next one, all extensions compete for `width` places again.
    """
    beam: Beam = [([], 0.0)]
    complete: Beam = []
    for _ in range(max_length):
        extended = [h for ids, total in beam for h in plain_extension(step, bos, ids, total)]
        kept = keep_best(extended, max(width - len(complete), 0), eos, 0.0)
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(complete + beam, key=lambda h: normalised(h[0], h[1], length_penalty))
    return ids, normalised(ids, total, length_penalty)


@beaming.misconception
def multiplied_by_the_length(
    step: Step, bos: int, eos: int, max_length: int, width: int, length_penalty: float = 0.0
) -> tuple[list[int], float]:
    """You multiply by the power of the length where you should divide.

    Sums of log-probabilities are negative: multiplied, long answers become worse still. Dividing makes up for them.
    """
    return beam_search(step, bos, eos, max_length, width, -length_penalty)
