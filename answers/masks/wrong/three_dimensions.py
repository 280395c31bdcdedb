"""Knows three dimensions only."""

import torch


def masked_softmax(scores, mask):
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=2)
    return torch.where(weights.isnan(), torch.zeros_like(weights), weights)


def cross_attention(decoder, memory, attend, memory_mask=None):
    batch, target, d_model = decoder.shape
    return attend(decoder, memory, memory, memory_mask).view(batch, target, d_model)
