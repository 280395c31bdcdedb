"""Chapter 08: embedding, shifting, the encoder-decoder, greedy and beam decoding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.forbid import FUSED_ATTENTION, MULTIHEAD
from proctor.inputs import integers, normal, seeded
from proctor.properties import gradients, keeps_inputs, other_device, same_in
from qkv.model.masks import causal_mask
from qkv.model.transformer import Transformer, beam_search, embed, greedy_decode, shift_right

Seen = dict[str, Any]
Step = Callable[[list[int]], Tensor]

# embed ----------------------------------------------------------------------------------------------------------------

EMBEDDED = "return table[ids] * math.sqrt(table.shape[{dim}]) + positions[:ids.shape[-1]]"

embedding = Exercise(
    embed,
    section="From ids to vectors",
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


embedding.property(gradients(ids_and_tables))
embedding.property(keeps_inputs(ids_and_tables))
embedding.property(same_in(torch.float64, ids_and_tables))
embedding.property(other_device(ids_and_tables))


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


# shift_right ----------------------------------------------------------------------------------------------------------

shifting = Exercise(
    shift_right,
    section="Shifting the target",
    hints=[
        "The decoder should say 5 6 7. What has it read when it says 5? When it says 7?",
        "One column comes in at the front, one goes out at the end.",
        "The new column has the shape (batch, 1), the dtype of the ids, and bos everywhere.",
    ],
)


def some_targets() -> tuple[Tensor, int]:
    return integers(2, 9, 3, 5, seed="targets"), 1


@shifting.probe
def three_targets(shift_right: Any) -> Seen:
    """three targets of five ids, bos = 1"""
    return {"inputs": shift_right(*some_targets())}


@shifting.probe
def single_tokens(shift_right: Any) -> Seen:
    """targets of one id each, bos = 7"""
    return {"inputs": shift_right(integers(0, 5, 4, 1, seed="targets"), 7)}


@shifting.probe
def as_many_targets_as_tokens(shift_right: Any) -> Seen:
    """four targets of four ids, bos = 0"""
    return {"inputs": shift_right(integers(1, 50, 4, 4, seed="targets"), 0)}


shifting.property(keeps_inputs(some_targets))
shifting.property(other_device(some_targets))


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


# Transformer ----------------------------------------------------------------------------------------------------------

machine = Exercise(
    Transformer,
    section="The encoder-decoder",
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


@machine.probe
def reading(transformer: Any) -> Seen:
    """what `encode` makes of three sources of five ids"""
    return {"memory": build_machine(transformer).encode(sentences()[0])}


@machine.probe
def reading_without_padding(transformer: Any) -> Seen:
    """what `encode` makes of padded sources"""
    return {"memory": build_machine(transformer).encode(sentences()[0], real_source())}


@machine.probe
def speaking(transformer: Any) -> Seen:
    """what `decode` makes of four ids and a memory of five"""
    return {"logits": build_machine(transformer).decode(sentences()[1], normal(3, 5, 6, seed="memory"))}


@machine.probe
def both_together(transformer: Any) -> Seen:
    """three sources of five ids, four ids of target, no mask"""
    return {"logits": build_machine(transformer)(*sentences())}


@machine.probe
def with_padding(transformer: Any) -> Seen:
    """padded sources, in `forward`"""
    return {"logits": build_machine(transformer)(*sentences(), real_source())}


machine.property(gradients(sentences, build_machine))
machine.property(keeps_inputs(sentences, build_machine))
machine.property(other_device(sentences, build_machine))


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


# greedy_decode --------------------------------------------------------------------------------------------------------

greedy = Exercise(
    greedy_decode,
    section="Greedy decoding",
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


@greedy.probe
def until_the_end(greedy_decode: Any) -> Seen:
    """a model that ends after four tokens"""
    return {"ids": list(greedy_decode(speaker("a", 8, 2, patience=4), 1, 2, 20))}


@greedy.probe
def cut_off(greedy_decode: Any) -> Seen:
    """a model that would go on for ever, cut off after six tokens"""
    return {"ids": list(greedy_decode(speaker("b", 7, 3), 0, 3, 6))}


@greedy.probe
def ended_at_the_limit(greedy_decode: Any) -> Seen:
    """a model that ends exactly at the limit, and one that ends at once"""
    at_the_limit = greedy_decode(speaker("c", 6, 4, patience=4), 5, 4, 5)
    return {"at the limit": list(at_the_limit), "at once": list(greedy_decode(speaker("d", 6, 0, patience=0), 5, 0, 5))}


@greedy.probe
def equally_likely(greedy_decode: Any) -> Seen:
    """tokens that are equally likely"""

    def undecided(prefix: list[int]) -> Tensor:
        tied = torch.tensor([-9.0, -1.5, -1.5, -9.0, -1.5])
        return tied if len(prefix) < 4 else tied.flip(0)

    return {"ids": list(greedy_decode(undecided, 3, 0, 5))}


@greedy.probe
def what_it_asks(greedy_decode: Any) -> Seen:
    """the prefixes that the model is asked about"""
    asked: list[int] = []
    model = speaker("e", 9, 1, patience=3)

    def step(prefix: list[int]) -> Tensor:
        asked.extend([len(prefix), *prefix])
        return model(list(prefix))

    greedy_decode(step, 6, 1, 8)
    return {"asked": asked}


def said(step: Step, bos: int, eos: int, max_length: int, choose: Any = lambda p: int(p.argmax())) -> list[int]:
    """Decoding with another way to choose; stops at eos."""
    ids: list[int] = []
    while len(ids) < max_length and eos not in ids:
        ids.append(choose(step([bos, *ids])))
    return ids


@greedy.misconception
def start_kept(step: Step, bos: int, eos: int, max_length: int) -> list[int]:
    """Your answer begins with bos.

    bos starts the machine; it is not part of what it says.
    """
    return [bos, *greedy_decode(step, bos, eos, max_length)]


@greedy.misconception
def end_dropped(step: Step, bos: int, eos: int, max_length: int) -> list[int]:
    """You leave eos out of the answer.

    Here it is kept: it tells an answer that ended from one that was cut off.
    """
    return [token for token in greedy_decode(step, bos, eos, max_length) if token != eos]


@greedy.misconception
def never_stops(step: Step, bos: int, eos: int, max_length: int) -> list[int]:
    """You go on after eos.

    What a model says after its end means nothing.
    """
    return greedy_decode(step, bos, -1, max_length)


@greedy.misconception
def one_too_short(step: Step, bos: int, eos: int, max_length: int) -> list[int]:
    """Your answer may be one token shorter than allowed: bos is counted.

    max_length counts what is said; bos is not.
    """
    return greedy_decode(step, bos, eos, max_length - 1)


@greedy.misconception
def one_too_long(step: Step, bos: int, eos: int, max_length: int) -> list[int]:
    """Your answer may be one token longer than allowed.

    Check the length before you ask for another token.
    """
    return greedy_decode(step, bos, eos, max_length + 1)


@greedy.misconception
def largest_id_of_equals(step: Step, bos: int, eos: int, max_length: int) -> list[int]:
    """Of equally likely tokens you take the largest id.

    Ties go to the smallest id, so that an answer does not depend on the machine.
    """
    return said(step, bos, eos, max_length, lambda p: len(p) - 1 - int(p.flip(0).argmax()))


@greedy.misconception
def least_likely(step: Step, bos: int, eos: int, max_length: int) -> list[int]:
    """You say the least likely token.

    Log-probabilities are negative; the likeliest is the one nearest to 0, the largest.
    """
    return said(step, bos, eos, max_length, lambda p: int(p.argmin()))


@greedy.misconception
def last_token_only(step: Step, bos: int, eos: int, max_length: int) -> list[int]:
    """You ask the model about the last token alone.

    The prefix is all that has been said, from bos on.
    """
    ids = [bos]
    while len(ids) <= max_length:
        ids.append(int(step(ids[-1:]).argmax()))
        if ids[-1] == eos:
            break
    return ids[1:]


# beam_search ----------------------------------------------------------------------------------------------------------

beaming = Exercise(
    beam_search,
    section="Beam search",
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


@beaming.probe
def three_wide(beam_search: Any) -> Seen:
    """width 3, six tokens at most"""
    return searched(beam_search(speaker("a", 6, 2), 1, 2, 6, 3))


@beaming.probe
def one_wide(beam_search: Any) -> Seen:
    """width 1"""
    return searched(beam_search(speaker("b", 7, 3, patience=3), 0, 3, 8, 1))


@beaming.probe
def wider_than_the_vocabulary(beam_search: Any) -> Seen:
    """width 20 with a vocabulary of four"""
    return searched(beam_search(speaker("c", 4, 0), 1, 0, 4, 20))


def talkative(name: str, vocab: int, eos: int) -> Step:
    """A model for which long and short answers are about equally likely, so that the length decides."""

    rows = [normal(vocab, seed=f"{name} {i}") for i in range(13)]

    def step(prefix: list[int]) -> Tensor:
        logits = rows[sum((i + 2) * token for i, token in enumerate(prefix)) % 13].clone()
        logits[eos] = logits[eos] + 0.7
        return logits.log_softmax(-1)

    return step


@beaming.probe
def with_a_length_penalty(beam_search: Any) -> Seen:
    """several answers of different lengths, penalties 0, 0.7 and 2"""
    found: Seen = {}
    for penalty in (0.0, 0.7, 2.0):
        result = searched(beam_search(talkative("d", 5, 1), 0, 1, 7, 4, length_penalty=penalty))
        found |= {f"{name} at penalty {penalty}": value for name, value in result.items()}
    return found


@beaming.probe
def cut_off_beams(beam_search: Any) -> Seen:
    """hypotheses that never end, cut off after four tokens"""
    return searched(beam_search(speaker("e", 5, 4), 2, 4, 4, 3, 1.0))


@beaming.probe
def a_garden_path(beam_search: Any) -> Seen:
    """a model whose likeliest first token leads nowhere"""

    def step(prefix: list[int]) -> Tensor:
        table = {1: [-9.0, -9.0, -0.6, -0.9], 2: [-2.0, -3.0, -2.2, -2.1], 3: [-0.1, -4.0, -4.0, -4.0]}
        return torch.tensor(table.get(prefix[-1], [-1.0, -2.0, -3.0, -4.0]))

    return {
        name: value
        for width in (1, 2)
        for name, value in {
            f"{key} at width {width}": v for key, v in searched(beam_search(step, 1, 0, 3, width)).items()
        }.items()
    }


@beaming.probe
def an_early_end(beam_search: Any) -> Seen:
    """width 2, an answer of eos alone takes one of the two places, penalty 2"""
    noise = normal(4, seed="end", std=0.01)
    rows = {(): [-0.5, -9.0, -0.6, -1.5], (3,): [-0.01, -6.0, -6.0, -6.0]}

    def step(prefix: list[int]) -> Tensor:
        return torch.tensor(rows.get(tuple(prefix[1:]), [-3.0, -3.5, -4.0, -4.5])) + noise

    return searched(beam_search(step, 1, 0, 2, 2, 2.0))


@beaming.probe
def a_late_bloomer(beam_search: Any) -> Seen:
    """a model whose third-best beginning leads to the best answer, widths 2 and 3"""
    noise = normal(4, seed="bloom", std=0.01)
    rows = {
        (): [-9.0, -9.0, -0.5, -1.0],
        (2,): [-9.0, -9.0, -0.7, -0.8],
        (3,): [-9.0, -9.0, -1.5, -1.6],
        (3, 2): [-0.1, -4.0, -4.0, -4.0],
    }

    def step(prefix: list[int]) -> Tensor:
        return torch.tensor(rows.get(tuple(prefix[1:]), [-3.0, -3.5, -4.0, -4.5])) + noise

    found: Seen = {}
    for width in (2, 3):
        result = searched(beam_search(step, 1, 0, 3, width))
        found |= {f"{name} at width {width}": value for name, value in result.items()}
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
