"""Knows a batch of exactly one dimension."""


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    sigma = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    unit, pull = centred / sigma, grad * gamma
    dx = (pull - pull.mean(-1, keepdim=True) - unit * (pull * unit).mean(-1, keepdim=True)) / sigma
    return dx, (grad * unit).sum(0), grad.sum(0)


def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(1, keepdim=True)
    return gamma * centred / (centred.square().mean(1, keepdim=True) + eps).sqrt() + beta


def rms_norm(x, gamma, eps=1e-6):
    return gamma * x / (x.square().mean(1, keepdim=True) + eps).sqrt()
