"""A ratio of whole numbers, or a pair."""

import math
from collections import Counter
from fractions import Fraction


def pass_at_k(n, right, k):
    return Fraction(math.comb(n, k) - math.comb(n - right, k), math.comb(n, k))


def majority_vote(answers, weights=None):
    votes = Counter(a for a in answers if a is not None)
    return votes.most_common(1)[0] if votes else None
