"""Stacks the masks, which wants one shape."""

import torch


def combine_masks(*masks):
    given = [mask for mask in masks if mask is not None]
    return torch.all(torch.stack(given, dim=0), dim=0) if given else None
