"""Retrieval: one read from a cloakroom. A ticket is shown, and the coat that hangs under its number is asked for.

The smallest task that attention alone decides: whoever finds the right key has the answer, and nobody else has.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

TICKETS, HOOKS, COATS = 32, 16, 16


class Retrieval(NamedTuple):
    """A batch of cloakrooms; all int64."""

    query: Tensor  # (batch,) the ticket that is shown
    keys: Tensor  # (batch, hook) the ticket at each hook, no two alike
    values: Tensor  # (batch, hook) the coat at each hook; coats may repeat
    answer: Tensor  # (batch,) the coat at the hook whose ticket is shown


def retrieval(batch: int, generator: torch.Generator) -> Retrieval:
    """Fill 16 hooks with tickets out of 32 and coats out of 16, and ask for one of them."""
    keys = torch.rand(batch, TICKETS, generator=generator).argsort(dim=-1)[:, :HOOKS]
    values = torch.randint(COATS, (batch, HOOKS), generator=generator)
    asked = torch.randint(HOOKS, (batch, 1), generator=generator)
    return Retrieval(keys.gather(1, asked)[:, 0], keys, values, values.gather(1, asked)[:, 0])
