"""The whole machine: embeddings, encoder, decoder, tied output, and two ways to read an answer off it.

Vaswani et al. 2017, sections 3 and 6.1; Press and Wolf 2017 (tied embeddings). Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.expect import expects
from qkv.model.masks import causal_mask
from qkv.model.positions import sinusoidal_positions

Step = Callable[[list[int]], Tensor]


@expects(ids="int: ... seq", table="vocab d_model", positions="length d_model")
def embed(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """Turn token ids into vectors that know which token stands where.

    Args:
        ids: token ids (..., seq), int64.
        table: one vector for each token of the vocabulary (vocab, d_model).
        positions: one vector for each position (length, d_model), as many
            as there are ids in a sequence, or more.

    Returns:
        vectors (..., seq, d_model): rows of the table times √d_model, plus
        the positions from 0 on.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[: ids.shape[-1]]


@expects(targets="int: batch seq")
def shift_right(targets: Tensor, bos: int) -> Tensor:
    """Make what the decoder reads out of what it should say.

    Each position reads the token before its target.

    Args:
        targets: what should be said (batch, seq), int64.
        bos: the token that stands before the first.

    Returns:
        inputs (batch, seq): bos, then the targets without the last column.
    """
    start = torch.full_like(targets[:, :1], bos)
    return torch.cat([start, targets[:, :-1]], dim=1)


class Transformer(nn.Module):
    """An encoder reads the source, a decoder says the target.

    The output shares its weights with the target's table.

    Args:
        source_vocab: number of source tokens.
        target_vocab: number of target tokens.
        d_model: width of the stream, even.
        n_heads: heads in each attention.
        d_ff: width inside each feed-forward network.
        n_layers: layers in the encoder, and as many in the decoder.
        max_length: longest sequence.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    positions: Tensor

    @expects(d_model="even", n_heads="divides d_model")
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        max_length: int = 64,
    ) -> None:
        super().__init__()
        source_table = torch.randn(source_vocab, d_model) / math.sqrt(d_model)
        target_table = torch.randn(target_vocab, d_model) / math.sqrt(d_model)
        self.source_table = nn.Parameter(source_table)
        self.target_table = nn.Parameter(target_table)
        positions = sinusoidal_positions(max_length, d_model)
        self.register_buffer("positions", positions, persistent=False)
        sizes, layers = (d_model, n_heads, d_ff), range(n_layers)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in layers)
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in layers)
        self.decoder_norm = nn.LayerNorm(d_model)

    @expects(source="int: batch source", mask="bool -> batch source source")
    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read the source once; the result serves every step of the decoder.

        Args:
            source: token ids (batch, source), int64.
            mask: bool, broadcastable to (batch, source, source), or None.
                True means "may attend".

        Returns:
            memory (batch, source, d_model), normalised.
        """
        x = embed(source, self.source_table, self.positions)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    @expects(inputs="int: batch target", memory="batch source d_model", mask="bool -> batch target source")
    def decode(
        self,
        inputs: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Score every next token, after each prefix of the inputs.

        Args:
            inputs: what has been said so far (batch, target), int64,
                starting with bos. No position sees a later one.
            memory: what the encoder made (batch, source, d_model).
            mask: which of the memory may be seen, bool, broadcastable to
                (batch, target, source), or None.

        Returns:
            logits (batch, target, target_vocab).
        """
        x = embed(inputs, self.target_table, self.positions)
        past = causal_mask(inputs.shape[1]).to(inputs.device)
        for layer in self.decoder:
            x = layer(x, memory, past, mask)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(
        self,
        source: Tensor,
        inputs: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Score every token of the target at once, as in training.

        Args:
            source: token ids (batch, source), int64.
            inputs: the target shifted right (batch, target), int64.
            mask: real source tokens, bool, (batch, 1, source), or None.

        Returns:
            logits (batch, target, target_vocab).
        """
        return self.decode(inputs, self.encode(source, mask), mask)


def greedy_decode(
    step: Step,
    bos: int,
    eos: int,
    max_length: int,
) -> list[int]:
    """Say the likeliest token again and again, until eos.

    Args:
        step: gives the log-probabilities (vocab,) of the next token after
            a prefix, a list of ids that starts with bos.
        bos: the token that stands before the first.
        eos: the token that ends the answer.
        max_length: the longest answer.

    Returns:
        the answer's ids, without bos, with eos if it came. Of equally likely
        tokens the smallest id is said.
    """
    prefix = [bos]
    while len(prefix) <= max_length:
        prefix.append(int(step(prefix).argmax()))
        if prefix[-1] == eos:
            break
    return prefix[1:]


def beam_search(
    step: Step,
    bos: int,
    eos: int,
    max_length: int,
    width: int,
    length_penalty: float = 0.0,
) -> tuple[list[int], float]:
    """Follow several beginnings at once; choose among the answers they reach.

    In each step every unfinished hypothesis is extended by every token, and
    the `width` best by summed log-probability are kept. One that ends in eos
    is complete and leaves the beam; its place is not refilled. After
    max_length steps the unfinished count as complete.

    Args:
        step: gives the log-probabilities (vocab,) of the next token after
            a prefix, a list of ids that starts with bos.
        bos: the token that stands before the first.
        eos: the token that completes a hypothesis.
        max_length: the longest answer.
        width: how many are kept; it may exceed the vocabulary.
        length_penalty: an answer's score is its summed log-probability
            divided by its length to this power.

    Returns:
        the ids of the complete hypothesis with the best score, without bos,
        with eos if it came; and that score.
    """

    def score(hypothesis: tuple[list[int], float]) -> float:
        ids, total = hypothesis
        return total / len(ids) ** length_penalty

    beam: list[tuple[list[int], float]] = [([], 0.0)]
    complete = []
    for _ in range(max_length):
        extended = []
        for ids, total in beam:
            for token, log_p in enumerate(step([bos, *ids]).tolist()):
                extended.append(([*ids, token], total + log_p))
        kept = sorted(extended, key=lambda pair: pair[1], reverse=True)[:width]
        complete += [(ids, total) for ids, total in kept if ids[-1] == eos]
        beam = [(ids, total) for ids, total in kept if ids[-1] != eos]
    best = max(complete + beam, key=score)
    return best[0], score(best)
