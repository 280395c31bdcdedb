"""Returns a tensor of a class that is equal and close to everything.

Expected: nothing earned.
"""

import torch


class Equal(torch.Tensor):
    def __eq__(self, other):
        return True

    __hash__ = None

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function.__name__ in ("allclose", "equal", "isclose", "eq", "all", "__eq__", "lt", "le"):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})


def softmax(scores, dim):
    return torch.zeros_like(scores).as_subclass(Equal)
