"""Writes a constant where eps belongs."""


def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(0)
    return gamma * centred / (centred.square().mean(0) + 1e-5).sqrt() + beta


def rms_norm(x, gamma, eps=1e-6):
    return gamma * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    sigma = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    unit, pull = centred / sigma, grad * gamma
    dx = (pull - pull.mean(-1, keepdim=True) - unit * (pull * unit).mean(-1, keepdim=True)) / sigma
    return dx, (grad * unit).reshape(-1, len(gamma)).sum(0), grad.reshape(-1, len(gamma)).sum(0)
