"""Adds -1e9 where the mask is False."""


def masked_softmax(scores, mask):
    return (scores + mask.logical_not() * -1e9).softmax(dim=-1)
