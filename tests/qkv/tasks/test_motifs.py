"""Two motifs side by side: the order in the pair is the label, and neither short words nor single places tell it."""

from __future__ import annotations

import torch

from qkv.tasks.motifs import APART, EDGE, ETS, GAP, GATA, LENGTH, ids_of, text_of, two_motifs


def places(text: str, motif: str) -> list[int]:
    return [at for at in range(len(text) - len(motif) + 1) if text.startswith(motif, at)]


def drawn() -> list[tuple[list[int], int, int]]:
    """Places of both GATA, that of ETS, and the label; texts with a motif by chance are left out."""
    texts, first = two_motifs(3000, torch.Generator().manual_seed(0))
    assert texts.shape == (3000, LENGTH)
    plain = zip(map(text_of, texts), first.tolist(), strict=True)
    found = [(places(text, GATA), places(text, ETS), label) for text, label in plain]
    return [(gata, ets[0], label) for gata, ets, label in found if len(gata) == 2 and len(ets) == 1]


def test_ids_and_texts_are_each_other_s_inverse() -> None:
    assert ids_of("ACGTN").tolist() == [0, 1, 2, 3, 4]
    assert text_of(ids_of("GATTACAN")) == "GATTACAN"


def test_the_label_says_on_which_side_of_ets_the_nearer_gata_stands() -> None:
    kept = drawn()
    assert len(kept) > 2800
    assert 0.45 < sum(label for *_, label in kept) / len(kept) < 0.55
    for gata, ets, label in kept:
        near, alone = sorted(gata, key=lambda at: abs(at - ets))
        assert abs(near - ets) == len(GATA) + GAP
        assert label == (near < ets)
        assert min(abs(alone - ets), abs(alone - near)) >= len(GATA) + APART


def test_no_word_of_six_touches_two_motifs_or_is_cut_by_an_end() -> None:
    """Else a short word would tell the order."""
    assert min(GAP, APART, EDGE) >= 5
    kept = drawn()
    every = {at for gata, ets, _ in kept for at in (*gata, ets)}
    assert (min(every), max(every)) == (EDGE, LENGTH - EDGE - len(GATA))


def test_the_gata_that_is_alone_stands_on_either_side_in_either_order() -> None:
    sides = [(max(gata, key=lambda at: abs(at - ets)) < ets, label) for gata, ets, label in drawn()]
    for side in (False, True):
        for label in (0, 1):
            assert 0.2 < sides.count((side, label)) / len(sides) < 0.3
