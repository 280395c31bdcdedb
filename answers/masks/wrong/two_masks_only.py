"""Takes two masks, and no more."""


def combine_masks(first=None, second=None, *others):
    if first is None:
        return second
    return first if second is None else first & second
