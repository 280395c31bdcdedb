"""The exercise `route_tokens`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, integers, normal, permutation, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.today.shared import slopes
from qkv.model.today import route_tokens

exercise = Exercise(
    route_tokens,
    section="Experts",
    minutes=15,
    difficulty=3,
    why="The router of a mixture of experts, and the number that keeps its experts equally busy.",
    hints=[
        "Three results. Write down for 2 tokens, 3 experts and k = 2 what each of them is, from logits of your choice.",
        "`topk` says nothing about equals. Which sort keeps their order, and which order do the ids have before it?",
        "The weights of a token sum to 1 after the cut. How much of the softmax went to the experts that are left?",
        "f counts: of all places (tokens times k), the share that went to e. P averages the softmax over tokens. Only "
        "one of the two has a gradient.",
    ],
    equivalents={
        "experts = logits.sort(dim=-1, descending=True, stable=True).indices[..., :k]  ->  "
        "experts = logits.sort(descending=True, stable=True).indices[..., :k]": "the last dimension is the default",
    },
)


def routed(result: Any) -> Seen:
    weights, experts, balance = result
    return {"weights": weights, "experts": experts, "balance": balance}


def named(words: str, result: Any) -> Seen:
    return {f"{name}, {words}": value for name, value in routed(result).items()}


def apart(*leading: int, n: int, seed: str) -> Tensor:
    """Logits in random order, so far apart that no rounding exchanges two of a token."""
    rows = math.prod(leading)
    order = torch.stack([permutation(n, seed=f"{seed} {i}") for i in range(rows)]).view(*leading, n)
    return 0.7 * order + normal(*leading, n, seed=seed, std=0.03)


@exercise.probe
def a_batch_of_sequences(route_tokens: Any) -> Seen:
    """a batch of sequences, two of several experts for each token"""
    batch, seq, n = distinct(3, 9, 3, seed="sizes")
    return routed(route_tokens(normal(batch, seq, n, seed="logits", std=2.0), 2))


@exercise.probe
def tokens_in_a_row_and_one_alone(route_tokens: Any) -> Seen:
    """tokens without a batch, and one token by itself; k given by name"""
    tokens, n, k = whole(5, 12, seed="tokens"), whole(6, 9, seed="n"), whole(2, 5, seed="k")
    row = named("tokens in a row", route_tokens(normal(tokens, n, seed="row", std=2.0), k=k))
    return row | named("one alone", route_tokens(normal(n, seed="alone", std=2.0), k=k))


@exercise.probe
def one_and_all(route_tokens: Any) -> Seen:
    """k = 1, and k = n"""
    tokens, n = distinct(4, 9, 2, seed="sizes")
    logits = normal(tokens, n, seed="logits", std=2.0)
    return named("k = 1", route_tokens(logits.clone(), 1)) | named("k = n", route_tokens(logits.clone(), n))


@exercise.probe
def equals(route_tokens: Any) -> Seen:
    """small whole numbers as logits, so that equals stand at the cut; few experts and many"""
    tokens = whole(4, 9, seed="tokens")
    seen: Seen = {}
    for n, k in ((6, 3), (40, whole(9, 20, seed="k"))):
        logits = integers(0, 3, tokens, n, seed=f"small {n}").float()
        seen |= named(f"{n} experts", route_tokens(logits, k))
    return seen


@exercise.probe
def all_alike(route_tokens: Any) -> Seen:
    """uniform logits: the first k experts, and a balance of 1"""
    tokens, n, k = whole(2, 7, seed="tokens"), whole(17, 30, seed="n"), whole(2, 9, seed="k")
    return routed(route_tokens(torch.full((tokens, n), whole(-3, 4, seed="height") / 2), k))


@exercise.probe
def all_to_the_same(route_tokens: Any) -> Seen:
    """every token prefers the same experts by far"""
    tokens, n, k = whole(3, 8, seed="tokens"), whole(5, 9, seed="n"), whole(1, 4, seed="k")
    logits = normal(tokens, n, seed="rest", std=0.1)
    logits[:, permutation(n, seed="favourites")[:k]] += 9.0
    return routed(route_tokens(logits, k))


@exercise.probe
def some_loud_tokens(route_tokens: Any) -> Seen:
    """tokens with logits around 10,000, around -10,000, and spread over both"""
    n, k = whole(5, 9, seed="n"), 2
    steps = apart(3, 2, n=n, seed="steps")
    spread = torch.full((2, n), -1e4)
    for i, row in enumerate(spread):
        row[permutation(n, seed=f"high {i}")[:3]] = 1e4
    logits = torch.cat([steps[0] + 1e4, steps[1] - 1e4, spread, steps[2]])
    return routed(route_tokens(logits, k))


@exercise.probe
def sizes_of_one(route_tokens: Any) -> Seen:
    """one expert, one token, one of both"""
    tokens, n = distinct(3, 9, 2, seed="sizes")
    return (
        named("one expert", route_tokens(normal(tokens, 1, seed="one expert"), 1))
        | named("one token", route_tokens(normal(1, 1, n, seed="one token"), 2))
        | named("one of both", route_tokens(normal(1, seed="both"), 1))
    )


@exercise.probe
def the_gradient_of_the_balance(route_tokens: Any) -> Seen:
    """the gradient of balance alone, and that of the weights alone"""
    logits = apart(2, whole(3, 7, seed="tokens"), n=6, seed="logits").requires_grad_()
    weights, _, balance = route_tokens(logits, 3)
    (of_balance,) = slopes(balance, [logits])
    (of_weights,) = slopes((weights * normal(*weights.shape, seed="coefficients")).sum(), [logits])
    return {"gradient of balance": of_balance, "gradient of weights": of_weights}


usual(exercise, lambda: (apart(2, 4, n=6, seed="usual"), 3))


def over_experts(logits: Tensor) -> Tensor:
    return logits.softmax(-1)


def largest_first(logits: Tensor, k: int) -> Tensor:
    return logits.sort(dim=-1, descending=True, stable=True).indices[..., :k]


def shared_out(p: Tensor, logits: Tensor, experts: Tensor) -> Tensor:
    chosen = p.gather(-1, experts)
    return chosen / chosen.sum(-1, keepdim=True)


def counted(p: Tensor, experts: Tensor) -> Tensor:
    n = p.shape[-1]
    return (experts.unsqueeze(-1) == torch.arange(n, device=p.device)).to(p.dtype).flatten(0, -2).mean(0)


def averaged(p: Tensor) -> Tensor:
    return p.reshape(-1, p.shape[-1]).mean(0)


def times_n(f: Tensor, mean: Tensor, k: int) -> Tensor:
    return len(f) * (f * mean).sum()


@exercise.assembled
def routed_in_steps(
    logits: Tensor,
    k: int,
    *,
    score: Any = over_experts,
    choose: Any = largest_first,
    share: Any = shared_out,
    count: Any = counted,
    mean: Any = averaged,
    combine: Any = times_n,
) -> Any:
    p = score(logits)
    experts = choose(logits, k)
    return share(p, logits, experts), experts, combine(count(p, experts), mean(p), k)


@exercise.instead_of("choose")
def larger_id_first(logits: Tensor, k: int) -> Tensor:
    """Of equally good experts you choose the larger ids first.

    Sorting in ascending order and turning round does so. Ties go to the smaller id.
    """
    return logits.shape[-1] - 1 - logits.flip(-1).sort(dim=-1, descending=True, stable=True).indices[..., :k]


@exercise.instead_of("choose")
def as_topk_has_them(logits: Tensor, k: int) -> Tensor:
    """You leave it to `torch.topk` which of equally good experts comes first, and it promises no order.

    On another machine it may be another one. Ties go to the smaller id: a stable sort in descending order keeps it.
    """
    return logits.topk(k, dim=-1).indices


@exercise.instead_of("choose")
def worst_first(logits: Tensor, k: int) -> Tensor:
    """You choose the k smallest logits.

    Sort in descending order: a token goes to the experts that suit it best.
    """
    return logits.sort(dim=-1, stable=True).indices[..., :k]


@exercise.instead_of("choose")
def best_last(logits: Tensor, k: int) -> Tensor:
    """Your experts are the right ones, but the best stands last.

    They are asked for best first, and the weights in the same order.
    """
    return largest_first(logits, k).flip(-1)


@exercise.instead_of("choose")
def in_the_order_of_ids(logits: Tensor, k: int) -> Tensor:
    """Your experts are the right ones, in the order of their ids.

    They are asked for best first, and the weights in the same order.
    """
    return largest_first(logits, k).sort(dim=-1).values


@exercise.instead_of("share")
def not_renormalised(p: Tensor, logits: Tensor, experts: Tensor) -> Tensor:
    """Your weights do not sum to 1: what the experts that were not chosen had is missing.

    Divide by the sum of the chosen ones; else a token that is undecided would be made quieter.
    """
    return p.gather(-1, experts)


@exercise.instead_of("share")
def softmax_twice(p: Tensor, logits: Tensor, experts: Tensor) -> Tensor:
    """You take a softmax of the chosen probabilities.

    Probabilities are a softmax already, and another one makes them nearly equal. Either divide them by their sum, or
    take a softmax of the chosen *logits*; both give the same.
    """
    return p.gather(-1, experts).softmax(-1)


@exercise.instead_of("share")
def logits_divided(p: Tensor, logits: Tensor, experts: Tensor) -> Tensor:
    """You divide the chosen logits by their sum.

    Logits may be negative. It is the softmax that is divided.
    """
    chosen = logits.gather(-1, experts)
    return chosen / chosen.sum(-1, keepdim=True)


@exercise.instead_of("share")
def weights_held(p: Tensor, logits: Tensor, experts: Tensor) -> Tensor:
    """Your values are right, but the weights have no gradient.

    The choice has none; the weights do, and through them the router learns what its experts are good for.
    """
    return shared_out(p, logits, experts).detach()


@exercise.instead_of("share")
def all_equally(p: Tensor, logits: Tensor, experts: Tensor) -> Tensor:
    """Your chosen experts all have the weight 1/k.

    How well each suits the token decides about its weight, and it is the only way by which the router learns from
    what the experts do.
    """
    return torch.full_like(p[..., : experts.shape[-1]], 1 / experts.shape[-1])


@exercise.instead_of("share")
def the_others_zero(p: Tensor, logits: Tensor, experts: Tensor) -> Tensor:
    """Your weights have an entry for every expert, 0 where it was not chosen.

    Asked for are the k of the chosen ones, in the order of `experts`.
    """
    return torch.zeros_like(p).scatter(-1, experts, shared_out(p, logits, experts))


@exercise.instead_of("count")
def first_choice_counted(p: Tensor, experts: Tensor) -> Tensor:
    """f counts only the first choice of every token.

    That is the whole of it where k = 1, as in Switch. A token goes to k experts, and each of these is an assignment.
    """
    return counted(p, experts[..., :1])


@exercise.instead_of("count")
def shares_of_tokens(p: Tensor, experts: Tensor) -> Tensor:
    """Your f sums to k: you divide by the number of tokens, not by that of assignments.

    A token has k of them. With Σ f = 1 a balance of 1 means even, whatever k is.
    """
    return counted(p, experts) * experts.shape[-1]


@exercise.instead_of("count")
def weights_counted(p: Tensor, experts: Tensor) -> Tensor:
    """You add up probabilities where assignments should be counted.

    f is how often an expert is chosen, however narrowly; P says how probable it was.
    """
    return averaged(p)


@exercise.instead_of("mean")
def weights_of_the_chosen_averaged(p: Tensor) -> Tensor:
    """Your P is the mean of the largest probability alone, all others set to 0.

    P_e is the mean of the whole softmax, over all tokens, also over those that did not choose e.
    """
    return averaged(torch.where(p == p.amax(-1, keepdim=True), p, 0))


@exercise.instead_of("mean")
def mean_held(p: Tensor) -> Tensor:
    """Your values are right, but balance has no gradient.

    f is a count and has none. P is what the router can change, so it has to stay in the graph.
    """
    return averaged(p).detach()


@exercise.instead_of("combine")
def not_times_n(f: Tensor, mean: Tensor, k: int) -> Tensor:
    """Your balance lacks the factor n.

    With it even loads give 1, however many experts there are.
    """
    return (f * mean).sum()


@exercise.instead_of("combine")
def times_n_over_k(f: Tensor, mean: Tensor, k: int) -> Tensor:
    """You divide balance by k.

    f sums to 1 already, as a share of all assignments.
    """
    return times_n(f, mean, k) / k


@exercise.instead_of("combine")
def mean_over_experts(f: Tensor, mean: Tensor, k: int) -> Tensor:
    """You average over the experts where you should sum and multiply by n.

    The mean is smaller by n².
    """
    return (f * mean).mean()


@exercise.instead_of("combine")
def squares_of_shares(f: Tensor, mean: Tensor, k: int) -> Tensor:
    """Your balance is n·Σ f², of counts alone.

    It has the same minimum but no gradient: counts do not change when a logit changes a little.
    """
    return len(f) * (f * f).sum() + 0 * mean.sum()


@exercise.instead_of("score")
def sigmoid_scores(logits: Tensor) -> Tensor:
    """You score each expert by a sigmoid.

    DeepSeek-V3 does so. Here the experts share 1: a softmax over all n.
    """
    return logits.sigmoid()


@exercise.instead_of("score")
def unstable_softmax(logits: Tensor) -> Tensor:
    """Your softmax is not finite for logits of ±10,000.

    e^10000 is infinity. Subtract the largest logit first, or take the softmax that torch has; it is allowed here.
    """
    powers = logits.exp()
    return powers / powers.sum(-1, keepdim=True)


@exercise.instead_of("score")
def softmax_over_tokens(logits: Tensor) -> Tensor:
    """Your softmax runs over the tokens.

    Every token shares 1 among the experts, which are the last dimension.
    """
    return logits.softmax(-2) if logits.dim() > 1 else torch.ones_like(logits)


@exercise.misconception
def softmax_after_the_cut_only(logits: Tensor, k: int) -> Any:
    """Your P is a softmax of the chosen logits, with 0 for all others.

    For the weights it makes no difference whether the softmax comes before the cut or after it. For balance it does:
    P_e has the whole softmax, and so a gradient also for experts that nobody chose.
    """
    weights, experts, _ = routed_in_steps(logits, k)
    p = torch.zeros_like(logits).scatter(-1, experts, weights)
    return weights, experts, times_n(counted(p, experts), averaged(p), k)


@exercise.misconception
def a_balance_for_each_row(logits: Tensor, k: int) -> Any:
    """You make a balance for every sequence and average these.

    Within one short sequence no router can be even. f and P run over all leading dimensions together.
    """
    weights, experts, balance = routed_in_steps(logits, k)
    if logits.dim() > 2:
        balance = torch.stack([routed_in_steps(row, k)[2] for row in logits]).mean()
    return weights, experts, balance


@exercise.misconception
def experts_before_weights(logits: Tensor, k: int) -> Any:
    """You return experts, weights, balance.

    Asked for are weights first, then experts.
    """
    weights, experts, balance = routed_in_steps(logits, k)
    return experts, weights, balance


@exercise.misconception
def ids_as_int32(logits: Tensor, k: int) -> Any:
    """Your experts are int32.

    Ids are int64 in this course, as torch's own indices are.
    """
    weights, experts, balance = routed_in_steps(logits, k)
    return weights, experts.int(), balance


squeezes(exercise)
unpacks(exercise, "logits", "batch", "seq", "n")
