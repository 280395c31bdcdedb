"""Returns numbers and lists of classes that compare equal to anything.

Expected: nothing earned.
"""


class Number(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = float.__hash__


def softmax(scores, dim):
    return Number(0.0)


def similarity_scores(q, k):
    return [Number(0.0)] * 3
