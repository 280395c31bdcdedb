"""Objects that can be called, partials, lambdas; arguments that nobody asked for."""

import functools
import itertools
import math
import operator

import torch
from torch import nn


class _AnswerLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.NLLLoss(reduction="mean")

    def forward(self, logits, ids, answer, verbose=False):
        where = answer[:, 1:].nonzero(as_tuple=True)
        log_p = nn.LogSoftmax(dim=-1)(logits[:, :-1][where])
        return self.judge(log_p, ids[:, 1:][where])


answer_loss = _AnswerLoss()


def sequence_log_probability(logits, ids, answer, start=0.0):
    def one_more(sums, t):
        log_p = logits[:, t - 1].log_softmax(-1).gather(1, ids[:, t : t + 1])[:, 0]
        return sums + torch.where(answer[:, t], log_p, start)

    return functools.reduce(one_more, range(1, ids.shape[1]), torch.zeros_like(logits[:, 0, 0]))


def _logistic(margin):
    return torch.logaddexp(torch.zeros_like(margin), -margin).mean()


class BradleyTerry:
    """An object in place of a function."""

    def __call__(self, rewards, pairs):
        winner, loser = pairs.unbind(1)
        return _logistic(rewards.index_select(0, winner) - rewards.index_select(0, loser))


bradley_terry_loss = BradleyTerry()


class DPO(nn.Module):
    def forward(self, chosen, rejected, reference_chosen, reference_rejected, beta=0.1, *, label="sigmoid"):
        policy = chosen - rejected
        start = (reference_chosen - reference_rejected).detach()
        return _logistic(beta * (policy - start))


dpo_loss = DPO()


class Advantages(nn.Module):
    @torch.no_grad()
    def forward(self, rewards, eps=1e-4):
        x = rewards.clone() if rewards.is_floating_point() else rewards.double().to(torch.get_default_dtype())
        x -= x.mean(-1, keepdim=True)
        return x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) / math.sqrt(x.shape[-1]) + eps)


group_advantages = Advantages()


class ClippedLoss:
    """One number for each word, by nonzero."""

    def __call__(self, new, old, reference, advantages, answer, clip=0.2, kl=0.0, *, reduction="mean"):
        rows, columns = torch.nonzero(answer, as_tuple=True)
        rows, columns = rows[columns > 0], columns[columns > 0]
        word = operator.itemgetter((rows, columns))
        return getattr(self.losses(*map(word, (new, old, reference)), advantages[rows].detach(), clip, kl), reduction)()

    def losses(self, new, old, reference, gain, clip, kl):
        ratio = torch.exp(new - old.detach())
        cut = torch.maximum(-gain * ratio, -gain * ratio.clip(1 - clip, 1 + clip))
        d = reference.detach() - new
        return cut + kl * (d.exp() - 1 - d)


clipped_loss = ClippedLoss()


def pass_at_k(n, right, k):
    factors = (1 - k / i for i in range(n - right + 1, n + 1)) if n - right >= k else [0]
    return 1.0 - functools.reduce(operator.mul, factors, 1.0)


def _ballots(answers, weights):
    for answer, weight in zip(answers, weights or itertools.repeat(1.0)):  # noqa: B905
        if answer is not None:
            yield answer, weight


def majority_vote(answers, weights=None, default=None):
    ballots = list(_ballots(answers, weights))
    order = list(dict.fromkeys(answer for answer, _ in ballots))
    totals = [math.fsum(weight for one, weight in ballots if one == answer) for answer in order]
    return max(zip(order, totals, strict=True), key=operator.itemgetter(1), default=(default, 0))[0]
