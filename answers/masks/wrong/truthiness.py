"""Asks a length or a mask whether it is true."""


def padding_mask(lengths, length):
    return (lengths[:, None] > 0).expand(-1, length)[:, None]


def combine_masks(*masks):
    if not masks:
        return None
    combined = masks[0]
    for mask in masks[1:]:
        combined = combined & mask
    return combined


def masked_mean(x, lengths):
    real = (x != 0).any(-1, keepdim=True)
    return x.sum(1) / real.sum(1).clamp(min=1)
