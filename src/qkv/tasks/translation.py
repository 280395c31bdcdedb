"""Translation that can be checked exactly: pairs of token lists become padded ids, split by content.

What is held out is held out as a whole: a source of the test set never occurs in training, nor does its target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

PAD, BOS, EOS = 0, 1, 2
SPECIAL = ("<pad>", "<bos>", "<eos>")

Pair = tuple[list[str], list[str]]


class Vocabulary:
    """The tokens of one language. Ids 0, 1 and 2 pad, begin and end; the others follow in sorted order."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self.tokens = [*SPECIAL, *sorted({token for text in texts for token in text})]
        self.ids = {token: i for i, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: Sequence[str]) -> list[int]:
        """Ids of a list of tokens; a token that was never seen is refused."""
        unknown = [token for token in text if token not in self.ids]
        if unknown:
            raise ValueError(f"unknown token {unknown[0]!r}; the vocabulary has {len(self)} tokens, see `.tokens`.")
        return [self.ids[token] for token in text]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Tokens up to the first eos, without padding and bos."""
        found = []
        for i in ids:
            if i == EOS:
                break
            if i not in (PAD, BOS):
                found.append(self.tokens[i])
        return found


class Texts(NamedTuple):
    """Pairs as tensors of int64; every target ends in eos."""

    source: Tensor  # (pair, source), padded
    lengths: Tensor  # (pair,) how many tokens of each source are real
    target: Tensor  # (pair, target), padded

    def batch(self, size: int, generator: torch.Generator) -> Texts:
        """Draw `size` pairs, with replacement, cut to the longest that was drawn."""
        return self.at(torch.randint(len(self.source), (size,), generator=generator))

    def at(self, chosen: Tensor) -> Texts:
        """The chosen pairs, by a bool or int64 tensor, cut to the longest of them."""
        lengths, target = self.lengths[chosen], self.target[chosen]
        longest = int((target != PAD).sum(dim=1).max())
        return Texts(self.source[chosen, : int(lengths.max())], lengths, target[:, :longest])


class Translation(NamedTuple):
    """A task: two vocabularies, texts to learn from, and texts that were held out."""

    source: Vocabulary
    target: Vocabulary
    train: Texts
    test: Texts

    def texts(self, pairs: Sequence[Pair]) -> Texts:
        """Pairs of token lists as padded ids in this task's vocabularies."""
        sources = [self.source.encode(source) for source, _ in pairs]
        targets = [[*self.target.encode(target), EOS] for _, target in pairs]
        lengths = torch.tensor([len(ids) for ids in sources])
        return Texts(padded(sources), lengths, padded(targets))


def translation(everything: Sequence[Pair], n_train: int, n_test: int, generator: torch.Generator) -> Translation:
    """Split by content: the pairs are all different, and each goes to one side at most.

    Args:
        everything: all pairs there are; the vocabularies know every token of them.
        n_train: how many to learn from.
        n_test: how many to hold out.
        generator: decides which.
    """
    if n_train + n_test > len(everything):
        raise ValueError(
            f"translation: {n_train} to learn from and {n_test} held out are more than the {len(everything)} pairs."
        )
    order = torch.randperm(len(everything), generator=generator).tolist()
    languages = [Vocabulary(texts) for texts in zip(*everything, strict=True)]
    empty = Texts(*[torch.empty(0, dtype=torch.int64)] * 3)
    made = Translation(languages[0], languages[1], empty, empty)
    test = [everything[i] for i in order[:n_test]]
    train = [everything[i] for i in order[n_test : n_test + n_train]]
    return made._replace(train=made.texts(train), test=made.texts(test))


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Lists of ids as one rectangle (row, longest)."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
