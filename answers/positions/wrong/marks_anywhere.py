"""Looks for the mark in the wrong place, or takes it off."""

import torch


def piece_kinds(pieces):
    text = " ".join(pieces).replace(" ##", "##")
    kinds = []
    for word in text.split():
        parts = word.split("##")
        kinds += [0] if len(parts) == 1 else [1] + [2] * (len(parts) - 1)
    return torch.tensor(kinds, dtype=torch.int64)
