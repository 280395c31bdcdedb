"""An empty combination that allows everything, as a tensor."""

import torch


def combine_masks(*masks):
    combined = torch.tensor(True)
    for mask in masks:
        if mask is not None:
            combined = combined & mask
    return combined
