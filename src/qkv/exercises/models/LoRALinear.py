"""The exercise `LoRALinear`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, number, seeded
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.models import (
    LoRALinear,
)

exercise = Exercise(
    LoRALinear,
    section="Tuning a little",
    minutes=10,
    difficulty=2,
    why="A large model is fitted to a new task with a hundredth of its numbers, and merged it costs nothing.",
    hints=[
        "Write the shapes: x (..., d_in), a (rank, d_in), b (d_out, rank). Which products give (..., d_out)?",
        "The correction is multiplied by alpha / rank. What does the frozen layer add, and what its bias?",
        "One matrix does what the two do together: b @ a has the shape of the layer's weight. Which layer has the sum?",
        "A new nn.Linear has parameters of its own: copy numbers into them, under `torch.no_grad()`.",
    ],
)


ALPHA = 5.0


def build_tuned(cls: Any, d_in: int = 4, d_out: int = 6, rank: int = 2, alpha: float = ALPHA, bias: bool = True) -> Any:
    """A module whose numbers are all drawn, b's too."""
    return seeded(cls(nn.Linear(d_in, d_out, bias=bias), rank, alpha))


def some_vectors() -> tuple[Tensor]:
    return (normal(3, 4, seed="vectors"),)


def drawn_sizes(seed: str) -> tuple[int, int, int, float]:
    d_in, d_out, rank = distinct(2, 8, 3, seed=seed)
    return d_in, d_out, rank, number(3.0, 9.0, seed=f"alpha of {seed}")


@exercise.probe
def corrected(lora_linear: Any) -> Seen:
    """three vectors of four components, rank 2"""
    return {"output": build_tuned(lora_linear)(*some_vectors())}


@exercise.probe
def without_a_bias(lora_linear: Any) -> Seen:
    """a layer without bias, two batch dimensions, sizes that change from check to check"""
    sizes = drawn_sizes("no bias")
    return {"output": build_tuned(lora_linear, *sizes, bias=False)(normal(2, 3, sizes[0], seed="batches"))}


@exercise.probe
def small_ranks_and_large(lora_linear: Any) -> Seen:
    """rank 1, a rank above both widths, widths of 1"""
    alpha = number(2.0, 7.0, seed="alpha")
    return {
        "rank 1": build_tuned(lora_linear, 5, 3, 1, alpha)(normal(5, seed="one vector")),
        "rank 9": build_tuned(lora_linear, 3, 2, 9, alpha)(normal(4, 3, seed="narrow")),
        "one component in": build_tuned(lora_linear, 1, 4, 3, alpha)(normal(2, 1, seed="single")),
        "one component out": build_tuned(lora_linear, 4, 1, 2, alpha)(normal(5, 4, seed="to a single one")),
    }


@exercise.probe
def at_the_start(lora_linear: Any) -> Seen:
    """a module as it is made, before any training"""
    d_in, d_out, rank, alpha = drawn_sizes("start")
    layer = lora_linear(seeded(nn.Linear(d_in, d_out)), rank, alpha)
    return {"b at first": layer.b, "output": layer(normal(3, d_in, seed="at the start"))}


def plain_layer(merged: Any) -> Seen:
    """What is to be seen of a merged layer."""
    if not isinstance(merged, nn.Linear):
        return {"merged() is an nn.Linear": False}
    return {
        "merged() is an nn.Linear": True,
        "weight of merged()": merged.weight,
        "merged() has a bias": merged.bias is not None,
        **({} if merged.bias is None else {"bias of merged()": merged.bias}),
    }


@exercise.probe
def merged_with_a_bias(lora_linear: Any) -> Seen:
    """what `merged` makes of a layer with bias"""
    layer = build_tuned(lora_linear, *drawn_sizes("merged"))
    return plain_layer(layer.merged()) | {"output before": layer(normal(2, layer.linear.in_features, seed="unmerged"))}


@exercise.probe
def merged_without_a_bias(lora_linear: Any) -> Seen:
    """what `merged` makes of a layer without bias"""
    layer = build_tuned(lora_linear, *drawn_sizes("merged bare"), bias=False)
    return plain_layer(layer.merged()) | {"output before": layer(normal(2, layer.linear.in_features, seed="bare"))}


@exercise.probe
def after_merging(lora_linear: Any) -> Seen:
    """the module itself after `merged`, and after what was merged is trained on"""
    sizes = drawn_sizes("after")
    layer, x = build_tuned(lora_linear, *sizes), normal(3, sizes[0], seed="after")
    plain = layer.merged()
    found = {"output after merging": layer(x)}
    if not isinstance(plain, nn.Linear):
        return found
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.fill_(7.0)
    return found | {"output after changing what was merged": layer(x)}


@exercise.property
def frozen(lora_linear: Any) -> Seen:
    """which parameters are trained

    The layer that was given should be kept itself, not a copy, and be frozen, its bias too; only a and b are trained.
    """
    linear = nn.Linear(3, 2)
    layer = lora_linear(linear, 2, 1.0)
    trained = {f"{name} is trained": p.requires_grad for name, p in layer.named_parameters()}
    return {"linear is the very layer that it was given": layer.linear is linear, **trained}


@exercise.property
def gradients_of_the_correction(lora_linear: Any) -> Seen:
    """the gradients with respect to x, a and b

    The values are right but the gradients are not. Something on the way cuts the graph: `.detach()`, `.data`,
    `torch.no_grad()`.
    """
    layer, (x,) = build_tuned(lora_linear), some_vectors()
    x.requires_grad_()
    output = layer(x)
    total = (output * torch.cos(torch.arange(1.0, output.numel() + 1)).view(output.shape)).sum()
    leaves = {"x": x, "a": layer.a, "b": layer.b}
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return {
        f"gradient of {n}": torch.zeros_like(leaves[n]) if g is None else g for n, g in zip(leaves, found, strict=True)
    }


@exercise.property
def merged_in_its_own_dtype(lora_linear: Any) -> Seen:
    """a float64 layer that is merged

    `merged` does not keep the dtype of the layer: a float64 layer gives a float64 layer.
    """
    return {"weight": build_tuned(lora_linear).double().merged().weight}


usual(exercise, some_vectors, build_tuned, without=("gradients",))


@exercise.misconception
class AlphaUndivided(LoRALinear):
    """You multiply by alpha, and do not divide by the rank.

    The division is there so that the learning rate need hardly be tuned again for another rank: each of the parts
    counts for less.
    """

    def _scale(self) -> float:
        return self.alpha


@exercise.misconception
class DividedByTheRootOfTheRank(LoRALinear):
    """You divide alpha by the root of the rank.

    A later paper proposes that. Here it is alpha / rank, as in the first.
    """

    def _scale(self) -> float:
        return self.alpha / self.rank**0.5


@exercise.misconception
class RankOverAlpha(LoRALinear):
    """You multiply by rank / alpha: the fraction is upside down.

    alpha says how large the correction is, so it stands above.
    """

    def _scale(self) -> float:
        return self.rank / self.alpha


@exercise.misconception
class Unscaled(LoRALinear):
    """You do not scale the correction.

    It is to be multiplied by alpha / rank.
    """

    def _scale(self) -> float:
        return 1.0


@exercise.misconception
class CorrectionAlone(LoRALinear):
    """You return the correction without what the frozen layer says.

    The layer knows what it has learned; the correction is added to it.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self._correction(x)


@exercise.misconception
class CorrectionUnused(LoRALinear):
    """You return what the frozen layer says, without the correction.

    Then training a and b changes nothing.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@exercise.misconception
class EverythingScaled(LoRALinear):
    """You scale the sum, the frozen layer's part too.

    alpha / rank belongs to the correction; the module should start as the layer.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self._scale() * (self.linear(x) + x @ self.a.T @ self.b.T)


@exercise.misconception
class FrozenBiasForgotten(LoRALinear):
    """You use the weight of the frozen layer, but not its bias.

    `self.linear(x)` does both.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.linear.weight.T + self._correction(x)


@exercise.misconception
class ScaledTwice(LoRALinear):
    """You scale the correction twice.

    Once is enough: after a, after b, or at the end.
    """

    def _correction(self, x: Tensor) -> Tensor:
        return self._scale() * super()._correction(x)


@exercise.misconception
class BentInTheMiddle(LoRALinear):
    """There is a ReLU between your two matrices.

    Then no single matrix does the same, and nothing could be merged. The correction is linear.
    """

    def _correction(self, x: Tensor) -> Tensor:
        return self._scale() * torch.relu(x @ self.a.T) @ self.b.T


@exercise.misconception
class MergedWithoutCorrection(LoRALinear):
    """What you merge is a copy of the frozen layer: the correction is lost.

    The new weight is the frozen one plus what a and b do together.
    """

    def merged(self) -> nn.Linear:
        plain = self._empty_copy()
        plain.load_state_dict(self.linear.state_dict())
        return plain


@exercise.misconception
class MergedIsNoLayer(LoRALinear):
    """`merged` does not return an nn.Linear.

    Whoever merges wants to put a plain layer where this module was: a weight alone, or the module itself, is none.
    """

    def merged(self) -> Any:
        return super().merged().weight


@exercise.misconception
class MergedUnscaled(LoRALinear):
    """You merge b @ a without its scale.

    The merged layer should say what the module says, where the correction is multiplied by alpha / rank.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        with torch.no_grad():
            plain.weight.copy_(self.linear.weight + self.b @ self.a)
        return plain


@exercise.misconception
class MergedIntoTheLayer(LoRALinear):
    """You add the correction to the frozen layer itself.

    After that the module adds it a second time. `merged` makes a new layer and leaves this module as it is.
    """

    def merged(self) -> nn.Linear:
        with torch.no_grad():
            self.linear.weight += self._scale() * self.b @ self.a
        return self.linear


@exercise.misconception
class MergedBiasLost(LoRALinear):
    """Your merged layer has no bias.

    If the frozen layer has one, the merged layer has the same.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        plain.bias = None  # type: ignore[assignment]
        return plain


@exercise.misconception
class MergedBiasAlways(LoRALinear):
    """Your merged layer has a bias even if the frozen layer has none.

    With zeros it says the same, but it is another layer: it would learn a bias that nobody asked for.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        if plain.bias is None:
            plain.bias = nn.Parameter(torch.zeros_like(plain.weight[:, 0]))
        return plain


@exercise.misconception
class MergedBiasShared(LoRALinear):
    """Your merged layer shares its bias with the frozen layer.

    Whoever trains one of them changes the other. Copy the numbers.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        plain.bias = self.linear.bias
        return plain


@exercise.misconception
class CorrectionEmptied(LoRALinear):
    """After merging you set the correction to 0.

    `merged` changes nothing of this module: it can go on being trained, and be merged again.
    """

    def merged(self) -> nn.Linear:
        plain = super().merged()
        with torch.no_grad():
            self.b.zero_()
        return plain


squeezes(exercise)
unpacks(exercise, "x", "batch", "d_in")
