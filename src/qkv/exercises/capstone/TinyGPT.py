"""The exercise `TinyGPT`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, seeded, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.capstone import TinyGPT
from qkv.model.masks import causal_mask
from qkv.model.positions import sinusoidal_positions

exercise = Exercise(
    TinyGPT,
    section="The whole model",
    minutes=25,
    difficulty=2,
    points=2.0,
    why="This is the model that you train and hand in. All that is large about a large one are its sizes.",
    hints=[
        "Four things in a row: look the tokens up, make a mask, go through the layers, normalise and score.",
        "A layer is that of chapter 7: each sublayer reads a normalised copy of the stream and adds to the stream.",
        "`layer` is a ModuleDict: its parts are layer['norm1'], layer['attention'] and so on.",
        "No position is added to the tokens, and nothing is scaled. The output is a layer of its own, `out`.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def build_gpt(cls: Any) -> Any:
    return seeded(cls(11, 16, 2, 2, 10))


def some_texts() -> tuple[Tensor]:
    return (integers(0, 11, 3, 6, seed="ids"),)


@exercise.probe
def three_texts(gpt: Any) -> Seen:
    """three texts of six tokens, two layers"""
    return {"logits": build_gpt(gpt)(*some_texts())}


@exercise.probe
def three_layers(gpt: Any) -> Seen:
    """two texts of four tokens, three layers of three heads"""
    return {"logits": seeded(gpt(9, 12, 3, 3, 7))(integers(0, 9, 2, 4, seed="ids"))}


@exercise.probe
def one_layer(gpt: Any) -> Seen:
    """two texts of five tokens, one layer"""
    return {"logits": seeded(gpt(13, 8, 2, 1, 6))(integers(0, 13, 2, 5, seed="ids"))}


@exercise.probe
def a_long_text(gpt: Any) -> Seen:
    """a text of some forty tokens"""
    return {"logits": build_gpt(gpt)(integers(0, 11, 1, whole(36, 46, seed="long"), seed="long"))}


@exercise.probe
def two_ends(gpt: Any) -> Seen:
    """two texts that differ in their last token alone"""
    ids = integers(0, 11, 1, 7, seed="beginning").repeat(2, 1)
    ids[:, -1] = torch.tensor(distinct(0, 11, 2, seed="ends"))
    logits = build_gpt(gpt)(ids)
    return {"logits": logits}


@exercise.probe
def models_of_size_one(gpt: Any) -> Seen:
    """sizes of 1: texts, tokens, vocabulary, heads, layers, d_ff"""
    batch, seq, width = distinct(2, 8, 3, seed="sizes")
    cases = [
        (1, seq, (9, 8, 2, 2, width)), (batch, 1, (7, 6, 3, 2, width)), (batch, seq, (1, 8, 2, 2, width)),
        (batch, seq, (5, 4, 1, 1, 1)), (1, 1, (3, 2, 1, 1, 1)),
    ]  # fmt: skip
    return {
        f"logits, {b} × {n}, sizes {sizes}": seeded(gpt(*sizes))(integers(0, sizes[0], b, n, seed="ids"))
        for b, n, sizes in cases
    }


usual(exercise, some_texts, build_gpt)


@exercise.property
def called_on_another_length(gpt: Any) -> Seen:
    """the same model, called once more on a longer text

    The first call is right and the second is not: the model keeps something from one call to the next, perhaps a mask.
    What it gives should depend on its weights and its arguments alone.
    """
    model = build_gpt(gpt)
    model(*some_texts())
    return {"logits of the second call": model(integers(0, 11, 2, 9, seed="longer"))}


def loud_inside(model: Any) -> Any:
    """The same model, but what reaches its activations is near -2.5, where approximations of GELU are worst beside it,
    and what leaves them is made large."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("up.weight"):
                parameter.mul_(0.1)
            elif name.endswith("up.bias"):
                parameter.fill_(-2.5)
            elif name.endswith("down.weight"):
                parameter.mul_(300.0)
    return model


@exercise.property
def where_the_gelu_shows(gpt: Any) -> Seen:
    """feed-forward networks whose activation meets numbers near -2.5, with large weights after it

    Where GELU is small your numbers differ. The feed-forward networks are made with the exact `gelu` of chapter 7; the
    tanh approximation, torch's own included, is off by up to 0.0005.
    """
    return {"logits": loud_inside(seeded(gpt(11, 16, 2, 1, 10)))(*some_texts())}


@exercise.property
def where_eps_decides(gpt: Any) -> Seen:
    """tokens that hardly vary, so that eps decides

    On vectors that hardly vary, where eps decides, your numbers differ. The norms are `nn.LayerNorm(d_model)`, whose
    eps is 1e-5.
    """
    found: Seen = {}
    # what a sublayer adds varies: those before a norm have to be silent for its own eps to decide
    for silent in range(5):
        model = build_gpt(gpt)
        names = "attention.out_proj", "feed_forward.down"
        first = tuple(f"layers.{i // 2}.{names[i % 2]}" for i in range(silent))
        with torch.no_grad():
            model.tokens.weight.mul_(3e-3)
            for name, parameter in model.named_parameters():
                if name.startswith(first):
                    parameter.zero_()
        found[f"logits, {silent} sublayers adding nothing" if silent else "logits"] = model(*some_texts())
    return found


@exercise.misconception
class FutureVisible(TinyGPT):
    """Every position sees the whole text: the causal mask is missing.

    In training the model would copy the next word from its own input, and in use there is none to copy.
    """

    def _mask(self, ids: Tensor) -> Tensor | None:
        return None


@exercise.misconception
class OnlyTheFutureVisible(TinyGPT):
    """Your causal mask is turned: each position sees itself and what comes after.

    Rows are queries, columns are keys: a row allows its own column and those before it.
    """

    def _mask(self, ids: Tensor) -> Tensor | None:
        return causal_mask(ids.shape[1]).to(ids.device).T


@exercise.misconception
class MaskInTheFirstLayerOnly(TinyGPT):
    """Only the first of your layers has the causal mask.

    From the second on every position sees the future, and what it saw goes on to the logits. Each attention needs it.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in self.layers:
            x, mask = self._layer(layer, x, mask), None
        return self.out(self.norm(x))


@exercise.misconception
class EmbeddingsEnlarged(TinyGPT):
    """You multiply the tokens' vectors by the square root of d_model.

    That was for a table of small rows, which shared its numbers with the output. These rows have deviation 1 already
    and are read as they are.
    """

    def _embedded(self, ids: Tensor) -> Tensor:
        return super()._embedded(ids) * math.sqrt(self.tokens.embedding_dim)


@exercise.misconception
class PositionsAdded(TinyGPT):
    """You add sinusoidal positions to the tokens.

    Here the order comes in where heads turn their queries and keys, in every layer anew. Nothing is added.
    """

    def _embedded(self, ids: Tensor) -> Tensor:
        x = super()._embedded(ids)
        return x + sinusoidal_positions(ids.shape[1], x.shape[-1]).to(x)


@exercise.misconception
class PostNorm(TinyGPT):
    """You normalise after each residual connection instead of before each sublayer.

    That is the order of 2017. In this model the stream itself is never normalised before the end; each sublayer reads
    a normalised copy.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = layer["norm1"](x + layer["attention"](x, mask))
        return layer["norm2"](x + layer["feed_forward"](x))


@exercise.misconception
class NothingNormalised(TinyGPT):
    """Your sublayers read the stream as it is: norm1 and norm2 are not used.

    The stream grows from layer to layer, and with it what the sublayers would have to read.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + layer["attention"](x, mask)
        return x + layer["feed_forward"](x)


@exercise.misconception
class AddedToTheNormalised(TinyGPT):
    """You add to the normalised copy instead of the stream.

    Then the stream is normalised at every step after all, and what earlier layers wrote is rescaled each time.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        y = layer["norm1"](x)
        y = layer["norm2"](y + layer["attention"](y, mask))
        return y + layer["feed_forward"](y)


@exercise.misconception
class NoResidual(TinyGPT):
    """Your layers hand on what they found and drop what they were given: the residual connections are missing.

    A word that nobody looks at would be forgotten after one layer. Each sublayer adds to the stream.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        return layer["feed_forward"](layer["norm2"](layer["attention"](layer["norm1"](x), mask)))


@exercise.misconception
class ResidualAroundAttentionMissing(TinyGPT):
    """Attention replaces the stream: the first residual connection is missing.

    A position would know what it fetched and no longer what it is. Add it to the stream.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = layer["attention"](layer["norm1"](x), mask)
        return x + layer["feed_forward"](layer["norm2"](x))


@exercise.misconception
class SideBySide(TinyGPT):
    """Your feed-forward network reads the stream as it was before attention.

    Some models do that to save time. Here it works on what attention has just added.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        return x + layer["attention"](layer["norm1"](x), mask) + layer["feed_forward"](layer["norm2"](x))


@exercise.misconception
class FeedForwardFirst(TinyGPT):
    """In your layers the feed-forward network comes before attention.

    The order is part of the model: attention first, then the network that works on what it found.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + layer["feed_forward"](layer["norm2"](x))
        return x + layer["attention"](layer["norm1"](x), mask)


@exercise.misconception
class NormsExchanged(TinyGPT):
    """You use norm2 before attention and norm1 before the feed-forward network.

    Each norm has learned gains of its own for the sublayer after it: norm1 for attention, norm2 for the network.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + layer["attention"](layer["norm2"](x), mask)
        return x + layer["feed_forward"](layer["norm1"](x))


@exercise.misconception
class FeedForwardForgotten(TinyGPT):
    """Your layers attend and do nothing else: the feed-forward network is missing.

    Attention fetches and mixes. What is made of it at each position is the network's work.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        return x + layer["attention"](layer["norm1"](x), mask)


@exercise.misconception
class LastLayerOnly(TinyGPT):
    """Only your last layer has a say: each one starts from the tokens again.

    Each layer takes what the one before has made: the loop has to carry x on.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x = self._embedded(ids)
        return self.out(self.norm(self._layer(self.layers[-1], x, self._mask(ids))))


@exercise.misconception
class FirstLayerForAll(TinyGPT):
    """You go through the first layer again and again.

    There are n_layers of them, each with weights of its own.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for _ in self.layers:
            x = self._layer(self.layers[0], x, mask)
        return self.out(self.norm(x))


@exercise.misconception
class LayersFromTheTop(TinyGPT):
    """You go through the layers from the last to the first.

    Weights belong to their place: the second layer reads what the first has written.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in reversed(self.layers):
            x = self._layer(layer, x, mask)
        return self.out(self.norm(x))


@exercise.misconception
class OutputNotNormalised(TinyGPT):
    """You do not normalise before the output.

    In a pre-norm stack the stream itself has grown through all layers, and the logits would grow with it.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in self.layers:
            x = self._layer(layer, x, mask)
        return self.out(x)


@exercise.misconception
class NormalisedAfterEveryLayer(TinyGPT):
    """You apply the last norm after every layer.

    It stands once, before the output; between the layers the stream goes on as it is.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in self.layers:
            x = self.norm(self._layer(layer, x, mask))
        return self.out(x)


@exercise.misconception
class OutputTied(TinyGPT):
    """You score with the rows of `tokens`; `out` is not used.

    GPT-2 ties the two. This model does not: with a shared table it did not learn our task, as the chapter measures.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in self.layers:
            x = self._layer(layer, x, mask)
        return self.norm(x) @ self.tokens.weight.T


@exercise.misconception
class ProbabilitiesReturned(TinyGPT):
    """You return probabilities instead of logits.

    The loss takes the softmax itself, and in a stable way; taken twice it flattens everything.
    """

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids).softmax(dim=-1)


@exercise.misconception
class LogProbabilitiesReturned(TinyGPT):
    """You return log-probabilities instead of logits.

    They differ by one number for each position, and the loss finds that number itself. Return the plain scores.
    """

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids).log_softmax(dim=-1)


@exercise.misconception
class LastPositionOnly(TinyGPT):
    """You return the logits of the last position alone.

    That is enough to write the next word. In training all positions are asked at once.
    """

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids)[:, -1]


squeezes(exercise)
