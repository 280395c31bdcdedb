"""Vocabularies, padding and the split, on words small enough to write down."""

from __future__ import annotations

import pytest
import torch

from qkv.tasks.translation import BOS, EOS, PAD, Texts, Vocabulary, padded, translation

PAIRS = [(["a"], ["x", "y"]), (["b", "a"], ["y"]), (["c", "a", "b"], ["z", "x", "y", "z"])]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_special_tokens_come_first():
    words = Vocabulary([["b", "a"], ["c"]])
    assert words.tokens == ["<pad>", "<bos>", "<eos>", "a", "b", "c"]
    assert len(words) == 6
    assert (words.tokens[PAD], words.tokens[BOS], words.tokens[EOS]) == ("<pad>", "<bos>", "<eos>")


def test_there_and_back():
    words = Vocabulary([["b", "a"], ["c"]])
    assert words.encode(["c", "a"]) == [5, 3]
    assert words.decode([BOS, 5, 3, PAD, EOS, 4]) == ["c", "a"]


def test_an_unknown_token_is_refused():
    with pytest.raises(ValueError, match=r"^unknown token 'q'; the vocabulary has 4 tokens, see `.tokens`.$"):
        Vocabulary([["a"]]).encode(["a", "q"])


def test_pairs_as_tensors():
    task = translation(PAIRS, 2, 1, generator())
    texts = task.texts(PAIRS)
    assert texts.source.tolist() == [[3, 0, 0], [4, 3, 0], [5, 3, 4]]
    assert texts.lengths.tolist() == [1, 2, 3]
    assert texts.target.tolist() == [[3, 4, 2, 0, 0], [4, 2, 0, 0, 0], [5, 3, 4, 5, 2]]


def test_every_pair_goes_to_one_side():
    task = translation(PAIRS, 2, 1, generator())
    sides = [task.source.decode(ids) for texts in (task.train, task.test) for ids in texts.source.tolist()]
    assert sorted(sides) == sorted(source for source, _ in PAIRS)


def test_a_batch_is_cut_to_its_longest():
    texts = translation(PAIRS, 2, 1, generator()).texts(PAIRS)
    short = texts.at(torch.tensor([1, 0]))
    assert short.source.tolist() == [[4, 3], [3, 0]]
    assert short.lengths.tolist() == [2, 1]
    assert short.target.tolist() == [[4, 2, 0], [3, 4, 2]]
    assert texts.at(torch.tensor([True, False, False])).source.tolist() == [[3]]
    assert isinstance(texts.batch(7, generator()), Texts)
    assert len(texts.batch(7, generator()).source) == 7


def test_more_than_there_is_is_refused():
    words = "translation: 3 to learn from and 1 held out are more than the 3 pairs."
    with pytest.raises(ValueError, match=f"^{words}$"):
        translation(PAIRS, 3, 1, generator())


def test_padding():
    assert padded([[5, 6, 7], [8]]).tolist() == [[5, 6, 7], [8, 0, 0]]
