"""The exercise `PatchEmbedding`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, normal, seeded
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.models import (
    PatchEmbedding,
)

exercise = Exercise(
    PatchEmbedding,
    section="A picture is a sequence",
    minutes=15,
    difficulty=2,
    why="Whatever can be cut into a sequence can be read by the same stack.",
    hints=[
        "A picture of 4 × 6 pixels and patches of 2 × 2: number the patches row by row. Which pixels are in patch 1?",
        "Give height and width two dimensions each: which patch, and where inside it. Then order six dimensions.",
        "Inside a patch: channel, row, column. `flatten` makes one dimension of neighbours, so order them first.",
        "The class token is one vector for the whole batch (`expand`); it comes first, and has the first position.",
    ],
)


def build_patches(cls: Any, channels: int = 3, size: int = 2, d_model: int = 5, n_patches: int = 6) -> Any:
    return seeded(cls(channels, size, d_model, n_patches))


def some_pictures() -> tuple[Tensor]:
    return (normal(2, 3, 4, 6, seed="pictures"),)


def patched(
    patch_embedding: Any, batch: int, channels: int, size: int, rows: int, columns: int, d_model: int
) -> Tensor:
    layer = build_patches(patch_embedding, channels, size, d_model, rows * columns)
    return layer(normal(batch, channels, rows * size, columns * size, seed="of these sizes"))


@exercise.probe
def wide_pictures(patch_embedding: Any) -> Seen:
    """two pictures of three colours, 2 × 3 patches of 2 × 2 pixels"""
    return {"vectors": build_patches(patch_embedding)(*some_pictures())}


@exercise.probe
def tall_pictures(patch_embedding: Any) -> Seen:
    """pictures that are higher than wide, of sizes that change from check to check"""
    channels, size, columns, d_model = distinct(2, 6, 4, seed="sizes")
    return {"vectors": patched(patch_embedding, 2, channels, size, columns + 1, columns, d_model)}


@exercise.probe
def square_pictures(patch_embedding: Any) -> Seen:
    """square pictures of 3 × 3 patches"""
    channels, size = distinct(2, 5, 2, seed="square")
    return {"vectors": patched(patch_embedding, 3, channels, size, 3, 3, 7)}


@exercise.probe
def single_pixels(patch_embedding: Any) -> Seen:
    """patches of one pixel, grey pictures, a picture that is one patch"""
    rows, columns = distinct(2, 6, 2, seed="grey")
    return {
        "of pixels": patched(patch_embedding, 1, 3, 1, rows, columns, 4),
        "grey": patched(patch_embedding, 2, 1, 3, columns, rows, 5),
        "one patch": patched(patch_embedding, 3, 2, rows, 1, 1, 6),
    }


usual(exercise, some_pictures, build_patches)


@exercise.misconception
class ReshapedOnly(PatchEmbedding):
    """You reshape the picture into patches without changing the order of its numbers.

    In memory a row of pixels goes across all patches of that row. What you cut are strips, and strips of one channel.
    """

    def _patches(self, images: Tensor) -> Tensor:
        return images.reshape(len(images), len(self.positions) - 1, -1)


@exercise.misconception
class ChannelsLast(PatchEmbedding):
    """Inside a patch your numbers are in the order row, column, channel.

    So are pixels in many picture files. Here the channel comes first, as a convolution's weight has it.
    """

    def _patches(self, images: Tensor) -> Tensor:
        grid = images.unflatten(2, (-1, self.size)).unflatten(4, (-1, self.size))
        return grid.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


@exercise.misconception
class ColumnByColumn(PatchEmbedding):
    """Your patches go down the columns.

    They are to be read as a text is: row by row. Otherwise each gets the position of another.
    """

    def _patches(self, images: Tensor) -> Tensor:
        grid = images.unflatten(2, (-1, self.size)).unflatten(4, (-1, self.size))
        return grid.permute(0, 4, 2, 1, 3, 5).flatten(3).flatten(1, 2)


@exercise.misconception
class TurnedOver(PatchEmbedding):
    """Inside a patch you read the columns first: each patch is turned over its diagonal.

    The order is channel, row, column: the column changes fastest.
    """

    def _patches(self, images: Tensor) -> Tensor:
        grid = images.unflatten(2, (-1, self.size)).unflatten(4, (-1, self.size))
        return grid.permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2)


@exercise.misconception
class UnfoldedUnturned(PatchEmbedding):
    """You reshape what `unfold` gives, where its dimensions should be exchanged.

    `F.unfold` puts the numbers of a patch before the patches: (batch, channels·size², patch). Transpose it.
    """

    def _patches(self, images: Tensor) -> Tensor:
        columns = F.unfold(images, self.size, stride=self.size)
        return columns.reshape(len(images), columns.shape[2], columns.shape[1])


@exercise.misconception
class ChannelsApart(PatchEmbedding):
    """Your patches are of one channel each, several of them in a row.

    You flatten while the channel still stands before the patches. Bring it after them first.
    """

    def _patches(self, images: Tensor) -> Tensor:
        windows = images.unfold(2, self.size, self.size).unfold(3, self.size, self.size)
        return windows.reshape(len(images), len(self.positions) - 1, -1)


@exercise.misconception
class HeightForWidth(PatchEmbedding):
    """You take height for width and width for height.

    Pictures are (batch, channels, height, width): how many rows there are comes first.
    """

    def _patches(self, images: Tensor) -> Tensor:
        batch, channels, height, width = images.shape
        return super()._patches(images.reshape(batch, channels, width, height))


@exercise.misconception
class ClassTokenLast(PatchEmbedding):
    """Your class token stands at the end.

    It comes first, at the same place whatever the number of patches: whoever reads it looks at 0.
    """

    def _with_class_token(self, vectors: Tensor) -> Tensor:
        return torch.cat([vectors, self.class_token.expand(len(vectors), 1, -1)], dim=1)


@exercise.misconception
class ClassTokenEmpty(PatchEmbedding):
    """You put zeros where the class token should stand.

    It is a parameter: what it asks of the patches is learned.
    """

    def _with_class_token(self, vectors: Tensor) -> Tensor:
        return F.pad(vectors, (0, 0, 1, 0))


@exercise.misconception
class ClassTokenMissing(PatchEmbedding):
    """There is no class token in what you return.

    Without it no vector belongs to the picture as a whole.
    """

    def forward(self, images: Tensor) -> Tensor:
        return self.proj(self._patches(images)) + self.positions[1:]


@exercise.misconception
class PositionsForgotten(PatchEmbedding):
    """You do not add the positions.

    Attention sees a set: without them the patches could be shuffled and nobody would notice.
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors


@exercise.misconception
class ClassTokenWithoutPosition(PatchEmbedding):
    """Your class token gets no position.

    There is one for each vector; positions[0] is the class token's.
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors + F.pad(self.positions[1:], (0, 0, 1, 0))


@exercise.misconception
class LastPositionForTheClassToken(PatchEmbedding):
    """You give the patches the first positions, and the class token the last.

    Positions go with the vectors as they stand: the class token is first, so it has positions[0].
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors + self.positions.roll(1, dims=0)


@exercise.misconception
class PositionsMultiplied(PatchEmbedding):
    """You multiply by the positions.

    They are added: where a vector stands should not decide how loud it is.
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors * self.positions


@exercise.misconception
class OnePositionForAll(PatchEmbedding):
    """All your vectors get the same position.

    Each has a row of its own.
    """

    def _placed(self, vectors: Tensor) -> Tensor:
        return vectors + self.positions[0]


@exercise.misconception
class EnlargedByTheRoot(PatchEmbedding):
    """You multiply the patches by √d_model.

    That was for a table of tokens that is shared with the output. A projection finds its own scale.
    """

    def forward(self, images: Tensor) -> Tensor:
        vectors = self.proj(self._patches(images)) * self.proj.out_features**0.5
        return self._placed(self._with_class_token(vectors))


@exercise.misconception
class BiasForgotten(PatchEmbedding):
    """You use the weight of `proj`, but not its bias.

    `self.proj(…)` does both.
    """

    def forward(self, images: Tensor) -> Tensor:
        return self._placed(self._with_class_token(self._patches(images) @ self.proj.weight.T))


squeezes(exercise)
