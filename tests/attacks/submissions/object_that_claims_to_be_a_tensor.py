"""Returns an object that says it is a tensor and equals everything.

Expected: nothing earned, or stopped (crash).
"""

import torch


class Anything:
    __class__ = torch.Tensor

    def __getattr__(self, name):
        return lambda *args, **options: self

    def __eq__(self, other):
        return True

    __hash__ = None
    dtype, device, shape = torch.float32, torch.device("cpu"), torch.Size([2, 3, 5])


def softmax(scores, dim):
    return Anything()
