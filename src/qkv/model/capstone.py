"""Capstone: a small GPT whose heads know distances, the loss that trains it, and how it writes.

Radford et al. 2019 (GPT-2: a decoder alone, pre-norm); Su et al. 2021 (rotary positions). Shapes: see
model/__init__.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.blocks import FeedForward, gelu
from qkv.model.expect import expects
from qkv.model.heads import merge_heads, split_heads
from qkv.model.masks import causal_mask, padding_mask
from qkv.model.positions import also, rotate
from qkv.model.scaling import scaled_dot_product_attention

Model = Callable[[Tensor], Tensor]


def odd_heads(self: nn.Module, d_model: int, n_heads: int) -> str:
    d_head = d_model // n_heads
    return f"d_model / n_heads is {d_head}, expected an even number: components turn in pairs." if d_head % 2 else ""


def not_in_vocab(self: TinyGPT, ids: Tensor) -> str:
    vocab = self.tokens.num_embeddings
    other = ids[(ids < 0) | (ids >= vocab)]
    return f"ids contains {int(other[0])}, expected 0 to {vocab - 1}." if len(other) else ""


def nothing_to_predict(model: Model, ids: Tensor, lengths: Tensor) -> str:
    longest = int(lengths.max())
    if longest > ids.shape[1]:
        return f"lengths has {longest}, expected at most seq = {ids.shape[1]}."
    return "" if longest > 1 else "every length is 0 or 1, so no token has one before it that could predict it."


def nothing_to_go_on(
    model: Model,
    prompt: Sequence[int],
    end: int,
    max_new: int,
    context: int,
    generator: torch.Generator,
    temperature: float,
) -> str:
    if isinstance(prompt, Tensor):
        return "prompt is a tensor, expected a list of ids. Use prompt.tolist()."
    if len(prompt) == 0:
        return "prompt is empty, expected at least one id."
    return "" if temperature >= 0 else f"temperature is {temperature}, expected 0 or more."


class RotaryAttention(nn.Module):
    """Self-attention with several heads, in which scores depend on distance.

    Args:
        d_model: width of the vectors that come in and go out.
        n_heads: number of heads; d_model / n_heads is even.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    @expects(d_model="positive", n_heads="divides d_model")
    @also.expects(odd_heads)
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    @expects(x="batch seq d_model", mask="bool -> batch seq seq")
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend as MultiHeadAttention does, with turned queries and keys.

        Args:
            x: a batch of sequences (batch, seq, d_model), at positions 0, 1, 2, …
            mask: bool, broadcastable to (batch, seq, seq), the same for every
                head. True means "may attend".

        Returns:
            output (batch, seq, d_model). In every head q and k, but not v, are
            turned by `rotate` before they meet.
        """
        q, k, v = self._project(x)  # each (batch, head, seq, d_head)
        heads = self._attend(self._turn(q), self._turn(k), v, self._for_every_head(mask))
        return self.out_proj(merge_heads(heads))

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        return split_heads(q, self.n_heads), split_heads(k, self.n_heads), split_heads(v, self.n_heads)

    def _turn(self, x: Tensor) -> Tensor:
        """Each head by itself: its first pair is the fastest."""
        return rotate(x, torch.arange(x.shape[-2], device=x.device))

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        """Make room for the heads, so that each of them meets the same mask."""
        if mask is None:
            return None
        return torch.atleast_2d(mask).unsqueeze(-3)  # (..., 1, seq, seq)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        output, _ = scaled_dot_product_attention(q, k, v, mask)
        return output


class TinyGPT(nn.Module):
    """Score the next token after every beginning of a text.

    Args:
        vocab: number of tokens.
        d_model: width of the stream.
        n_heads: heads in each attention; d_model / n_heads is even.
        n_layers: number of layers.
        d_ff: width inside each feed-forward network, which uses GELU.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    @expects(vocab="positive", d_model="positive", n_heads="divides d_model", n_layers="positive", d_ff="positive")
    def __init__(self, vocab: int, d_model: int, n_heads: int, n_layers: int, d_ff: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            parts: dict[str, nn.Module] = {
                "norm1": nn.LayerNorm(d_model),
                "attention": RotaryAttention(d_model, n_heads),
                "norm2": nn.LayerNorm(d_model),
                "feed_forward": FeedForward(d_model, d_ff, gelu),
            }
            self.layers.append(nn.ModuleDict(parts))
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, vocab, bias=False)

    @expects(ids="int: batch seq")
    @also.expects(not_in_vocab)
    def forward(self, ids: Tensor) -> Tensor:
        """Read the tokens as they are, and let every layer add to the stream.

        Args:
            ids: token ids (batch, seq), int64. No position sees a later one.

        Returns:
            logits (batch, seq, vocab): at position t for the token at t+1.
        """
        x = self._embedded(ids)
        mask = self._mask(ids)
        for layer in self.layers:
            x = self._layer(layer, x, mask)
        return self.out(self.norm(x))

    def _embedded(self, ids: Tensor) -> Tensor:
        """Neither scaled nor placed: the order comes in where heads turn."""
        return self.tokens(ids)

    def _mask(self, ids: Tensor) -> Tensor | None:
        return causal_mask(ids.shape[1]).to(ids.device)

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        """Pre-norm: each sublayer reads a normalised copy of the stream."""
        x = x + layer["attention"](layer["norm1"](x), mask)
        return x + layer["feed_forward"](layer["norm2"](x))


@expects(ids="int: batch seq", lengths="int: batch")
@also.expects(nothing_to_predict)
def next_token_loss(model: Model, ids: Tensor, lengths: Tensor) -> Tensor:
    """Ask a model for every token of a batch, given the tokens before it.

    Args:
        model: gives logits (batch, seq - 1, vocab) for ids (batch, seq - 1). It
            is called once, with all tokens but the last of each row.
        ids: padded texts (batch, seq), int64; padding may be any id.
        lengths: how many tokens of each text are real (batch,), int64. 0 and 1
            add nothing; at least one is 2 or more.

    Returns:
        loss, a scalar: the mean over all real tokens of the batch but the first
        of each text, of -log of the probability that they get, in nats.
    """
    logits = model(ids[:, :-1])
    real = padding_mask(lengths, ids.shape[1])[:, 0, 1:]  # (batch, seq - 1), of the targets
    return F.cross_entropy(logits[real], ids[:, 1:][real])


@expects(max_new="size", context="positive")
@also.expects(nothing_to_go_on)
def write_story(
    model: Model,
    prompt: Sequence[int],
    end: int,
    max_new: int,
    context: int,
    generator: torch.Generator,
    temperature: float = 1.0,
) -> list[int]:
    """Let a model go on with a text, one token at a time.

    Args:
        model: gives logits (1, n, vocab) for ids (1, n), int64.
        prompt: the ids to start from, a list of at least one.
        end: the token that ends a text.
        max_new: how many tokens to write at most.
        context: how many ids the model sees, the last ones.
        generator: where the randomness comes from. Each token is
            torch.multinomial(p, 1, generator=generator), where p (vocab,) is the
            softmax of the last position's logits / temperature.
        temperature: 0 takes the token with the largest logit, of equal ones
            the smaller id, and draws nothing.

    Returns:
        the new ids, a list without the prompt, with `end` if it came. An `end` in
        the prompt ends nothing.
    """
    new: list[int] = []
    while len(new) < max_new and (not new or new[-1] != end):
        seen = torch.tensor([[*prompt, *new][-context:]], device=generator.device)
        with torch.no_grad():
            logits = model(seen)[0, -1]
        if temperature == 0:
            chosen = logits.argmax()  # the first of equals
        else:
            p = (logits / temperature).softmax(dim=-1)
            chosen = torch.multinomial(p, 1, generator=generator)
        new.append(int(chosen))
    return new
