"""Slows down by another base."""

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    stretched = base * factor ** (d / (d - 2)) if d > 2 else base * factor
    return stretched ** (-torch.arange(0, d, 2) / d)
