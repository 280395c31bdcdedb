"""Counts as if dilations were strides."""


def receptive_field(kernel_sizes, dilations):
    seen, jump = 1, 1
    for kernel, dilation in zip(kernel_sizes, dilations, strict=True):
        seen += (kernel - 1) * jump
        jump *= dilation
    return seen


def path_length(architecture, n, kernel=None):
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    layers, reach = 0, 1
    while reach < n:
        reach *= kernel
        layers += 1
    return layers
