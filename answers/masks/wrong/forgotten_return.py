"""Computes, and keeps it."""

import torch


def causal_mask(n):
    torch.ones(n, n).tril().bool()


def cross_attention(decoder, memory, attend, memory_mask=None):
    attend(decoder, memory, memory, memory_mask)
