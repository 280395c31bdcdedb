"""The reference of `aligned` against plain loops, against enumeration, and against what theory says of it."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.aligned import (
    answer_loss,
    bradley_terry_loss,
    clipped_loss,
    dpo_loss,
    group_advantages,
    majority_vote,
    pass_at_k,
    sequence_log_probability,
)
from qkv.model.models import perplexity

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


def judged(batch: int, seq: int, vocab: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, ids, and a mask that has True in its first column too."""
    source = torch.Generator().manual_seed(seed)
    ids = torch.randint(vocab, (batch, seq), generator=source)
    answer = torch.rand(batch, seq, generator=source) < 0.5
    answer[0], answer[1:, 0] = False, True
    answer[-1, 1] = True
    return drawn(batch, seq, vocab, seed=seed), ids, answer


def surprises(logits: Tensor, ids: Tensor, answer: Tensor) -> list[list[float]]:
    """-log p of each answer's words, by loops in Python numbers."""
    found: list[list[float]] = []
    for b, row in enumerate(logits.double().tolist()):
        found.append([])
        for t in range(1, len(row)):
            if answer[b, t]:
                before, top = row[t - 1], max(row[t - 1])
                total = sum(math.exp(score - top) for score in before)
                found[-1].append(math.log(total) + top - before[int(ids[b, t])])
    return found


# answer_loss, sequence_log_probability


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("batch", "seq", "vocab"), [(4, 7, 5), (1, 2, 3), (3, 6, 1), (2, 9, 4)])
def test_answers_are_judged_word_by_word(batch, seq, vocab, dtype):
    logits, ids, answer = judged(batch, seq, vocab, seed=seq)
    answer[0, 1] = batch == 1
    logits = logits.to(dtype)
    expected = surprises(logits, ids, answer)
    words = list(itertools.chain(*expected))
    loss, sums = answer_loss(logits, ids, answer), sequence_log_probability(logits, ids, answer)
    assert loss.dtype == sums.dtype == dtype
    assert (loss.shape, sums.shape) == ((), (batch,))
    assert float(loss.detach()) == pytest.approx(sum(words) / len(words), abs=FLOATS[dtype] * 2)
    torch.testing.assert_close(
        -sums.double(),
        torch.tensor([sum(row) for row in expected], dtype=torch.float64),
        rtol=0,
        atol=FLOATS[dtype] * 9,
    )


def test_everything_as_an_answer_is_the_perplexity_of_chapter_12():
    logits, ids, answer = judged(3, 6, 5, seed=0)
    everything = torch.ones_like(answer)
    lengths = torch.full((3,), 6)
    torch.testing.assert_close(answer_loss(logits, ids, everything).exp(), perplexity(logits, ids, lengths))


def test_what_stands_outside_the_answer_has_no_say():
    logits, ids, answer = judged(4, 8, 5, seed=1)
    outside = ~torch.cat([answer[:, 1:], torch.zeros(4, 1, dtype=torch.bool)], dim=1)  # logits that predict no answer
    wild = torch.where(outside[..., None], 1e4 * drawn(4, 8, 5, seed=2).sign(), logits)
    other = torch.where(answer, ids, (ids + 1) % 5)
    for function in (answer_loss, sequence_log_probability):
        quiet, loud = logits.clone().requires_grad_(), wild.clone().requires_grad_()
        mine, theirs = function(quiet, ids, answer), function(loud, other, answer)
        torch.testing.assert_close(mine, theirs)
        (a,) = torch.autograd.grad(mine.sum(), quiet)
        (b,) = torch.autograd.grad(theirs.sum(), loud)
        torch.testing.assert_close(a, b)
        assert (b[outside] == 0).all()


def test_huge_logits_inside_the_answer():
    logits, ids, answer = judged(3, 5, 4, seed=3)
    logits = (1e4 * logits.sign()).float().requires_grad_()
    words = list(itertools.chain(*surprises(logits, ids, answer)))
    loss = answer_loss(logits, ids, answer)
    assert float(loss.detach()) == pytest.approx(sum(words) / len(words), rel=1e-6)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.isfinite().all()


def test_a_row_without_an_answer_gives_0_with_gradient_0():
    logits, ids, answer = judged(2, 4, 3, seed=4)
    answer[0, 0], answer[0, 1:] = True, False
    logits.requires_grad_()
    sums = sequence_log_probability(logits, ids, answer)
    assert sums[0] == 0
    assert sums[1] < 0
    (gradient,) = torch.autograd.grad(sums.sum(), logits)
    assert (gradient[0] == 0).all()
    assert sequence_log_probability(logits[:, :1], ids[:, :1], answer[:, :1]).tolist() == [0, 0]  # nothing is predicted


def test_answers_refuse_what_does_not_fit():
    logits, ids, answer = judged(2, 4, 3, seed=5)
    none = torch.tensor([[True, False, False, False]] * 2)
    words = "has no True after its first column, so there is no word to judge. Mark the words of the answers."
    refuses(ValueError, f"answer_loss: answer {words}", answer_loss, logits, ids, none)
    words = "answer_loss: answer is float64, expected bool. Use answer != 0."
    refuses(TypeError, words, answer_loss, logits, ids, answer.double())
    words = "sequence_log_probability: ids has 3, expected words of the vocabulary, 0 to 2."
    refuses(ValueError, words, sequence_log_probability, logits, torch.full_like(ids, 3), answer)
    words = "answer_loss: ids has -1, expected words of the vocabulary, 0 to 2."
    refuses(ValueError, words, answer_loss, logits, torch.full_like(ids, -1), answer)
    words = (
        "answer_loss: answer has shape (2, 3), so seq = 3; expected seq = 4, as logits has it. answer is (batch, seq)."
    )
    refuses(ValueError, words, answer_loss, logits, ids, answer[:, 1:])


# bradley_terry_loss, dpo_loss


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("n", "m"), [(5, 9), (2, 1), (1, 1), (6, 3)])
def test_pairs_by_a_loop(n, m, dtype):
    rewards = drawn(n, seed=n, dtype=dtype)
    pairs = torch.randint(n, (m, 2), generator=torch.Generator().manual_seed(m))
    losses = [math.log1p(math.exp(float(rewards[b]) - float(rewards[a]))) for a, b in pairs.tolist()]
    found = bradley_terry_loss(rewards, pairs)
    assert found.dtype == dtype
    assert found.shape == ()
    assert float(found) == pytest.approx(sum(losses) / m, abs=3 * FLOATS[dtype])


def test_its_gradient_is_the_chance_that_the_loser_wins():
    rewards = drawn(4, seed=3).requires_grad_()
    pairs = torch.tensor([[0, 1], [0, 2], [2, 1]])
    (gradient,) = torch.autograd.grad(bradley_terry_loss(rewards, pairs), rewards)
    expected = torch.zeros(4, dtype=torch.float64)
    for a, b in pairs.tolist():
        upset = torch.sigmoid(rewards[b] - rewards[a]).detach() / 3
        expected[a] -= upset
        expected[b] += upset
    torch.testing.assert_close(gradient, expected)


def test_preferences_of_ten_thousand():
    rewards = torch.tensor([1e4, -1e4], requires_grad=True)
    pairs = torch.tensor([[0, 1], [1, 0]])
    loss = bradley_terry_loss(rewards, pairs)
    assert float(loss.detach()) == pytest.approx(1e4)  # 0 and 20,000
    (gradient,) = torch.autograd.grad(loss, rewards)
    assert gradient.tolist() == [0.5, -0.5]


def test_pairs_refuse_what_does_not_fit():
    rewards, pairs = drawn(3, seed=0), torch.tensor([[0, 1]])
    words = "bradley_terry_loss: pairs has 3, expected indices of rewards, 0 to 2."
    refuses(ValueError, words, bradley_terry_loss, rewards, pairs + 2)
    words = "bradley_terry_loss: pairs has -1, expected indices of rewards, 0 to 2."
    refuses(ValueError, words, bradley_terry_loss, rewards, pairs - 1)
    words = "bradley_terry_loss: pairs has 3 columns, expected 2: the winner and the loser."
    refuses(ValueError, words, bradley_terry_loss, rewards, torch.tensor([[0, 1, 2]]))
    words = (
        "bradley_terry_loss: pairs has shape (0, 2), so m is 0. Expected (m, columns) with at least one entry in each."
    )
    refuses(ValueError, words, bradley_terry_loss, rewards, pairs[:0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("beta", [0.1, 2.0])
@pytest.mark.parametrize("batch", [1, 6])
def test_dpo_is_bradley_terry_on_log_ratios(batch, beta, dtype):
    chosen, rejected, ours, theirs = (drawn(batch, seed=i, dtype=dtype) for i in range(4))
    rewards = beta * torch.cat([chosen - ours, rejected - theirs])
    pairs = torch.arange(2 * batch).view(2, batch).T
    found = dpo_loss(chosen, rejected, ours, theirs, beta)
    assert found.dtype == dtype
    torch.testing.assert_close(found, bradley_terry_loss(rewards, pairs), rtol=0, atol=3 * FLOATS[dtype])


def test_a_model_that_has_not_moved_loses_log_2():
    chosen, rejected = drawn(5, seed=0), drawn(5, seed=1)
    assert float(dpo_loss(chosen, rejected, chosen, rejected)) == pytest.approx(math.log(2))


def test_the_reference_is_held():
    given = [drawn(3, seed=i).requires_grad_() for i in range(4)]
    gradients = torch.autograd.grad(dpo_loss(*given), given, allow_unused=True)
    assert [g is not None for g in gradients] == [True, True, False, False]
    torch.testing.assert_close(gradients[0], -gradients[1])


def test_dpo_of_ten_thousand():
    far = torch.tensor([1e4, -1e4]).requires_grad_()
    loss = dpo_loss(far, -far.detach(), -far.detach(), far.detach(), beta=1.0)
    assert float(loss.detach()) == pytest.approx(2e4)  # 0 and 40,000
    (gradient,) = torch.autograd.grad(loss, far)
    assert gradient.tolist() == [0, -0.5]


def test_dpo_refuses_what_does_not_fit():
    one = drawn(3, seed=0)
    refuses(ValueError, "dpo_loss: beta is 0, expected a number above 0.", dpo_loss, one, one, one, one, 0)
    words = (
        "dpo_loss: rejected has shape (2,), so batch = 2; expected batch = 3, as chosen has it. rejected is (batch,)."
    )
    refuses(ValueError, words, dpo_loss, one, one[:2], one, one)


# group_advantages


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 6), (4, 1), (1,)])
def test_advantages_by_a_loop(shape, dtype):
    rewards = drawn(*shape, seed=7, dtype=dtype)
    found = group_advantages(rewards, eps=0.01)
    assert found.dtype == dtype
    for group, mine in zip(rewards.double().view(-1, shape[-1]), found.double().view(-1, shape[-1]), strict=True):
        mean = sum(group.tolist()) / len(group)
        deviation = math.sqrt(sum((r - mean) ** 2 for r in group.tolist()) / len(group))
        expected = torch.tensor([(r - mean) / (deviation + 0.01) for r in group.tolist()], dtype=torch.float64)
        torch.testing.assert_close(mine, expected, rtol=0, atol=4 * FLOATS[dtype])


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.uint8, torch.float32])
def test_right_and_wrong_as_rewards(kind):
    found = group_advantages(torch.tensor([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]).to(kind))
    assert found.dtype == torch.float32
    deviation = math.sqrt(3) / 4 + 1e-4
    assert found[0].tolist() == pytest.approx([0.75 / deviation, *[-0.25 / deviation] * 3])
    assert (found[1:] == 0).all()


def test_whole_rewards_follow_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        assert group_advantages(torch.tensor([True, False])).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_rewards_are_held():
    assert not group_advantages(drawn(3, seed=0).requires_grad_()).requires_grad


def test_advantages_refuse_what_is_no_group():
    words = "group_advantages: rewards has shape (), expected (..., group) with at least one answer in a group."
    refuses(ValueError, words, group_advantages, torch.tensor(1.0))
    words = "group_advantages: rewards has shape (3, 0), expected (..., group) with at least one answer in a group."
    refuses(ValueError, words, group_advantages, torch.zeros(3, 0))
    words = "group_advantages: rewards is a list, expected a tensor of shape (..., group)."
    refuses(ValueError, words, group_advantages, [1.0, 0.0])


# clipped_loss


def written(batch: int, seq: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    new = -drawn(batch, seq, seed=seed).abs()
    old, reference = (new + 0.4 * drawn(batch, seq, seed=seed + i) for i in (1, 2))
    answer = drawn(batch, seq, seed=seed + 3) > 0
    answer[0, 0], answer[0, 1] = True, True
    return new, old, reference, drawn(batch, seed=seed + 4), answer


def clipped_by_a_loop(new, old, reference, advantages, answer, clip, kl):
    losses = []
    for b, t in itertools.product(range(new.shape[0]), range(1, new.shape[1])):
        if answer[b, t]:
            ratio, gain = math.exp(new[b, t] - old[b, t]), float(advantages[b])
            cut = min(max(ratio, 1 - clip), 1 + clip)
            away = float(reference[b, t] - new[b, t])
            losses.append(-min(ratio * gain, cut * gain) + kl * (math.exp(away) - away - 1))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("clip", "kl"), [(0.2, 0.0), (0.1, 0.5), (0.0, 0.04), (1.5, 0.0)])
@pytest.mark.parametrize(("batch", "seq"), [(3, 7), (1, 2), (5, 4)])
def test_clipped_words_by_a_loop(batch, seq, clip, kl, dtype):
    given = [t.to(dtype) if t.is_floating_point() else t for t in written(batch, seq, seed=11)]
    found = clipped_loss(*given, clip, kl)
    assert found.dtype == dtype
    assert found.shape == ()
    assert float(found) == pytest.approx(clipped_by_a_loop(*given, clip, kl), abs=6 * FLOATS[dtype])


def test_its_gradient_is_that_of_new_alone_and_0_where_it_is_cut():
    new, old, _, advantages, answer = given = written(4, 6, seed=20)
    for tensor in given[:4]:
        tensor.requires_grad_()
    gradients = torch.autograd.grad(clipped_loss(*given), given[:4], allow_unused=True)
    assert [g is not None for g in gradients] == [True, False, False, False]
    ratio, words = (new - old).exp().detach(), answer.clone()
    words[:, 0] = False
    gain = advantages.detach()[:, None].expand_as(ratio)
    cut = ((ratio > 1.2) & (gain > 0)) | ((ratio < 0.8) & (gain < 0))
    assert (cut & words).any()
    torch.testing.assert_close(gradients[0], -torch.where(words & ~cut, ratio * gain, 0.0) / words.sum())


def test_the_first_step_follows_the_policy_gradient():
    """Where the model has not moved since it wrote, the gradient is that of -A·log p."""
    new, _, _, advantages, answer = written(3, 5, seed=30)
    words = answer[:, 1:]
    new.requires_grad_()
    (mine,) = torch.autograd.grad(clipped_loss(new, new.detach(), new.detach(), advantages, answer, kl=0.3), new)
    (plain,) = torch.autograd.grad(-(advantages[:, None] * new[:, 1:])[words].mean(), new)
    torch.testing.assert_close(mine, plain)


def test_the_penalty_estimates_the_divergence():
    """Its mean over words drawn from a distribution is KL(distribution‖reference), by enumeration."""
    p, q = (drawn(6, seed=i).softmax(-1) for i in (1, 2))
    log_p, log_q = p.log()[None], q.log()[None]
    answer = torch.tensor([[False, True]])
    found = 0.0
    for word in range(6):
        mine, theirs = (F.pad(t[:, word : word + 1], (1, 0)) for t in (log_p, log_q))
        found += float(p[word]) * float(clipped_loss(mine, mine, theirs, torch.zeros(1).double(), answer, kl=1.0))
    assert found == pytest.approx(float((p * (p / q).log()).sum()))


@pytest.mark.parametrize("sign", [1, -1])
def test_what_stands_outside_has_no_say_in_the_clipped_loss(sign):
    new, old, reference, advantages, answer = written(3, 6, seed=40)
    words = answer.clone()
    words[:, 0] = False
    quiet = clipped_loss(new, old, reference, advantages, answer, kl=0.1)
    wild = torch.full_like(new, sign * 1e4)
    loud = torch.where(words, new, wild).requires_grad_()
    result = clipped_loss(
        loud, torch.where(words, old, -wild), torch.where(words, reference, -wild), advantages, answer, kl=0.1
    )
    torch.testing.assert_close(result, quiet)
    (gradient,) = torch.autograd.grad(result, loud)
    assert gradient.isfinite().all()
    assert (gradient[~words] == 0).all()


def test_a_far_reference_costs_nothing_where_kl_is_0():
    new, old, reference, advantages, answer = written(2, 4, seed=50)
    found = clipped_loss(new, old, reference + 1e4, advantages, answer)
    torch.testing.assert_close(found, clipped_loss(new, old, reference, advantages, answer))


def test_the_clipped_loss_refuses_what_does_not_fit():
    new, old, _, advantages, answer = given = written(2, 4, seed=60)
    words = "clipped_loss: reference is None, expected log-probabilities (batch, seq). Where kl is 0, `old` will do."
    refuses(ValueError, words, clipped_loss, new, old, None, advantages, answer)
    refuses(ValueError, "clipped_loss: clip is -0.1, expected 0 or more.", clipped_loss, *given, -0.1)
    refuses(ValueError, "clipped_loss: kl is -1.0, expected 0 or more.", clipped_loss, *given, 0.2, -1.0)
    words = (
        "clipped_loss: answer has no True after its first column, so there is no word to judge. "
        "Mark the words of the answers."
    )
    refuses(ValueError, words, clipped_loss, *given[:4], torch.zeros_like(answer))


# pass_at_k


def test_pass_at_k_by_enumeration():
    for n in range(1, 7):
        for right, k in itertools.product(range(n + 1), range(1, n + 1)):
            draws = list(itertools.combinations([i < right for i in range(n)], k))
            found = pass_at_k(n, right, k)
            assert isinstance(found, float)
            assert found == pytest.approx(sum(any(draw) for draw in draws) / len(draws), abs=1e-15)


@pytest.mark.parametrize(("right", "k"), [(1, 1), (3, 2), (7, 5000), (1, 9999), (5000, 3), (10, 1000), (9999, 1)])
def test_nine_digits_of_ten_thousand(right, k):
    none = Fraction(1)
    for i in range(k):  # drawn one by one, exactly
        none *= Fraction(max(10_000 - right - i, 0), 10_000 - i)
        if none == 0:
            break
    assert pass_at_k(10_000, right, k) == pytest.approx(float(1 - none), abs=1e-12)


def test_pass_at_k_refuses_what_cannot_be():
    words = "pass_at_k: k is 5, expected at most n = 4: answers are drawn without return. Sample more, or ask for less."
    refuses(ValueError, words, pass_at_k, 4, 2, 5)
    refuses(ValueError, "pass_at_k: right is 5, expected at most n = 4: so many answers there are.", pass_at_k, 4, 5, 2)
    refuses(ValueError, "pass_at_k: k is 0, expected a positive integer.", pass_at_k, 4, 2, 0)
    refuses(ValueError, "pass_at_k: right is -1, expected an integer that is not negative.", pass_at_k, 4, -1, 2)
    refuses(ValueError, "pass_at_k: n is 4.0, expected a positive integer.", pass_at_k, 4.0, 2, 2)


# majority_vote


def test_votes_by_counting():
    source = torch.Generator().manual_seed(0)
    for _ in range(200):
        n = int(torch.randint(1, 9, (), generator=source))
        answers = [None if i == 0 else "abc"[i - 1] for i in torch.randint(4, (n,), generator=source).tolist()]
        weights = (torch.randint(5, (n,), generator=source) / 4).tolist()
        voted = [a for a in answers if a is not None]
        for given in (None, weights):
            found = majority_vote(answers, given)
            if not voted:
                assert found is None
                continue
            total = {a: sum(w for b, w in zip(answers, given or [1] * n, strict=True) if b == a) for a in voted}
            best = [a for a in voted if total[a] == max(total.values())]
            assert found == best[0]


def test_votes_that_are_lists_of_words_and_other_things():
    assert majority_vote([(1, 2), "x", (1, 2), frozenset({3})]) == (1, 2)
    assert majority_vote([]) is None
    assert majority_vote([None, None], [3.0, 1.0]) is None
    assert majority_vote([None, "late"], [9.0, 0.0]) == "late"
    assert majority_vote(["first", "second"], [0.0, 0.0]) == "first"


def test_votes_refuse_what_does_not_fit():
    words = "majority_vote: answers is a single string, expected a list of answers."
    refuses(ValueError, words, majority_vote, "abc")
    words = "majority_vote: answers[1] is a list, expected something hashable. Use a tuple, or a string."
    refuses(ValueError, words, majority_vote, ["a", [1, 2]])
    words = "majority_vote: weights has 1 entries, expected 2: one for each answer, None included."
    refuses(ValueError, words, majority_vote, ["a", None], [1.0])
    words = "majority_vote: weights[1] is -1.0, expected 0 or more."
    refuses(ValueError, words, majority_vote, ["a", "b"], [1.0, -1.0])
    words = "majority_vote: weights[0] is nan, expected 0 or more."
    refuses(ValueError, words, majority_vote, ["a", "b"], [math.nan, 1.0])
