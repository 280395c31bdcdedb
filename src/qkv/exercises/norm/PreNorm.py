"""The exercise `PreNorm`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from qkv.exercises.norm.shared import look_at
from qkv.model.norm import PreNorm

exercise = Exercise(
    PreNorm,
    section="Before or after",
    minutes=10,
    difficulty=2,
    why="The stream stays untouched from bottom to top: gradients have a straight way back.",
    hints=[
        "Two ways lead through the block: one around the sublayer, one through it. Which of them meets the norm?",
        "The way around stays untouched: what is added at the end is x itself.",
        "The sublayer may take more than x: hand `*args` on.",
    ],
)


look_at(exercise)


@exercise.misconception
class NormalisedAfterwards(PreNorm):
    """You normalise the sum: that is post-norm.

    Then the way around the sublayer passes through the norm of every layer; in pre-norm it stays free.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(x, *args))


@exercise.misconception
class NormalisedStream(PreNorm):
    """You add the normalised x instead of x.

    The way around should carry x as it is. Normalised, it forgets its size in every layer.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        x = self.norm(x)
        return x + self.sublayer(x, *args)


@exercise.misconception
class NoWayAround(PreNorm):
    """You do not add x.

    Without the residual connection a deep stack passes on only what every sublayer lets through.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.sublayer(self.norm(x), *args)


@exercise.misconception
class SublayerNormalised(PreNorm):
    """You normalise what comes out of the sublayer, not what goes in.

    In pre-norm the sublayer reads a normalised x, and what it says is added as it is.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.norm(self.sublayer(x, *args))


@exercise.misconception
class NormForgotten(PreNorm):
    """You do not use the norm.

    What remains is a residual connection; the stream grows from layer to layer and each sublayer sees larger numbers.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(x, *args)


@exercise.misconception
class ArgumentsDropped(PreNorm):
    """You do not hand the further arguments on to the sublayer.

    A mask, for example, travels that way. Without it attention sees everything.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(self.norm(x))


@exercise.misconception
class ArgumentsInOnePiece(PreNorm):
    """You hand the further arguments on as one tuple.

    The sublayer takes them one by one: the star that packed them in the signature unpacks them in the call.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(self.norm(x), args)


@exercise.misconception
class NormalisedOnBothSides(PreNorm):
    """You normalise what goes into the sublayer and what comes out of it.

    Some models do so. In pre-norm what the sublayer says is added as it is, so that it can be loud or quiet.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.norm(self.sublayer(self.norm(x), *args))


@exercise.misconception
class NormalisedAtTheEndToo(PreNorm):
    """You normalise what goes into the sublayer, and then the sum as well.

    The norm comes once, before the sublayer; normalised again, the stream is not a free way any more.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(self.norm(x), *args))


@exercise.misconception
class WaysExchanged(PreNorm):
    """You normalise the way around and let the sublayer read x as it is.

    It is the other way round: the sublayer reads the normalised x, and what is added at the end is x itself.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x) + self.sublayer(x, *args)


squeezes(exercise)
unpacks(exercise, "x", "batch", "d_model")
