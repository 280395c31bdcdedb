"""The exercise `embed`."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, integers, normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.model.transformer import embed

EMBEDDED = "return table[ids] * math.sqrt(table.shape[{dim}]) + positions[:ids.shape[-1]]"


exercise = Exercise(
    embed,
    section="From ids to vectors",
    minutes=10,
    difficulty=1,
    why="Words and places enter the stream here, at scales that have to fit each other.",
    hints=[
        "A token's vector is a row of the table: indexing with ids gives all of them at once.",
        "The rows are small, the positions are not. By what are the rows multiplied?",
        "There may be more positions than tokens: take as many as there are tokens.",
    ],
    equivalents={
        f"{EMBEDDED.format(dim=-1)}  ->  {EMBEDDED.format(dim=1)}": "a table has two dimensions",
    },
)


def ids_and_tables() -> tuple[Tensor, Tensor, Tensor]:
    return integers(0, 7, 2, 3, seed="ids"), normal(7, 4, seed="table"), normal(9, 4, seed="positions")


@exercise.probe
def two_sequences(embed: Any) -> Seen:
    """two sequences of three ids, vocabulary 7, d_model = 4"""
    return {"vectors": embed(*ids_and_tables())}


@exercise.probe
def one_sequence(embed: Any) -> Seen:
    """one sequence of five ids, without a batch, as many positions as ids"""
    return {"vectors": embed(integers(0, 6, 5, seed="ids"), normal(6, 8, seed="table"), normal(5, 8, seed="p"))}


@exercise.probe
def two_batch_dimensions(embed: Any) -> Seen:
    """two batch dimensions"""
    arguments = integers(0, 5, 2, 3, 4, seed="ids"), normal(5, 6, seed="table"), normal(10, 6, seed="positions")
    return {"vectors": embed(*arguments)}


@exercise.probe
def embeddings_of_size_one(embed: Any) -> Seen:
    """sizes of 1: the sequence, the batch, the width, the vocabulary, the positions"""
    batch, seq, d = distinct(2, 9, 3, seed="sizes")
    cases = [((1,), 7, d, 3), ((batch, 1), 7, d, 4), ((1, seq), 7, d, 12), ((batch, seq), 7, 1, 12),
             ((batch, seq), 1, d, seq), ((1, 1), 1, 1, 1)]  # fmt: skip
    return {
        f"vectors, ids {shape}, table {vocab} × {width}": embed(
            integers(0, vocab, *shape, seed="ids"),
            normal(vocab, width, seed="table"),
            normal(length, width, seed="positions"),
        )
        for shape, vocab, width, length in cases
    }


def ids_and_tables_of_one_shape() -> tuple[Tensor, Tensor, Tensor]:
    return integers(0, 5, 5, seed="ids"), normal(5, 4, seed="table"), normal(5, 4, seed="positions")


usual(exercise, ids_and_tables, alike=ids_and_tables_of_one_shape)


@exercise.misconception
def not_enlarged(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You do not multiply the rows by √d_model.

    The table is shared with the output, where small rows are wanted. Beside them positions are several times longer;
    the factor brings both to one size.
    """
    return table[ids] + positions[: ids.shape[-1]]


@exercise.misconception
def divided_by_the_root(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You divide by √d_model.

    That is for scores. Here the rows are too small already, and are multiplied.
    """
    return table[ids] / math.sqrt(table.shape[-1]) + positions[: ids.shape[-1]]


@exercise.misconception
def multiplied_by_the_width(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You multiply by d_model; the root is missing.

    The rows would drown the positions.
    """
    return table[ids] * table.shape[-1] + positions[: ids.shape[-1]]


@exercise.misconception
def positions_enlarged_too(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You multiply the sum, positions included.

    Only the rows of the table are enlarged.
    """
    return (table[ids] + positions[: ids.shape[-1]]) * math.sqrt(table.shape[-1])


@exercise.misconception
def positions_by_token(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You look the positions up by token id.

    A position's vector depends on where a token stands, not on which token it is.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[ids]


@exercise.misconception
def positions_forgotten(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You do not add the positions.

    Without them attention sees a bag of tokens.
    """
    return table[ids] * math.sqrt(table.shape[-1])


@exercise.misconception
def last_positions(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You take the last positions of the table instead of the first.

    The first token stands at position 0.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[-ids.shape[-1] :]


@exercise.misconception
def root_of_the_vocabulary(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You multiply by the root of the number of tokens in the vocabulary.

    `len(table)` counts rows. The width is the last size of the table: d_model.
    """
    return table[ids] * math.sqrt(len(table)) + positions[: ids.shape[-1]]


@exercise.misconception
def positions_from_one(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """Your positions begin at 1.

    The first token stands at position 0; counted from 1, the last token may find no vector at all.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[1 : ids.shape[-1] + 1]


@exercise.misconception
def a_batch_of_sequences_only(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """You read the length off dimension 1, which is the last one only in a batch of sequences.

    `...` may be none, one or several dimensions. Time is always the last: -1.
    """
    return table[ids] * math.sqrt(table.shape[-1]) + positions[: ids.shape[1]]


squeezes(exercise)
unpacks(exercise, "ids", "batch", "seq")
