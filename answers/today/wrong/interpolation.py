"""All pairs alike."""

import torch


def stretched_frequencies(d, factor, length, base=10000.0, slow=1.0, fast=4.0):
    return base ** (-torch.arange(0, d, 2) / d) / factor
