"""The exercise `Llama`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, normal, number, seeded, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.exercises.today.shared import speeds
from qkv.model.norm import RMSNorm
from qkv.model.today import Llama

LOOP = "for layer, cache in zip(self.layers, before{}):"

exercise = Exercise(
    Llama,
    section="The whole model",
    minutes=20,
    difficulty=2,
    why="The model that the files of Llama and Qwen are the weights of; with your parts inside it can read them.",
    hints=[
        "Write down what happens to one layer's stream: which norm comes before which part, and what is added to what?",
        "Each layer's attention takes that layer's cache and gives a new one. Where do the new ones go?",
        "Without `caches` every layer gets None. How do you go through layers and caches side by side then?",
        "The embedding of a token is a row of `tokens.weight`. If `out` is None, that matrix also scores: how must it "
        "be turned for (…, d_model) to become (…, vocab)?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
    equivalents={
        f"{LOOP.format(', strict=True')}  ->  {LOOP.format('')}": "the reference has looked at the number already",
        f"{LOOP.format(', strict=True')}  ->  {LOOP.format(', strict=False')}": "the same",
    },
)

SMALL = {"d_model": 12, "n_heads": 2, "n_groups": 1, "n_layers": 2, "d_ff": 9, "d_head": 4}


def model_of(cls: Any, vocab: int, **options: Any) -> Any:
    return seeded(cls(vocab, **{**SMALL, **options}))


def read(result: Any, words: str = "") -> Seen:
    """Logits and caches as named tensors."""
    logits, caches = result
    seen: Seen = {f"logits{words}": logits, f"how many caches{words}": len(caches)}
    for i, (keys, values) in enumerate(caches):
        seen |= {f"keys of layer {i}{words}": keys, f"values of layer {i}{words}": values}
    return seen


def some_ids(vocab: int, batch: int, new: int, name: str = "ids") -> Tensor:
    return integers(0, vocab, batch, new, seed=name)


def some_caches(
    batch: int, past: int, layers: int = 2, groups: int = 1, d_head: int = 4
) -> list[tuple[Tensor, Tensor]]:
    names = [(f"keys {i}", f"values {i}") for i in range(layers)]
    return [tuple(normal(batch, groups, past, d_head, seed=name) for name in pair) for pair in names]  # type: ignore[misc]


def text_sizes() -> tuple[int, int, int]:
    """A vocabulary, a batch, a length."""
    batch, new = distinct(2, 8, 2, seed="batch and length")
    return whole(9, 15, seed="vocab"), batch, new


@exercise.probe
def a_text_at_once(llama: Any) -> Seen:
    """a text and no caches; three layers, four heads in two groups, d_head = d_model / n_heads"""
    vocab, batch, new = text_sizes()
    model = seeded(llama(vocab, 16, 4, 2, 3, whole(17, 25, seed="d_ff")))
    return read(model(some_ids(vocab, batch, new)))


@exercise.probe
def in_pieces_and_word_by_word(llama: Any) -> Seen:
    """a text in pieces of three, two and one words, and word by word"""
    vocab = whole(9, 15, seed="vocab")
    model, ids = model_of(llama, vocab, qk_norm=True), some_ids(vocab, 2, 6)
    seen: Seen = {}
    for words, cuts in ((", in pieces", [3, 2, 1]), (", word by word", [1] * 6)):
        caches, found = None, []
        for piece in ids.split(cuts, dim=1):
            logits, caches = model(piece, caches)
            found.append(logits)
        seen |= read((torch.cat(found, 1), caches), words)
    return seen


@exercise.probe
def behind_what_was_read(llama: Any) -> Seen:
    """new words after caches that differ from layer to layer, given by name"""
    vocab, batch, new = text_sizes()
    model = model_of(llama, vocab, n_layers=3)
    caches = some_caches(batch, whole(2, 7, seed="past"), 3)
    return read(model(some_ids(vocab, batch, new), caches=caches))


@exercise.probe
def tied(llama: Any) -> Seen:
    """the embedding scores as well"""
    vocab, batch, new = text_sizes()
    model = model_of(llama, vocab, tied=True)
    return read(model(some_ids(vocab, batch, new))) | {"out is None": model.out is None}


@exercise.probe
def with_norms_and_wide_heads(llama: Any) -> Seen:
    """normalised queries and keys, heads wider than d_model / n_heads, as Qwen3 has them"""
    vocab, batch, new = text_sizes()
    model = model_of(llama, vocab, n_heads=3, n_groups=3, d_head=8, qk_norm=True)
    return read(model(some_ids(vocab, batch, new)))


@exercise.probe
def another_base_and_eps(llama: Any) -> Seen:
    """a small base and a large eps"""
    vocab, batch, new = text_sizes()
    options = {"base": number(20.0, 90.0, seed="base"), "eps": number(0.2, 0.9, seed="eps"), "d_head": 6}
    model = model_of(llama, vocab, qk_norm=True, **options)
    return read(model(some_ids(vocab, batch, new))) | {"frequencies": model.frequencies.float()}


@exercise.probe
def other_speeds_in_the_buffer(llama: Any) -> Seen:
    """a model whose buffer `frequencies` was filled with other speeds, as a loader does"""
    vocab, batch, _ = text_sizes()
    model = model_of(llama, vocab)
    model.frequencies = speeds(4)
    return read(model(some_ids(vocab, batch, 9)))


@exercise.probe
def one_layer(llama: Any) -> Seen:
    """a single layer, and four"""
    vocab, batch, new = text_sizes()
    ids = some_ids(vocab, batch, new)
    single = read(model_of(llama, vocab, n_layers=1)(ids.clone()), ", one layer")
    return single | read(model_of(llama, vocab, n_layers=4)(ids), ", four layers")


@exercise.probe
def sizes_of_one(llama: Any) -> Seen:
    """one text, one word, a vocabulary of one, one head of one pair"""
    vocab, batch, new = text_sizes()
    seen: Seen = {}
    for words, v, b, n in ((", one text", vocab, 1, new), (", one word", vocab, batch, 1), (", one id", 1, batch, new)):
        seen |= read(model_of(llama, v)(some_ids(v, b, n)), words)
    narrow = {"d_model": 1, "n_heads": 1, "n_layers": 1, "d_ff": 1, "d_head": 2}
    return seen | read(model_of(llama, 1, **narrow)(some_ids(1, 1, 1), some_caches(1, 1, 1, 1, 2)), ", all 1")


def ids_and_caches() -> tuple[Any, ...]:
    return some_ids(11, 2, 3, "usual ids"), some_caches(2, 4)


def build(cls: Any) -> nn.Module:
    model: nn.Module = model_of(cls, 11, base=16.0)  # speeds 1 and 1/4, which are exact in every dtype
    return model


usual(exercise, ids_and_caches, build)


@exercise.property
def another_text(llama: Any) -> Seen:
    """the same model, called for a second text without caches

    The first call is right and the second is not: the model keeps something from one call to the next. What was read
    before is in the caches that it is given, and nowhere else.
    """
    model = build(llama)
    model(*ids_and_caches())
    return read(model(some_ids(11, 2, 5, "another")))


@exercise.property
def what_is_saved(llama: Any) -> Seen:
    """the names in the model's state_dict

    Published files have no `frequencies`, and those of another stretch must not come with the weights: the buffer is
    registered with `persistent=False`.
    """
    return {"frequencies is saved": "frequencies" in model_of(llama, 9).state_dict()}


@exercise.misconception
class EmbeddingScaled(Llama):
    """You multiply the embeddings by √d_model.

    The Transformer of 2017 does so, and Gemma; Llama and Qwen read them as they are.
    """

    def _embedded(self, ids: Tensor) -> Tensor:
        return super()._embedded(ids) * math.sqrt(self.tokens.embedding_dim)


@exercise.misconception
class LastNormForgotten(Llama):
    """The stream goes to the last matrix without the last norm.

    After so many additions it is large, and of another size for every word. `norm` comes before the scores.
    """

    def _logits(self, x: Tensor) -> Tensor:
        return self._scores(x)


@exercise.misconception
class NormedAfterwards(Llama):
    """You normalise after each part, the stream included, as in 2017.

    Here each part reads a normalised copy, and what it makes is added to a stream that nobody normalises.
    """

    def _attended(self, layer: Any, x: Tensor, cache: Any) -> Any:
        seen, cache = layer["attention"](x, self._speeds(), cache)
        return layer["norm1"](x + seen), cache

    def _worked(self, layer: Any, x: Tensor) -> Tensor:
        return layer["norm2"](x + layer["feed_forward"](x))


@exercise.misconception
class Norm1Forgotten(Llama):
    """The attention reads the stream as it is, without norm1.

    Each part reads a normalised copy.
    """

    def _attended(self, layer: Any, x: Tensor, cache: Any) -> Any:
        seen, cache = layer["attention"](x, self._speeds(), cache)
        return x + seen, cache


@exercise.misconception
class Norm2Forgotten(Llama):
    """The feed-forward network reads the stream as it is, without norm2.

    Each part reads a normalised copy.
    """

    def _worked(self, layer: Any, x: Tensor) -> Tensor:
        return x + layer["feed_forward"](x)


@exercise.misconception
class NormsExchanged(Llama):
    """You put norm2 before the attention and norm1 before the feed-forward network.

    They have gains of their own: norm1 belongs to the attention.
    """

    def _layer(self, layer: Any, x: Tensor, cache: Any) -> Any:
        parts = {name: layer[name] for name in layer}
        parts["norm1"], parts["norm2"] = parts["norm2"], parts["norm1"]
        return super()._layer(parts, x, cache)


@exercise.misconception
class AttentionReplaces(Llama):
    """The attention's output replaces the stream.

    It is added to it: x + attention(norm1(x)).
    """

    def _attended(self, layer: Any, x: Tensor, cache: Any) -> Any:
        seen, cache = layer["attention"](layer["norm1"](x), self._speeds(), cache)
        return seen, cache


@exercise.misconception
class NetworkReplaces(Llama):
    """The feed-forward network's output replaces the stream.

    It is added to it: x + feed_forward(norm2(x)).
    """

    def _worked(self, layer: Any, x: Tensor) -> Tensor:
        return layer["feed_forward"](layer["norm2"](x))


@exercise.misconception
class AddedToTheCopy(Llama):
    """You add to the normalised copy: norm1(x) + attention(norm1(x)).

    The stream itself passes by the norms untouched, from the embedding to the end.
    """

    def _attended(self, layer: Any, x: Tensor, cache: Any) -> Any:
        normed = layer["norm1"](x)
        seen, cache = layer["attention"](normed, self._speeds(), cache)
        return normed + seen, cache


@exercise.misconception
class InParallel(Llama):
    """Both parts of a layer read the same stream, and both results are added at once.

    Some models do so. Here the feed-forward network reads what the attention has added already.
    """

    def _layer(self, layer: Any, x: Tensor, cache: Any) -> Any:
        attended, cache = self._attended(layer, x, cache)
        return attended + layer["feed_forward"](layer["norm2"](x)), cache


@exercise.misconception
class NetworkFirst(Llama):
    """In each layer you let the feed-forward network work before the attention.

    First a word collects from others, then it works on what it has.
    """

    def _layer(self, layer: Any, x: Tensor, cache: Any) -> Any:
        return self._attended(layer, self._worked(layer, x), cache)


@exercise.misconception
class OneLayerAgainAndAgain(Llama):
    """Every layer is the first one.

    The others have weights of their own. Is it `self.layers[0]` in your loop?
    """

    def _layer(self, layer: Any, x: Tensor, cache: Any) -> Any:
        return super()._layer(self.layers[0], x, cache)


@exercise.misconception
class FirstCacheForAll(Llama):
    """Every layer gets the cache of the first.

    Layers have keys and values of their own: the pair at place i belongs to layer i.
    """

    def forward(self, ids: Tensor, caches: Any = None) -> Any:
        return super().forward(ids, None if caches is None else [caches[0]] * len(caches))


@exercise.misconception
class CachesTurnedRound(Llama):
    """You hand the caches to the layers in reversed order.

    The pair at place i belongs to layer i.
    """

    def forward(self, ids: Tensor, caches: Any = None) -> Any:
        return super().forward(ids, None if caches is None else caches[::-1])


@exercise.misconception
class CachesNotUsed(Llama):
    """You do not hand the caches on: every call begins a new text.

    Word by word, a word would see nothing but itself.
    """

    def _attended(self, layer: Any, x: Tensor, cache: Any) -> Any:
        return super()._attended(layer, x, None)


@exercise.misconception
class GivenCachesReturned(Llama):
    """You return the caches that you were given, without the new words.

    The next call would not know of them. Collect what each attention returns.
    """

    def forward(self, ids: Tensor, caches: Any = None) -> Any:
        logits, after = super().forward(ids, caches)
        return logits, after if caches is None else caches


@exercise.misconception
class ListChanged(Llama):
    """Your values are right, but you write the new caches into the list that you were given.

    Whoever has it may want to go on from there twice. Make a new list.
    """

    def forward(self, ids: Tensor, caches: Any = None) -> Any:
        logits, after = super().forward(ids, caches)
        if caches is None:
            return logits, after
        caches[:] = after
        return logits, caches


@exercise.misconception
class TiedAlways(Llama):
    """You score with the embedding, also where `out` is a matrix of its own.

    Only where `out` is None does the embedding do both.
    """

    def _scores(self, x: Tensor) -> Tensor:
        return x @ self.tokens.weight.T


@exercise.misconception
class ProbabilitiesReturned(Llama):
    """You return probabilities.

    Asked for are logits: a loss and a temperature both want them as they are.
    """

    def _scores(self, x: Tensor) -> Tensor:
        return super()._scores(x).softmax(-1)


@exercise.misconception
class LogProbabilitiesReturned(Llama):
    """You return log-probabilities.

    Their softmax is the same, but asked for are logits.
    """

    def _scores(self, x: Tensor) -> Tensor:
        return super()._scores(x).log_softmax(-1)


@exercise.misconception
class LastWordAlone(Llama):
    """You return the logits of the last word only.

    That is enough to write with. A loss asks every position for the word after it: (batch, new, vocab).
    """

    def _logits(self, x: Tensor) -> Tensor:
        return super()._logits(x[:, -1:])


@exercise.misconception
class SpeedsMadeAnew(Llama):
    """You do not use the buffer `frequencies` as it stands, but the speeds that it had at first.

    The loader puts stretched ones there. Read it in every call.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.at_first: list[float] = super()._speeds().tolist()

    def _speeds(self) -> Tensor:
        return torch.tensor(self.at_first, dtype=torch.float64, device=super()._speeds().device)


def speeds_of(base: float, d_head: int, width: int) -> Tensor:
    """base^(-2i/width) for the pairs i of a head."""
    return base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / width)


@exercise.misconception
class AlwaysTenThousand(Llama):
    """Your speeds are those of base 10,000, whatever base was asked for.

    Llama 3 has 500,000 and Qwen3 a million. The base is an argument.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        d_head = 2 * len(self._speeds())
        self.frequencies = speeds_of(10000.0, d_head, d_head)


@exercise.misconception
class SpeedsOfTheStream(Llama):
    """Your speeds are base^(-2i/d_model): the width that you divide by is the stream's.

    What turns is a head, and its slowest pair is the last of d_head/2. Divide by d_head.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        base = options.get("base", 10000.0)
        self.frequencies = speeds_of(base, 2 * len(self._speeds()), self.tokens.embedding_dim)


class WithOut(Llama):
    """Has a last matrix where the embedding should do its work."""

    def _score_with(self, out: nn.Linear) -> None:
        out.weight = self.tokens.weight

    def __init__(self, vocab: int, d_model: int, *given: Any, **options: Any) -> None:
        super().__init__(vocab, d_model, *given, **options)
        if self.out is None:
            self.out = nn.Linear(d_model, vocab, bias=False)
            self._score_with(self.out)


@exercise.misconception
class OutSharesTheEmbedding(WithOut):
    """Where the model is tied, your `out` is a matrix all the same, though it shares its weights with the embedding.

    The scores are right. But then the weights have two names, and a file of a tied model has one. Tied, `out` is None.
    """


@exercise.misconception
class NeverTied(WithOut):
    """You make a matrix `out` also where the model is tied.

    Tied means that the embedding scores as well: `out` is None then, and nothing else has vocab rows.
    """

    def _score_with(self, out: nn.Linear) -> None:
        pass


class UsualEps(Llama):
    """Some norms have 1e-6, whatever eps was asked for."""

    def _concerned(self) -> Iterator[nn.Module]:
        return self.modules()

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        for module in self._concerned():
            if isinstance(module, RMSNorm):
                module.eps = 1e-6


@exercise.misconception
class EpsNowhere(UsualEps):
    """You do not hand `eps` on: all norms have 1e-6, whatever was asked for.

    Files differ in it. It goes to the norms of the stream and into each attention.
    """


@exercise.misconception
class EpsNotInAttention(UsualEps):
    """You do not hand `eps` on to the attentions: their norms have 1e-6, whatever was asked for.

    There is one eps for all norms of the model, those of queries and keys included.
    """

    def _concerned(self) -> Iterator[nn.Module]:
        layers: Any = self.layers
        for layer in layers:
            yield from layer["attention"].modules()


@exercise.misconception
class EpsInAttentionOnly(UsualEps):
    """You hand `eps` on to the attentions only: the norms of the stream have 1e-6, whatever was asked for.

    There is one eps for all norms of the model: norm1, norm2 and the last one included.
    """

    def _concerned(self) -> Iterator[nn.Module]:
        yield self.norm
        layers: Any = self.layers
        for layer in layers:
            yield layer["norm1"]
            yield layer["norm2"]


squeezes(exercise)
