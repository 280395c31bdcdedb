"""The tasks that need order: what is asked is what the words say, and the generator decides everything."""

from __future__ import annotations

import pytest
import torch

from qkv.tasks.order import echo, mood, mood_by_bayes, pairs, reverse, whereabouts


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("task", [echo, reverse, mood, whereabouts])
def test_the_generator_decides(task):
    first, again, other = (task(5, 7, generator(s)) for s in (1, 1, 2))
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], other[0])
    assert first[0].shape == first[1].shape == (5, 7)
    assert first[0].dtype == first[1].dtype == torch.int64


def test_echo_repeats_after_three():
    tokens, targets = echo(4, 9, generator())
    assert torch.equal(targets[:, 3:], tokens[:, :-3])
    assert (targets[:, :3] == -100).all()


def test_reverse_turns_the_sequence_round():
    tokens, targets = reverse(3, 8, generator())
    assert [row[::-1] for row in tokens.tolist()] == targets.tolist()


def test_whereabouts_counts():
    tokens, targets = whereabouts(3, 6, generator())
    assert targets.tolist() == [[0, 1, 2, 3, 4, 5]] * 3
    assert (tokens[:, 0] == 0).all()
    assert (tokens[:, 1:] > 0).all()


def test_moods_last_and_shine_through():
    tokens, moods = mood(4000, 20, generator())
    stays = (moods[:, 1:] == moods[:, :-1]).float().mean()
    assert stays == pytest.approx(0.9 + 0.1 / 10, abs=0.01)
    assert (tokens == moods).float().mean() == pytest.approx(0.4 + 0.6 / 10, abs=0.01)


def test_bayes_beats_the_latest_token():
    tokens, moods = mood(2000, 16, generator())
    best = (mood_by_bayes(tokens) == moods).float().mean()
    assert best > (tokens == moods).float().mean() + 0.1


def test_bayes_by_hand():
    # two moods, two tokens "1": p(1 | mood 1) = .4 + .06, p(1 | other) = .06
    assert mood_by_bayes(torch.tensor([[1, 1], [3, 7]]))[0].tolist() == [1, 1]
    assert mood_by_bayes(torch.tensor([[3, 7]]))[0, 0].item() == 3


def test_pairs_are_inside_a_word_or_across_its_border():
    texts, targets = pairs(50, 12, generator())
    for pieces, asked in zip(texts, targets.tolist(), strict=True):
        for t, piece in enumerate(pieces):
            pair = t > 0 and pieces[t - 1].removeprefix("##") == "p" and piece.removeprefix("##") == "q"
            assert asked[t] == (0 if not pair else 2 if piece.startswith("##") else 1)
    assert set(targets.flatten().tolist()) == {0, 1, 2}
