"""The exercise `GroupedAttention`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import booleans, distinct, normal, number, seeded, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.exercises.today.shared import cached, even, speeds
from qkv.model.cost import cached_attention
from qkv.model.positions import turn
from qkv.model.scaling import scaled_dot_product_attention
from qkv.model.today import GroupedAttention

exercise = Exercise(
    GroupedAttention,
    section="Heads in groups, with a norm",
    minutes=15,
    difficulty=2,
    why="The attention of Llama and Qwen: few keys to remember, scores of one size, and no position added anywhere.",
    hints=[
        "`split_heads` takes the number of heads apart from the rest: how many heads do q, k and v have here?",
        "The first new position is not 0 if something was read before. The cache knows how many there were.",
        "In this order: project, split, norm, turn, attend, merge, project. Which of them does v take part in?",
        "`cached_attention` knows about groups, about the past and about who sees whom, and it returns the cache.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def layer_of(cls: Any, d_model: int, heads: int, groups: int, d_head: int, *options: Any) -> Any:
    return seeded(cls(d_model, heads, groups, d_head, *options))


def stream(*shape: int, name: str = "x", std: float = 1.5) -> Tensor:
    return normal(*shape, seed=name, std=std)


def a_past(batch: int, groups: int, past: int, d_head: int) -> tuple[Tensor, Tensor]:
    return normal(batch, groups, past, d_head, seed="past k"), normal(batch, groups, past, d_head, seed="past v")


def some_sizes() -> tuple[int, int, int]:
    """A batch, a number of words, and a width that no number of heads makes."""
    batch, new = distinct(2, 7, 2, seed="batch and words")
    return batch, new, whole(9, 16, seed="width")


@exercise.probe
def a_text_at_once(grouped: Any) -> Seen:
    """a text and no cache, six heads in two or three groups, no norm"""
    batch, new, d_model = some_sizes()
    d_head = even(4, 11, seed="head")
    layer = layer_of(grouped, d_model, 6, whole(2, 4, seed="groups"), d_head)
    return cached(layer(stream(batch, new, d_model), speeds(d_head)))


@exercise.probe
def with_norms(grouped: Any) -> Seen:
    """normalised queries and keys, four heads in two groups"""
    batch, new, d_model = some_sizes()
    d_head = even(4, 11, seed="head")
    layer = layer_of(grouped, d_model, 4, 2, d_head, True)
    return cached(layer(stream(batch, new, d_model, std=3.0), speeds(d_head)))


@exercise.probe
def with_a_large_eps(grouped: Any) -> Seen:
    """norms with a large eps, given by name"""
    batch, new, d_model = some_sizes()
    layer = seeded(grouped(d_model, 4, 2, 6, qk_norm=True, eps=number(0.3, 2.0, seed="eps")))
    return cached(layer(stream(batch, new, d_model), speeds(6)))


@exercise.probe
def quiet_vectors(grouped: Any) -> Seen:
    """tiny vectors under a norm, so that eps counts"""
    batch, new, d_model = some_sizes()
    layer = layer_of(grouped, d_model, 2, 1, 8, True)
    return cached(layer(stream(batch, new, d_model, std=2e-3), speeds(8)))


@exercise.probe
def behind_a_past(grouped: Any) -> Seen:
    """several new words after a cache, with norms and without"""
    batch, new, d_model = some_sizes()
    d_head, past = even(4, 11, seed="head"), whole(2, 9, seed="past")
    seen: Seen = {}
    for words, qk_norm in (("", False), (", normed", True)):
        layer = layer_of(grouped, d_model, 6, 3, d_head, qk_norm)
        result = layer(stream(batch, new, d_model), speeds(d_head), a_past(batch, 3, past, d_head))
        seen |= {name + words: value for name, value in cached(result).items()}
    return seen


@exercise.probe
def far_on_in_a_text(grouped: Any) -> Seen:
    """two words after some fifty, cache given by name"""
    past, d_model = whole(40, 60, seed="long"), 10
    layer = layer_of(grouped, d_model, 4, 2, 6)
    return cached(layer(stream(2, 2, d_model), speeds(6), cache=a_past(2, 2, past, 6)))


@exercise.probe
def a_text_that_grows(grouped: Any) -> Seen:
    """a text that grows by one, three, one and two words"""
    d_model, qk_norm = whole(9, 16, seed="width"), bool(booleans(1, seed="normed?"))
    layer = layer_of(grouped, d_model, 4, 2, 4, qk_norm)
    cache, outputs = None, []
    for i, new in enumerate((1, 3, 1, 2)):
        output, cache = layer(stream(2, new, d_model, name=f"piece {i}"), speeds(4), cache)
        outputs.append(output)
    return cached((torch.cat(outputs, 1), cache))


@exercise.probe
def behind_nothing(grouped: Any) -> Seen:
    """a cache of no position"""
    batch, new, d_model = some_sizes()
    layer = layer_of(grouped, d_model, 4, 2, 6)
    return cached(layer(stream(batch, new, d_model), speeds(6), a_past(batch, 2, 0, 6)))


@exercise.probe
def each_its_own_and_one_for_all(grouped: Any) -> Seen:
    """as many groups as heads, and a single group; heads as wide as d_model / n_heads"""
    batch, new, _ = some_sizes()
    own = cached(layer_of(grouped, 12, 3, 3, 4)(stream(batch, new, 12), speeds(4)))
    shared = cached(layer_of(grouped, 16, 4, 1, 4, True)(stream(batch, new, 16), speeds(4)))
    return {**own, **{f"{name} of a single group": value for name, value in shared.items()}}


@exercise.probe
def sizes_of_one(grouped: Any) -> Seen:
    """one sequence, one word, one head of one pair, and all of it with width 1"""
    batch, new, d_model = some_sizes()
    cases = [
        (1, new, d_model, 4, 2, 4),
        (batch, 1, d_model, 4, 2, 4),
        (batch, new, d_model, 1, 1, 2),
        (1, 1, 1, 1, 1, 2),
    ]
    seen: Seen = {}
    for b, n, d, heads, groups, d_head in cases:
        layer = layer_of(grouped, d, heads, groups, d_head, heads > 1)
        for words, cache in (("", None), (" after one", a_past(b, groups, 1, d_head))):
            result = cached(layer(stream(b, n, d), speeds(d_head), cache))
            seen |= {f"{name}, {b} × {n} × {d}{words}": value for name, value in result.items()}
    return seen


class WithSpeeds(nn.Module):
    """The layer with constant speeds, which are float64 and beside the inputs whatever dtype is looked at."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, cache: Any) -> Any:
        return self.layer(x, speeds(6).to(x.device), cache)


def words_and_cache() -> tuple[Any, ...]:
    return stream(2, 3, 10, std=1.0), a_past(2, 2, 4, 6)


def build(cls: Any) -> nn.Module:
    return WithSpeeds(layer_of(cls, 10, 4, 2, 6, True))


usual(exercise, words_and_cache, build)


@exercise.property
def speeds_kept(grouped: Any) -> Seen:
    """speeds that the caller goes on using

    You change `frequencies`, which you were given. The other layers are called with the same tensor: compute a new one
    instead of writing into it.
    """
    frequencies = speeds(6)
    layer_of(grouped, 10, 4, 2, 6, True)(stream(2, 3, 10, std=1.0), frequencies, a_past(2, 2, 4, 6))
    return {"frequencies after the call": frequencies}


@exercise.property
def far_on_in_bfloat16(grouped: Any) -> Seen:
    """a word after some three hundred, in bfloat16

    With bfloat16 vectors your turns are wrong far on in a text: bfloat16 has no 257, and no angle near 300 to a tenth.
    Positions times speeds are made in float64 or float32, whatever the vectors are; their cosines may be rounded.
    """
    past = whole(300, 400, seed="far")
    layer = layer_of(grouped, 10, 4, 2, 6).to(torch.bfloat16)
    cache = [t.to(torch.bfloat16) for t in a_past(2, 2, past, 6)]
    _, (keys, _) = layer(stream(2, 3, 10, std=1.0).to(torch.bfloat16), speeds(6), tuple(cache))
    return {"new keys": keys[:, :, past:]}


@exercise.property
def another_text(grouped: Any) -> Seen:
    """the same layer, called for a second text of as many sequences, without a cache

    The first call is right and the second is not: the layer keeps something from one call to the next. What was read
    before is in the cache that it is given, and nowhere else.
    """
    layer = layer_of(grouped, 10, 4, 2, 6)
    layer(stream(2, 3, 10), speeds(6), a_past(2, 2, 4, 6))
    return cached(layer(stream(2, 5, 10, name="another"), speeds(6)))


@exercise.misconception
class NormForgotten(GroupedAttention):
    """Queries and keys do not go through their norms.

    `q_norm` and `k_norm` are the identity only where the layer was made without `qk_norm`. They keep scores from
    growing while a model learns, and published weights count on them.
    """

    def _normed(self, q: Tensor, k: Tensor) -> Any:
        return q, k


@exercise.misconception
class OnlyQueriesNormed(GroupedAttention):
    """You normalise the queries and not the keys.

    A score is as large as both of them make it.
    """

    def _normed(self, q: Tensor, k: Tensor) -> Any:
        return self.q_norm(q), k


@exercise.misconception
class OnlyKeysNormed(GroupedAttention):
    """You normalise the keys and not the queries.

    A score is as large as both of them make it.
    """

    def _normed(self, q: Tensor, k: Tensor) -> Any:
        return q, self.k_norm(k)


@exercise.misconception
class NormsExchanged(GroupedAttention):
    """You send queries through `k_norm` and keys through `q_norm`.

    Each has gains of its own, which were learned for it.
    """

    def _normed(self, q: Tensor, k: Tensor) -> Any:
        return self.k_norm(q), self.q_norm(k)


def over_the_row(norm: Any, x: Tensor) -> Tensor:
    """One size for all heads of a position."""
    if isinstance(norm, nn.Identity):
        return x
    size = torch.sqrt(x.square().mean((1, 3), keepdim=True) + norm.eps)
    return norm.gamma * x / size


@exercise.misconception
class NormOverAllHeads(GroupedAttention):
    """Your norm runs over all heads of a position together.

    OLMo 2 has it so, before the heads are split. Here, as in Qwen3, each head is brought to its own size: split first,
    then the norm sees the d_head components of one head.
    """

    def _normed(self, q: Tensor, k: Tensor) -> Any:
        return over_the_row(self.q_norm, q), over_the_row(self.k_norm, k)


@exercise.misconception
class Centred(GroupedAttention):
    """You subtract the mean before you normalise, as layer norm does.

    RMSNorm divides by the root of the mean square and leaves the mean where it is.
    """

    def _normed(self, q: Tensor, k: Tensor) -> Any:
        if isinstance(self.q_norm, nn.Identity):
            return q, k
        return super()._normed(q - q.mean(-1, keepdim=True), k - k.mean(-1, keepdim=True))


@exercise.misconception
class TurnedBeforeTheNorm(GroupedAttention):
    """You turn first and normalise after that.

    A turn keeps every length, but the gains that come with the norm are different for the two components of a pair,
    and after a turn they meet other numbers. First the norm, then the turn.
    """

    def _normed(self, q: Tensor, k: Tensor) -> Any:
        return q, k

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        q, k = super()._turn(q, k, positions, frequencies)
        return self.q_norm(q), self.k_norm(k)


@exercise.misconception
class NotTurned(GroupedAttention):
    """Queries and keys are not turned, so the order of the words makes no difference but for who is hidden.

    `turn` is what tells these heads where a word stands; nothing was added to the words.
    """

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        return q, k


@exercise.misconception
class OnlyQueriesTurned(GroupedAttention):
    """You turn the queries and not the keys.

    Both are turned; in the dot product only the difference of the two angles is left, and that is the distance.
    """

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        return turn(q, positions, frequencies), k


@exercise.misconception
class OnlyKeysTurned(GroupedAttention):
    """You turn the keys and not the queries.

    Both are turned; in the dot product only the difference of the two angles is left, and that is the distance.
    """

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        return q, turn(k, positions, frequencies)


@exercise.misconception
class TurnedBackwards(GroupedAttention):
    """You turn the other way round, by minus the angle.

    All distances keep their size and change their sign. Weights and caches that were made elsewhere count on the
    direction.
    """

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        return super()._turn(q, k, -positions, frequencies)


@exercise.misconception
class PositionsFromZero(GroupedAttention):
    """You count the new positions from 0, also where something was read before.

    The keys in the cache are turned by the positions at which they stood. The first new word stands at `past`, the
    number of keys in the cache.
    """

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        return super()._turn(q, k, positions - positions[0], frequencies)


@exercise.misconception
class PositionsFromOne(GroupedAttention):
    """Your positions are too large by one.

    Scores do not see it, since only differences count; the turned keys in the cache do, and somebody may go on with it.
    Positions count from 0.
    """

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        return super()._turn(q, k, positions + 1, frequencies)


@exercise.misconception
class HalvesForPairs(GroupedAttention):
    """You turn column i with column i + d_head/2; in this course neighbours (2i, 2i+1) are a pair.

    Llama's published code pairs halves. Here the loader brings its files into the paper's layout, and the model does
    not have to know.
    """

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        q, k = (x.unflatten(-1, (2, -1)).mT.flatten(-2) for x in (q, k))
        return tuple(x.unflatten(-1, (-1, 2)).mT.flatten(-2) for x in super()._turn(q, k, positions, frequencies))


@exercise.misconception
class TurnedAcrossHeads(GroupedAttention):
    """You turn by the number of the head instead of the position.

    `turn` counts along the last dimension but one. In (batch, new, head, d_head) these are the heads; split and
    transpose first.
    """

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor, frequencies: Tensor) -> Any:
        heads = [torch.arange(x.shape[1], device=x.device) for x in (q, k)]
        turned = [turn(x.transpose(1, 2), p, frequencies) for x, p in zip((q, k), heads, strict=True)]
        return tuple(x.transpose(1, 2) for x in turned)


@exercise.misconception
class ValuesTurned(GroupedAttention):
    """You turn the values as well.

    Only what meets in a score needs a position. What is fetched would depend on where it stood.
    """

    def forward(self, x: Tensor, frequencies: Tensor, cache: Any = None) -> Any:
        q, k, v = self._project(x)
        past = 0 if cache is None else cache[0].shape[2]
        positions = torch.arange(past, past + x.shape[1], device=x.device)
        q, k = self._turn(*self._normed(q, k), positions, frequencies)
        output, cache = self._attend(q, k, turn(v, positions, frequencies), cache)
        return self._out(output), cache


@exercise.misconception
class ValuesNormed(GroupedAttention):
    """You normalise the values as well, by `k_norm`.

    The norms keep scores in bounds. Values meet no score; how long one is, is part of what it says.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Any:
        return super()._attend(q, k, self.k_norm(v), cache)


def all_turned_now(self: Any, x: Tensor, frequencies: Tensor, cache: Any) -> Any:
    """Attend with all keys turned in this call: output, the keys before that and after, the values."""
    q, k, v = self._project(x)
    q, k = self._normed(q, k)
    past = 0 if cache is None else cache[0].shape[2]
    positions = torch.arange(past + x.shape[1], device=x.device)
    keys, values = (k, v) if cache is None else (torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2))
    turned = turn(keys, positions, frequencies)
    before = (turned[:, :, :past], values[:, :, :past])
    output, _ = cached_attention(turn(q, positions[past:], frequencies), turned[:, :, past:], v, before)
    return self._out(output), keys, turned, values


@exercise.misconception
class PlainKeysKept(GroupedAttention):
    """Your cache holds keys that are not turned, and you turn all of them in every call.

    By itself that is consistent, but it turns every key again for every new word. The cache holds keys as they are
    after the turn; a key's position never changes.
    """

    def forward(self, x: Tensor, frequencies: Tensor, cache: Any = None) -> Any:
        output, keys, _, values = all_turned_now(self, x, frequencies, cache)
        return output, (keys, values)


@exercise.misconception
class CacheTurnedAgain(GroupedAttention):
    """You join the new keys to the cache and turn all of them: those in the cache have been turned already.

    With every call the old keys are turned once more. Turn the new ones alone, before they are joined.
    """

    def forward(self, x: Tensor, frequencies: Tensor, cache: Any = None) -> Any:
        output, _, turned, values = all_turned_now(self, x, frequencies, cache)
        return output, (turned, values)


@exercise.misconception
class HeadsInterleaved(GroupedAttention):
    """You take every n_heads-th column for a head.

    Head h is the columns h·d_head … (h+1)·d_head-1 of its projection: they stand side by side, and number of heads
    comes before width when the row is taken apart.
    """

    def _project(self, x: Tensor) -> Any:
        counts = (self.n_heads, self.n_groups, self.n_groups)
        found = (self.q_proj(x), self.k_proj(x), self.v_proj(x))
        return tuple(t.unflatten(-1, (-1, n)).permute(0, 3, 1, 2) for t, n in zip(found, counts, strict=True))


@exercise.misconception
class HeadsNotMoved(GroupedAttention):
    """You take rows of all heads for rows of all words: the row is cut into heads without moving the heads forward.

    `view(batch, heads, new, d_head)` keeps the order of the numbers, in which words come first. First
    (batch, new, heads, d_head), then exchange the two in the middle.
    """

    def _project(self, x: Tensor) -> Any:
        batch, new, _ = x.shape
        found = (self.q_proj(x), self.k_proj(x), self.v_proj(x))
        return tuple(t.reshape(batch, -1, new, self.d_head) for t in found)


@exercise.misconception
class GroupsDealtOut(GroupedAttention):
    """You deal the groups out in turn: head 0 reads group 0, head 1 group 1, and so on round.

    Neighbouring heads share a group: with 6 heads and 2 groups, heads 0, 1, 2 read group 0.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Any:
        dealt = q.unflatten(1, (-1, k.shape[1])).transpose(1, 2).flatten(1, 2)
        output, cache = super()._attend(dealt, k, v, cache)
        return output.unflatten(1, (k.shape[1], -1)).transpose(1, 2).flatten(1, 2), cache


@exercise.misconception
class KeptForEachHead(GroupedAttention):
    """The cache that you return has keys and values for every head.

    Then groups save nothing. What is kept are the keys and values of the groups, before they are repeated.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Any:
        output, kept = super()._attend(q, k, v, cache)
        return output, tuple(t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in kept)


@exercise.misconception
class OnlyNewKept(GroupedAttention):
    """The cache that you return holds the new words only.

    The next call needs all words so far. `cached_attention` returns them joined.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Any:
        return super()._attend(q, k, v, cache)[0], (k, v)


@exercise.misconception
class CacheNotUsed(GroupedAttention):
    """You do not hand the cache on.

    The new words see each other only, as if the text began with them.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Any:
        return super()._attend(q, k, v, None)


@exercise.misconception
class FutureSeen(GroupedAttention):
    """Where several words are new, each of them sees all of them, later ones too.

    Word by word it makes no difference, since nothing later is there. Read at once, each sees those up to itself.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Any:
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        share = q.shape[1] // k.shape[1]
        output, _ = scaled_dot_product_attention(q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1))
        return output, (k, v)


@exercise.misconception
class TriangleNotShifted(GroupedAttention):
    """Your mask counts the new words from 0, also where something was read before.

    New word i is at position past + i, and sees all that was read and the new ones up to itself. A triangle of
    (new, past + new) that begins at the first key hides most of the past from it.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Any:
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        share = q.shape[1] // k.shape[1]
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril()
        output, _ = scaled_dot_product_attention(q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1), seen)
        return output, (k, v)


@exercise.misconception
class HeadsNotMovedBack(GroupedAttention):
    """You join the heads' outputs without moving heads and words back first.

    After attention words stand inside heads, (batch, head, new, d_head). The output projection reads all heads of one
    word: exchange the two in the middle, then join the last two.
    """

    def _out(self, heads: Tensor) -> Tensor:
        batch, count, new, d_head = heads.shape
        return self.out_proj(heads.reshape(batch, new, count * d_head))


@exercise.misconception
class NotScaled(GroupedAttention):
    """Your scores are not divided by the root of d_head.

    Neither groups nor norms nor turns change that a score sums over d_head products.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Any:
        return super()._attend(q * math.sqrt(q.shape[-1]), k, v, cache)


@exercise.misconception
class EpsOfItsOwn(GroupedAttention):
    """Your norms have another eps than the layer was made with.

    It is an argument, since files differ in it: 1e-6 in some, 1e-5 in others. Hand it on to `RMSNorm`.
    """

    def __init__(
        self, d_model: int, n_heads: int, n_groups: int, d_head: int, qk_norm: bool = False, eps: float = 1e-6
    ) -> None:
        super().__init__(d_model, n_heads, n_groups, d_head, qk_norm)


@exercise.misconception
class CacheChanged(GroupedAttention):
    """Your values are right, but you change the cache that you were given.

    Whoever has it may want to go on from there twice. Make new tensors.
    """

    def forward(self, x: Tensor, frequencies: Tensor, cache: Any = None) -> Any:
        output, kept = super().forward(x, frequencies, cache)
        if cache is not None:
            with torch.no_grad():
                for old, longer in zip(cache, kept, strict=True):
                    old.copy_(longer[:, :, -old.shape[2] :] if old.shape[2] else old)
        return output, kept


squeezes(exercise)
