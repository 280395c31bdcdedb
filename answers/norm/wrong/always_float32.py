"""Gives float32 whatever came in."""


def layer_norm(x, gamma, beta, eps=1e-5):
    x = x.float()
    centred = x - x.mean(-1, keepdim=True)
    return gamma.float() * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + beta.float()


def batch_norm(x, gamma, beta, eps=1e-5):
    x = x.float()
    centred = x - x.mean(0)
    return gamma.float() * centred / (centred.square().mean(0) + eps).sqrt() + beta.float()


def rms_norm(x, gamma, eps=1e-6):
    x = x.float()
    return gamma.float() * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
