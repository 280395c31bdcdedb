"""Uses a floor instead of eps, or the length of the vector instead of its root mean square."""


def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / centred.square().mean(-1, keepdim=True).clamp(min=eps).sqrt() + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(0)
    return gamma * centred / centred.square().mean(0).clamp(min=eps).sqrt() + beta


def rms_norm(x, gamma, eps=1e-6):
    return gamma * x / (x.norm(dim=-1, keepdim=True) + eps)
