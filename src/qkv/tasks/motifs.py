"""DNA with two motifs, of which one comes first: the same short words in either order.

Both stand in every text, once each where they were put, among bases drawn at random. They keep away from the ends and
from each other by more than a motif's length, so whichever comes first, a text has the same words of up to six bases,
with the same probabilities. Only where they stand tells the two kinds of text apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

BASES = "ACGTN"  # their ids are 0 1 2 3 4; N is unknown
GATA, ETS = "AGATAA", "CCGGAA"  # what two families of transcription factors bind
LENGTH, EDGE, GAP = 40, 5, 6  # of a text; bases at both ends, and in the middle, that no motif touches


def ids_of(text: str) -> Tensor:
    """The bases of a text as ids (base,), int64."""
    return torch.tensor([BASES.index(base) for base in text])


def text_of(ids: Tensor) -> str:
    """Ids (base,) as a text."""
    return "".join(BASES[number] for number in ids.tolist())


def two_motifs(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw n texts with both motifs.

    Returns:
        texts (n, 40), int64, and for each whether GATA comes first (n,), int64, 0 or 1.
    """
    texts = torch.randint(4, (n, LENGTH), generator=generator)
    gata_first = torch.randint(2, (n,), generator=generator)
    size, half = len(GATA), LENGTH // 2
    room = half - GAP // 2 - size - EDGE + 1  # how many places the first of them may start at
    first = EDGE + torch.randint(room, (n,), generator=generator)
    second = half + GAP // 2 + torch.randint(room, (n,), generator=generator)
    for motif, starts in (
        (GATA, torch.where(gata_first == 1, first, second)),
        (ETS, torch.where(gata_first == 1, second, first)),
    ):
        places = starts[:, None] + torch.arange(size)
        texts.scatter_(1, places, ids_of(motif).expand(n, size))
    return texts, gata_first
