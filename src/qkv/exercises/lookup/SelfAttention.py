"""The exercise `SelfAttention`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import normal, seeded
from proctor.inside.properties import keeps_inputs, usual
from proctor.inside.situations import Seen, if_it_runs, one_of_each
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.exercises.lookup.shared import in_sixtyfourths
from qkv.model.lookup import SelfAttention, similarity_scores, soft_lookup, softmax

exercise = Exercise(
    SelfAttention,
    section="Self-attention",
    minutes=15,
    difficulty=2,
    why="Queries, keys and values are now learned from the same words: the sentence looks itself up.",
    hints=[
        "Queries, keys and values are three different views of the same x. Which attribute makes which view?",
        "You have built the lookup already: it takes queries, keys and values.",
        "A projection is called like a function; nn.Linear works on the last dimension and leaves the others alone.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def build_self_attention(cls: Any) -> Any:
    return seeded(cls(6, 5, 4))


def sequence() -> tuple[Tensor]:
    return (normal(2, 3, 6, seed="x"),)


@exercise.probe
def a_batch_of_sequences(self_attention: Any) -> Seen:
    """two sequences of three vectors, d_model = 6, d_k = 5, d_v = 4"""
    return {"output": build_self_attention(self_attention)(*sequence())}


@exercise.probe
def with_widths_of_one(self_attention: Any) -> Seen:
    """one sequence, sequences of one vector, d_model = 1, d_k = 1, d_v = 1, each in turn"""
    found = {}
    for words, sizes in one_of_each(sequence=2, vector=3, d_model=6, d_k=5, d_v=4):
        batch, seq, d_model, d_k, d_v = sizes
        found[f"output with {words}"] = seeded(self_attention(d_model, d_k, d_v))(normal(batch, seq, d_model, seed="x"))
    return found


def build_of_equal_widths(cls: Any) -> Any:
    return seeded(cls(4, 4, 4))


def square_sequence() -> tuple[Tensor]:
    return (normal(4, 4, 4, seed="x"),)


@exercise.probe
def equal_widths(self_attention: Any) -> Seen:
    """d_model = d_k = d_v = 4, so that swapped projections still fit; four sequences of four vectors"""
    return {"output": build_of_equal_widths(self_attention)(*square_sequence())}


@exercise.probe
def of_loud_vectors(self_attention: Any) -> Seen:
    """vectors so long that scores go into the hundreds"""
    layer = seeded(self_attention(2, 2, 3))
    with torch.no_grad():
        for projection in (layer.q_proj, layer.k_proj):
            projection.weight.copy_(torch.eye(2))
    x = in_sixtyfourths(normal(2, 4, 2, seed="loud"))
    x[..., 0] = torch.tensor([16.0, 16.0, 16.0, -16.0])  # scores of ±256 and what the second component adds
    return {"output": layer(x)}


@exercise.probe
def one_sequence(self_attention: Any) -> Seen:
    """one sequence of seven vectors, without a batch dimension"""
    return if_it_runs(lambda: {"output": seeded(self_attention(3, 2, 5))(normal(7, 3, seed="x"))})


@exercise.probe
def inside_more_dimensions(self_attention: Any) -> Seen:
    """two batch dimensions, and vectors twice as long"""
    return if_it_runs(lambda: {"output": build_self_attention(self_attention)(normal(2, 3, 4, 6, seed="x", std=2.0))})


usual(exercise, sequence, build_self_attention)


exercise.property(keeps_inputs(square_sequence, build_of_equal_widths, "keeps_inputs_of_one_shape"))


@exercise.property
def called_again(self_attention: Any) -> Seen:
    """the same layer, called once more on sequences of another length

    The first call is right and the second is not: the layer keeps something from one call to the next. What it gives
    should depend on its weights and on x alone.
    """
    layer = build_self_attention(self_attention)
    layer(*sequence())
    return {"output of the second call": layer(normal(3, 5, 6, seed="x"))}


@exercise.misconception
class QueriesAndKeysSwapped(SelfAttention):
    """Your scores are turned: the keys ask and the queries answer, as if q_proj and k_proj had changed places.

    Row i should hold what query i finds in each key. In training two exchanged names would sort themselves out; with
    weights from elsewhere the result is wrong.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.k_proj(x), self.q_proj(x), self.v_proj(x))


@exercise.misconception
class KeysFromTheQueries(SelfAttention):
    """You make the keys with q_proj, so every element asks for what it offers.

    With one matrix for both, scores are symmetric: A matches B exactly as well as B matches A. Two matrices let A look
    for B without being looked for.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.q_proj(x), self.q_proj(x), self.v_proj(x))


@exercise.misconception
class ScaledAlready(SelfAttention):
    """You divide the scores by the square root of d_k.

    That is the next chapter's step. Here the unscaled lookup is asked for.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.q_proj(x) / math.sqrt(self.q_proj.out_features), self.k_proj(x), self.v_proj(x))


@exercise.misconception
class ItselfLeftOut(SelfAttention):
    """You let no element look at itself.

    "All the other words" is how it is often told, but the sequence is looked up whole: an element is one of its own
    keys, and may well be the best.
    """

    def forward(self, x: Tensor) -> Tensor:
        found = similarity_scores(self.q_proj(x), self.k_proj(x))
        itself = torch.eye(x.shape[-2], dtype=torch.bool, device=x.device)
        return softmax(found.masked_fill(itself, -math.inf), -1) @ self.v_proj(x)


@exercise.misconception
class FutureHidden(SelfAttention):
    """You let every element look only at itself and at those before it.

    That is the causal mask of a language model, which chapter 5 builds. Here every element looks at all of them.
    """

    def forward(self, x: Tensor) -> Tensor:
        found = similarity_scores(self.q_proj(x), self.k_proj(x))
        later = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).triu(1)
        return softmax(found.masked_fill(later, -math.inf), -1) @ self.v_proj(x)


@exercise.misconception
class BatchMixed(SelfAttention):
    """You let all sequences of a batch become one, so that elements look into other sequences.

    A batch is a bundle of sequences that have nothing to do with each other; they are only computed together. What
    comes out for one must not depend on its neighbours.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)


@exercise.misconception
class ResidualAdded(SelfAttention):
    """You add something to the attention's output: the values themselves.

    A residual connection belongs around this layer, not into it, and comes in a later chapter. Each output is only the
    weighted average.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.v_proj(x) + super().forward(x)


@exercise.misconception
class SoftmaxOverQueries(SelfAttention):
    """Your softmax runs over the queries instead of the keys.

    Each element distributes its own attention: its row of weights should sum to 1.
    """

    def forward(self, x: Tensor) -> Tensor:
        return softmax(similarity_scores(self.q_proj(x), self.k_proj(x)), -2) @ self.v_proj(x)


@exercise.misconception
class SoftmaxOverTheFirstDimension(SelfAttention):
    """Your softmax runs over dimension 0, which is the batch as soon as there is one.

    Each element distributes its attention over the keys, and those are always the last dimension of the scores.
    """

    def forward(self, x: Tensor) -> Tensor:
        return softmax(similarity_scores(self.q_proj(x), self.k_proj(x)), 0) @ self.v_proj(x)


@exercise.misconception
class SoftmaxOverDimensionOne(SelfAttention):
    """Your softmax runs over dimension 1, which are the keys only if there is no batch.

    With one batch dimension it is the queries that compete. Counted from the back, the keys are always the last.
    """

    def forward(self, x: Tensor) -> Tensor:
        return softmax(similarity_scores(self.q_proj(x), self.k_proj(x)), 1) @ self.v_proj(x)


@exercise.misconception
class ForOneBatchDimension(SelfAttention):
    """Your layer works for exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. `bmm`, dimensions counted from the front, and shapes that
    are unpacked into three names fix their number; `@` and dimensions counted from the back do not.
    """

    def forward(self, x: Tensor) -> Tensor:
        scores = torch.bmm(self.q_proj(x), self.k_proj(x).transpose(1, 2))
        return softmax(scores, -1) @ self.v_proj(x)


@exercise.misconception
class ForNoBatchDimension(SelfAttention):
    """Your layer works only for a single sequence, without a batch.

    `...` stands for any number of dimensions before the last two. `mm` and `t` know matrices alone; `@` multiplies the
    last two dimensions and carries the others along.
    """

    def forward(self, x: Tensor) -> Tensor:
        scores = torch.mm(self.q_proj(x), self.k_proj(x).transpose(-2, -1))
        return softmax(scores, -1) @ self.v_proj(x)


@exercise.misconception
class OverflowingSoftmax(SelfAttention):
    """Your weights overflow for large scores.

    The exponential of a score above 88 is inf in float32, and inf/inf is NaN. Use the stable softmax that you built.
    """

    def forward(self, x: Tensor) -> Tensor:
        powers = similarity_scores(self.q_proj(x), self.k_proj(x)).exp()
        return powers / powers.sum(-1, keepdim=True) @ self.v_proj(x)


@exercise.misconception
class ScaledAndFutureHidden(SelfAttention):
    """You divide the scores by the square root of d_k, and let every element look only at itself and at those before.

    That is a head of a language model, as later chapters build it. Here neither is asked for: the lookup is unscaled,
    and every element looks at all of them.
    """

    def forward(self, x: Tensor) -> Tensor:
        found = similarity_scores(self.q_proj(x), self.k_proj(x)) / math.sqrt(self.q_proj.out_features)
        later = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).triu(1)
        return softmax(found.masked_fill(later, -math.inf), -1) @ self.v_proj(x)


@exercise.misconception
class ScaledByTheModelWidth(SelfAttention):
    """You divide the scores by the square root of d_model.

    No division is asked for here. Where the next chapter brings one in, it is by the width of the queries and keys,
    since that is how many products a score adds up.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.q_proj(x) / math.sqrt(x.shape[-1]), self.k_proj(x), self.v_proj(x))


@exercise.misconception
class Squeezed(SelfAttention):
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. A batch of one and a sequence of one are sizes like any other.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).squeeze()


@exercise.misconception
class NoSoftmax(SelfAttention):
    """You weigh the values by raw scores; the softmax is missing.

    Raw scores do not sum to 1 and may be negative, so the output is no average of the values.
    """

    def forward(self, x: Tensor) -> Tensor:
        return similarity_scores(self.q_proj(x), self.k_proj(x)) @ self.v_proj(x)


@exercise.misconception
class ValuesAlone(SelfAttention):
    """You return the projected values: no element looks at any other.

    What is missing is the lookup: the values should be averaged with the weights that queries and keys give.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.v_proj(x)


@exercise.misconception
class ValuesNotProjected(SelfAttention):
    """You average the vectors of x themselves; v_proj is not used.

    What an element hands over need not be what it is: v_proj chooses the part that is worth passing on, and its width.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.q_proj(x), self.k_proj(x), x)


@exercise.misconception
class WithoutProjections(SelfAttention):
    """You compare the vectors of x themselves; q_proj and k_proj are not used.

    Then every element mostly finds itself, since hardly anything is as similar to it. The projections let it look for
    something else.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(x, x, self.v_proj(x))
