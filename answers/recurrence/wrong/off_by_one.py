"""One layer or one step too many."""


def path_length(architecture, n, kernel=None):
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    return (n - 1) // (kernel - 1) + 1


def receptive_field(kernel_sizes, dilations):
    return len(kernel_sizes) + sum((k - 1) * d for k, d in zip(kernel_sizes, dilations, strict=True))
