"""Replaces the built-in functions that a comparison would use.

Expected: nothing earned, or stopped (exit or crash).
"""

import builtins

import torch

builtins.all = builtins.any = lambda *args: True
builtins.abs = builtins.max = builtins.min = builtins.sum = lambda *args, **options: 0
builtins.isinstance = lambda *args: True


def softmax(scores, dim):
    return torch.zeros_like(scores)
