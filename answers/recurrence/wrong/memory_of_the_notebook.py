"""A variable of the notebook is used by mistake; a list comes back."""

import torch

delay_of_the_plot = 3
layers = [(3, 1), (3, 2)]


def receptive_field(kernel_sizes, dilations):
    return 1 + sum((k - 1) * d for k, d in layers)


def path_length(architecture, n, kernel=None):
    return [n - 1, 1, None if kernel is None else -(-(n - 1) // (kernel - 1))]


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    targets = torch.zeros_like(inputs)
    targets[:, delay_of_the_plot:] = inputs[:, : max(length - delay_of_the_plot, 0)]
    return inputs, targets
