"""The exercise `PostNorm`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from qkv.exercises.norm.shared import look_at
from qkv.model.norm import PostNorm

exercise = Exercise(
    PostNorm,
    section="Before or after",
    minutes=10,
    difficulty=2,
    why="The order of 2017: which rates it bears, and what a warm-up changes, is measured in chapter 9.",
    hints=[
        "First the sum, then the norm: what does the sublayer read?",
        "The norm comes last, over x and the sublayer's answer together.",
        "The sublayer may take more than x: hand `*args` on.",
    ],
)


look_at(exercise)


@exercise.misconception
class NormalisedBefore(PostNorm):
    """You normalise what goes into the sublayer: that is pre-norm.

    Post-norm, as the original Transformer has it, normalises the sum of x and the sublayer's answer.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(self.norm(x), *args)


@exercise.misconception
class OnlyTheSublayerNormalised(PostNorm):
    """You normalise the sublayer's answer and then add x.

    The norm belongs around the whole sum, so that what leaves the block has a known size.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.norm(self.sublayer(x, *args))


@exercise.misconception
class NothingAdded(PostNorm):
    """You do not add x.

    Without the residual connection the block forgets everything that its sublayer does not pass on.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(self.sublayer(x, *args))


@exercise.misconception
class NormalisedTwice(PostNorm):
    """You normalise before the sublayer and after the sum.

    In post-norm the sublayer reads x as it is; the norm comes once, at the end.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(self.norm(x), *args))


@exercise.misconception
class NotNormalised(PostNorm):
    """You do not use the norm.

    What remains is the residual connection, whose sum grows from layer to layer.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return x + self.sublayer(x, *args)


@exercise.misconception
class FurtherArgumentsDropped(PostNorm):
    """You do not hand the further arguments on to the sublayer.

    A mask, for example, travels that way. Without it attention sees everything.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(x))


@exercise.misconception
class FurtherArgumentsInOnePiece(PostNorm):
    """You hand the further arguments on as one tuple.

    The sublayer takes them one by one: the star that packed them in the signature unpacks them in the call.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.sublayer(x, args))


@exercise.misconception
class StreamAloneNormalised(PostNorm):
    """You normalise x, and add the sublayer's answer afterwards.

    The norm belongs around the whole sum, so that what leaves the block has a known size.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x) + self.sublayer(x, *args)


@exercise.misconception
class SummandsNormalised(PostNorm):
    """You normalise both summands instead of their sum.

    Then x and the sublayer's answer always weigh the same, however little the sublayer has to say.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x) + self.norm(self.sublayer(x, *args))


@exercise.misconception
class AnswerNormalisedToo(PostNorm):
    """You normalise the sublayer's answer, and then the sum.

    The norm comes once, at the end: how much the sublayer says is its own business.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        return self.norm(x + self.norm(self.sublayer(x, *args)))


squeezes(exercise)
unpacks(exercise, "x", "batch", "d_model")
