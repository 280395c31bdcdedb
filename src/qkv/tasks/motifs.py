"""DNA with two motifs, of which one comes first: the same short words in either order.

Both stand in every text, once each where they were put, among bases drawn at random. They keep away from the ends and
from each other, so that each word of up to six bases is as likely in one kind of text as in the other. Only where the
motifs stand tells the two kinds apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

BASES = "ACGTN"  # their ids are 0 1 2 3 4; N is unknown
GATA, ETS = "AGATAA", "GAGGAA"  # what two families of transcription factors bind
LENGTH, EDGE, GAP = 40, 5, 6  # of a text; bases at both ends, and in the middle, that no motif touches


def ids_of(text: str) -> Tensor:
    """The bases of a text as ids (base,), int64."""
    return torch.tensor([BASES.index(base) for base in text])


def text_of(ids: Tensor) -> str:
    """Ids (base,) as a text."""
    return "".join(BASES[number] for number in ids.tolist())


def two_motifs(n: int, generator: torch.Generator, ets: str = ETS) -> tuple[Tensor, Tensor]:
    """Draw n texts with both motifs.

    Args:
        n: number of texts.
        generator: the only source of chance.
        ets: how the motif of ETS is spelled, six bases.

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
        (ets, torch.where(gata_first == 1, second, first)),
    ):
        places = starts[:, None] + torch.arange(size)
        texts.scatter_(1, places, ids_of(motif).expand(n, size))
    return texts, gata_first
