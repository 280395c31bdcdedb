"""Stops at None, or stumbles over it, or takes it for something else."""

import torch


def combine_masks(*masks):
    combined = None
    for mask in masks:
        if mask is None:
            break
        combined = mask if combined is None else combined & mask
    return combined


def cross_attention(decoder, memory, attend, memory_mask=None):
    if memory_mask is None:
        memory_mask = torch.ones(decoder.shape[-2], memory.shape[-2], dtype=torch.bool)
    return attend(decoder, memory, memory, memory_mask)
