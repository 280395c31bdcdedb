"""DNA with a pair of motifs that stand beside each other, in either order, and one more motif that stands alone.

GATA and ETS stand side by side, and elsewhere in the text there is a second GATA. All three are put where they are by
chance, among bases drawn at random. They keep away from the ends and from each other, so that each word of up to six
bases is as likely in one kind of text as in the other. Nor does it help to know where each motif stands, one by one:
which of the two GATA counts is decided by where ETS is.
"""

from __future__ import annotations

import torch
from torch import Tensor

BASES = "ACGTN"  # their ids are 0 1 2 3 4; N is unknown
GATA, ETS = "AGATAA", "GAGGAA"  # what two families of transcription factors bind
LENGTH, EDGE = 81, 5  # of a text; bases at both ends that no motif touches
GAP, APART = 8, 12  # bases within the pair; at least as many between the pair and the GATA that is alone


def ids_of(text: str) -> Tensor:
    """The bases of a text as ids (base,), int64."""
    return torch.tensor([BASES.index(base) for base in text])


def text_of(ids: Tensor) -> str:
    """Ids (base,) as a text."""
    return "".join(BASES[number] for number in ids.tolist())


def two_motifs(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw n texts with a pair of GATA and ETS, and another GATA farther away.

    Args:
        n: number of texts.
        generator: the only source of chance.

    Returns:
        texts (n, 81), int64, and for each whether GATA comes first in the pair (n,), int64, 0 or 1.
    """
    texts = torch.randint(4, (n, LENGTH), generator=generator)
    gata_first = torch.randint(2, (n,), generator=generator)
    pair_first = torch.randint(2, (n,), generator=generator)  # or the GATA that is alone
    size = len(GATA)
    pair = 2 * size + GAP
    free = LENGTH - 2 * EDGE - pair - APART - size  # bases to be divided among before, between and after
    before, until = torch.randint(free + 1, (2, n), generator=generator).sort(dim=0).values
    left = EDGE + before + (1 - pair_first) * (size + APART + until - before)  # where the pair begins
    alone = EDGE + before + pair_first * (pair + APART + until - before)
    near, far = left, left + size + GAP
    for motif, starts in (
        (GATA, torch.where(gata_first == 1, near, far)),
        (ETS, torch.where(gata_first == 1, far, near)),
        (GATA, alone),
    ):
        places = starts[:, None] + torch.arange(size)
        texts.scatter_(1, places, ids_of(motif).expand(n, size))
    return texts, gata_first
