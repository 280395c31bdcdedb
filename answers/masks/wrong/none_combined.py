"""Combines None like a mask; takes the order of another library."""


def combine_masks(*masks):
    if not masks:
        return None
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask
    return result


def cross_attention(decoder, memory, attend, memory_mask=None):
    return attend(memory, memory, decoder, memory_mask)
