"""Two motifs: both are there, their order is the label, and short words alone do not tell."""

from __future__ import annotations

import torch

from qkv.tasks.motifs import ETS, GATA, LENGTH, ids_of, text_of, two_motifs


def test_ids_and_texts_are_each_other_s_inverse() -> None:
    assert ids_of("ACGTN").tolist() == [0, 1, 2, 3, 4]
    assert text_of(ids_of("GATTACAN")) == "GATTACAN"


def test_the_label_says_which_comes_first() -> None:
    texts, first = two_motifs(300, torch.Generator().manual_seed(0))
    assert texts.shape == (300, LENGTH)
    assert 100 < first.sum() < 200
    for text, gata_first in zip(map(text_of, texts), first.tolist(), strict=True):
        left, right = text[: LENGTH // 2], text[LENGTH // 2 :]
        assert (GATA in left and ETS in right) if gata_first else (ETS in left and GATA in right)


def test_no_word_of_six_touches_both_motifs_or_is_cut_by_an_end() -> None:
    """Else a short word would tell the order."""
    texts, _ = two_motifs(2000, torch.Generator().manual_seed(1))
    starts = {motif: set() for motif in (GATA, ETS)}  # type: dict[str, set[int]]
    for text in map(text_of, texts):
        for motif, found in starts.items():
            places = {at for at in range(LENGTH - 5) if text.startswith(motif, at)}
            found |= places if len(places) == 1 else set()  # else one of them is there by chance
            assert motif in text[5:-5]
    by_half = [{at for at in starts[GATA] | starts[ETS] if (at < LENGTH // 2) == left} for left in (True, False)]
    assert min(by_half[1]) - (max(by_half[0]) + 6) >= 6
    assert min(by_half[0]) == 5
    assert max(by_half[1]) == LENGTH - 11
    assert starts[GATA] == starts[ETS]
