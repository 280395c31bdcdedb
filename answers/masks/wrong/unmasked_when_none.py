"""Leaves the mask out when there is none."""


def cross_attention(decoder, memory, attend, memory_mask=None):
    if memory_mask is None:
        return attend(decoder, memory, memory)
    return attend(decoder, memory, memory, memory_mask)
