"""Models: one stack is BERT, GPT, T5 or ViT, by what is hidden from it and by what goes in and comes out.

Sennrich et al. 2016 (byte-pair encoding); Devlin et al. 2019 (BERT's masking); Raffel et al. 2020 (T5's spans); Fan et
al. 2018 (top-k) and Holtzman et al. 2020 (top-p); Dosovitskiy et al. 2021 (ViT's patches); Hu et al. 2022 (LoRA).
Shapes: see model/__init__.py. Byte-pair ids: 0 … 255 are bytes, merge number i (from 0) makes the id 256 + i.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.expect import expects, is_integer
from qkv.model.masks import padding_mask
from qkv.model.positions import also

Pair = tuple[int, int]


def words_in_one_string(words: Sequence[str], n_merges: int) -> str:
    if isinstance(words, str):
        return "words is a single string, expected a list of strings. Use words.split(), or [words]."
    other = next((word for word in words if not isinstance(word, str)), "")
    return f"words contains {other!r}, expected strings only." if other != "" else ""


def unordered_merges(text: str, merges: Sequence[Sequence[int]]) -> str:
    if not isinstance(text, str):
        return f"text is a {type(text).__name__}, expected a string."
    for i, pair in enumerate(merges):
        if len(pair) != 2 or not all(is_integer(part) and 0 <= part < 256 + i for part in pair):
            return (
                f"merges[{i}] is {pair!r}, expected a pair of ids from 0 to {255 + i}: "
                "the bytes, and what the merges before it make."
            )
    return ""


def not_a_share(
    ids: Tensor, mask_id: int, vocab: int, special: Sequence[int], generator: torch.Generator, p: float
) -> str:
    return "" if 0 <= p <= 1 else f"p is {p}, expected a probability from 0 to 1."


def unordered_spans(ids: Sequence[int], spans: Sequence[Pair], sentinel: int) -> str:
    end = 0
    for i, (start, length) in enumerate(spans):
        if length < 1:
            return f"spans[{i}] is {(start, length)}, expected a length of 1 or more."
        if start < end:
            return f"spans[{i}] starts at {start}, expected {end} or later: spans are in order and do not overlap."
        end = start + length
    return "" if end <= len(ids) else f"the last span ends before position {end}, but there are {len(ids)} ids."


def nothing_to_predict(logits: Tensor, ids: Tensor, lengths: Tensor) -> str:
    longest = int(lengths.max())
    if longest > ids.shape[1]:
        return f"lengths has {longest}, expected at most seq = {ids.shape[1]}."
    return "" if longest > 1 else "every length is 0 or 1, so no token has one before it that could predict it."


def no_distribution(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> str:
    if not temperature >= 0:
        return f"temperature is {temperature}, expected 0 or more."
    if top_p is not None and not top_p >= 0:
        return f"top_p is {top_p}, expected 0 or more."
    return ""


def does_not_fit(self: PatchEmbedding, images: Tensor) -> str:
    height, width = images.shape[-2:]
    if height % self.size or width % self.size:
        return f"images are {height} × {width}, expected multiples of the patch size {self.size}."
    n_patches, places = height // self.size * (width // self.size), len(self.positions) - 1
    if n_patches != places:
        return f"images have {n_patches} patches, expected {places}: there is a position for each."
    return ""


def not_linear(self: LoRALinear, linear: nn.Linear, rank: int, alpha: float) -> str:
    if not isinstance(linear, nn.Linear):
        return f"linear is a {type(linear).__name__}, expected an nn.Linear."
    return ""


def other_width(self: LoRALinear, x: Tensor) -> str:
    d_in = self.linear.in_features
    return "" if x.shape[-1] == d_in else f"x has {x.shape[-1]} components, expected {d_in}, as its layer."


@expects(n_merges="size")
@also.expects(words_in_one_string)
def train_bpe(words: Sequence[str], n_merges: int) -> list[Pair]:
    """Learn which neighbours to glue together: the commonest pair, again and again.

    Each step counts every adjacent pair of ids in every word (in "aaa" there
    are two), never across words. The most frequent pair becomes a new id
    wherever it stands, from left to right, without overlap.

    Args:
        words: strings; one may occur often, or be empty. At first a word is
            its UTF-8 bytes, the ids 0 … 255.
        n_merges: how many pairs to learn; fewer if no pair is left.

    Returns:
        the merged pairs of ids, in the order in which they were learned: pair
        number i, from 0, made the id 256 + i. Of equally frequent pairs the
        smallest (a, b) is merged. A pair that occurs once counts as well.
    """

    def glued(ids: list[int], pair: Pair, new: int) -> list[int]:
        result: list[int] = []
        for part in ids:
            if result and (result[-1], part) == pair:
                result[-1] = new  # equal to neither half: nothing is used twice
            else:
                result.append(part)
        return result

    texts = [list(word.encode()) for word in words]
    merges: list[Pair] = []
    for new in range(256, 256 + n_merges):
        counts = Counter(pair for ids in texts for pair in pairwise(ids))
        if not counts:
            break
        most = max(counts.values())
        best = min(pair for pair in counts if counts[pair] == most)
        texts = [glued(ids, best, new) for ids in texts]
        merges.append(best)
    return merges


@also.expects(unordered_merges)
def encode_bpe(text: str, merges: Sequence[Pair]) -> list[int]:
    """Cut a text into the pieces that byte-pair encoding has learned.

    Args:
        text: any string; all of it, nothing is split at spaces.
        merges: pairs of ids, as train_bpe gives them.

    Returns:
        ids: the UTF-8 bytes, after each merge in its order was made
        everywhere, from left to right, without overlap. "" gives [].
    """
    ids = list(text.encode())
    for new, pair in enumerate(merges, start=256):
        result: list[int] = []
        for part in ids:
            if result and [result[-1], part] == list(pair):
                result[-1] = new
            else:
                result.append(part)
        ids = result
    return ids


@expects(ids="int: ...", vocab="positive")
@also.expects(not_a_share)
def mask_tokens(
    ids: Tensor,
    mask_id: int,
    vocab: int,
    special: Sequence[int],
    generator: torch.Generator,
    p: float = 0.15,
) -> tuple[Tensor, Tensor]:
    """Hide some tokens, as BERT is trained to find them again.

    A token is chosen with probability p unless it is special. Of the chosen
    ones 80 % become mask_id, 10 % a random token, and 10 % stay as they are.

    Args:
        ids: token ids (...), int64.
        mask_id: the id that hides a token.
        vocab: random tokens are 0 … vocab - 1, special ones included.
        special: ids that are never chosen; a list or tuple, perhaps empty.
        generator: where the randomness comes from. Always drawn, in this
            order, for every token:
                a = torch.rand(ids.shape, generator=generator)
                b = torch.rand(ids.shape, generator=generator)
                c = torch.randint(vocab, ids.shape, generator=generator)
            A token is chosen where a < p; it becomes mask_id where b < 0.8,
            and the c drawn for it where 0.8 ≤ b < 0.9.
        p: the share to be chosen, from 0 to 1.

    Returns:
        inputs (...): the ids with some hidden; and targets (...): the ids
        where they were chosen, -100 elsewhere.
    """
    shape, device = ids.shape, generator.device
    a = torch.rand(shape, generator=generator, device=device).to(ids.device)
    b = torch.rand(shape, generator=generator, device=device).to(ids.device)
    c = torch.randint(vocab, shape, generator=generator, device=device).to(ids.device)
    never = torch.tensor(special, dtype=torch.int64, device=ids.device)
    chosen = (a < p) & ~torch.isin(ids, never)
    inputs = torch.where(chosen & (b < 0.9), c, ids)
    inputs = torch.where(chosen & (b < 0.8), mask_id, inputs)
    return inputs, torch.where(chosen, ids, -100)


@also.expects(unordered_spans)
def corrupt_spans(
    ids: list[int],
    spans: Sequence[Pair],
    sentinel: int,
) -> tuple[list[int], list[int]]:
    """Cut spans out of a text; the task is to say what was there (T5).

    Args:
        ids: token ids, a list.
        spans: (start, length) of each span, in order, none overlapping; they
            may touch. A length is 1 or more.
        sentinel: the id that stands for the first span; the next span has
            sentinel - 1, and so on down.

    Returns:
        inputs: the ids, each span replaced by its one sentinel; and targets:
        for each span its sentinel and then its ids, closed by the next
        sentinel, sentinel - len(spans). Both are lists.
    """
    inputs: list[int] = []
    targets: list[int] = []
    end = 0  # of the span before
    for i, (start, length) in enumerate(spans):
        inputs += [*ids[end:start], sentinel - i]
        end = start + length
        targets += [sentinel - i, *ids[start:end]]
    return inputs + ids[end:], [*targets, sentinel - len(spans)]


@expects(logits="batch seq vocab", ids="int: batch seq", lengths="int: batch")
@also.expects(nothing_to_predict)
def perplexity(logits: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
    """Among how many tokens, on average, is the model undecided?

    It is the exponential of the mean of -log p over all predicted tokens,
    each counting alike. The first token of a sequence is not predicted.

    Args:
        logits: scores of the next token (batch, seq, vocab), as large as
            ±1e4: logits[b, t-1] predicts ids[b, t].
        ids: what was really said (batch, seq), int64.
        lengths: how many tokens of each sequence are real (batch,), int64.
            0 and 1 add nothing; at least one is 2 or more.

    Returns:
        the perplexity, a scalar.
    """
    real = padding_mask(lengths, ids.shape[1])[:, 0, 1:]  # (batch, seq - 1)
    predicted, said = logits[:, :-1][real], ids[:, 1:][real]  # (token, vocab)
    return F.cross_entropy(predicted, said).exp()


@expects(logits="... vocab", top_k="positive")
@also.expects(no_distribution)
def sampling_probabilities(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Turn logits into the probabilities from which the next token is drawn.

    In every cut, of equal tokens the one with the smaller id comes first.

    Args:
        logits: scores of every token (..., vocab); -inf beside finite ones
            means "never".
        temperature: logits are divided by it. 0 gives the largest the
            probability 1, whatever top_k and top_p say.
        top_k: keep only so many of the largest; it may exceed vocab. None
            keeps all.
        top_p: of the probabilities after top_k keep, from the largest on,
            every token before which the total is less than top_p: the one that
            crosses it stays, and the first in any case. None keeps all.

    Returns:
        probabilities (..., vocab) that sum to 1, 0 for what is not kept.
    """
    if temperature == 0:
        best = logits.argmax(dim=-1)  # the first of equals
        return F.one_hot(best, logits.shape[-1]).to(logits.dtype)
    ranked, order = (logits / temperature).sort(dim=-1, descending=True, stable=True)
    rank = torch.arange(logits.shape[-1], device=logits.device)
    if top_k is not None:
        ranked = ranked.masked_fill(rank >= top_k, -math.inf)
    p = ranked.softmax(dim=-1)
    if top_p is not None:
        before = p.cumsum(dim=-1) - p
        p = p.masked_fill((before >= top_p) & (rank > 0), 0)
        p = p / p.sum(dim=-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)  # back to the order of ids


class PatchEmbedding(nn.Module):
    """Make a sequence of a picture: cut it into patches, and give each a vector.

    A vector of its own, the class token, comes first: it belongs to no patch
    and can collect what the whole picture shows.

    Args:
        channels: colours of a pixel.
        size: height and width of a patch, in pixels.
        d_model: width of the vectors.
        n_patches: patches in a picture.
    """

    @expects(channels="positive", size="positive", d_model="positive", n_patches="positive")
    def __init__(self, channels: int, size: int, d_model: int, n_patches: int) -> None:
        super().__init__()
        self.size = size
        self.proj = nn.Linear(channels * size * size, d_model)
        self.class_token = nn.Parameter(0.02 * torch.randn(d_model))
        positions = 0.02 * torch.randn(n_patches + 1, d_model)
        self.positions = nn.Parameter(positions)

    @expects(images="batch channels height width")
    @also.expects(does_not_fit)
    def forward(self, images: Tensor) -> Tensor:
        """Cut, project, put the class token in front, add the positions.

        Args:
            images: pictures (batch, channels, height, width); size divides
                height and width, which may differ.

        Returns:
            vectors (batch, 1 + n_patches, d_model): the class token, then the
            patches row by row. Inside a patch the numbers are in the order
            channel, row, column. positions[0] belongs to the class token.
        """
        return self._placed(self._with_class_token(self.proj(self._patches(images))))

    def _patches(self, images: Tensor) -> Tensor:
        """All patches, flat, as a convolution's weight has their numbers."""
        grid = images.unflatten(2, (-1, self.size)).unflatten(4, (-1, self.size))
        # (batch, channel, row, y, column, x): row and column of the patch, y and x inside it
        grid = grid.permute(0, 2, 4, 1, 3, 5)
        return grid.flatten(3).flatten(1, 2)  # (batch, patch, channels·size²)

    def _with_class_token(self, vectors: Tensor) -> Tensor:
        first = self.class_token.expand(len(vectors), 1, -1)
        return torch.cat([first, vectors], dim=1)

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors + self.positions


class LoRALinear(nn.Module):
    """Tune a frozen layer by a correction of low rank.

    The correction is 0 at first, so that tuning starts from the layer as it is.

    Args:
        linear: the layer; it is frozen here, its bias too.
        rank: rank of the correction.
        alpha: its size; the correction is multiplied by alpha / rank.
    """

    @expects(rank="positive")
    @also.expects(not_linear)
    def __init__(self, linear: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.rank = rank
        self.alpha = alpha
        d_out, d_in = linear.weight.shape
        new = linear.weight.new_empty  # of the layer's dtype, on its device
        self.a = nn.Parameter(new(rank, d_in).normal_(std=d_in**-0.5))
        self.b = nn.Parameter(new(d_out, rank).zero_())

    @expects(x="... d_in")
    @also.expects(other_width)
    def forward(self, x: Tensor) -> Tensor:
        """Add the correction to what the frozen layer says.

        Args:
            x: vectors (..., d_in).

        Returns:
            vectors (..., d_out): linear(x), plus alpha / rank times the
            product of x with a transposed and with b transposed.
        """
        return self.linear(x) + self._correction(x)

    def merged(self) -> nn.Linear:
        """Bake the correction into one plain layer that costs nothing extra.

        Returns:
            a new nn.Linear with the same output as this module; it has a bias
            only if `linear` has one. Nothing of this module is changed, or
            shared with it.
        """
        linear = self._empty_copy()
        with torch.no_grad():
            linear.weight.copy_(self.linear.weight + self._scale() * self.b @ self.a)
            if self.linear.bias is not None:
                linear.bias.copy_(self.linear.bias)
        return linear

    def _scale(self) -> float:
        return self.alpha / self.rank

    def _correction(self, x: Tensor) -> Tensor:
        """First down to rank, then up: no matrix of the layer's size is made."""
        return self._scale() * (x @ self.a.T) @ self.b.T

    def _empty_copy(self) -> nn.Linear:
        d_out, d_in = self.linear.weight.shape
        bias = self.linear.bias is not None
        return nn.Linear(d_in, d_out, bias, self.linear.weight.device, self.linear.weight.dtype)
