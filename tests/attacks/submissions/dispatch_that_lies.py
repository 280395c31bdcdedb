"""A tensor class that answers below autograd, where the harness copies its numbers.

Expected: nothing earned.
"""

import torch


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return torch.full((2, 3, 5), 0.2)


def softmax(scores, dim):
    return Wrapper(scores)
