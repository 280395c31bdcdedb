"""A square or a second root where one root belongs."""


def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return gamma * (x - mean) / (variance + eps) ** 2 + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(0)
    variance = ((x - mean) ** 2).mean(0)
    return gamma * ((x - mean) / torch_square(variance + eps)) + beta


def torch_square(t):
    return t * t


def rms_norm(x, gamma, eps=1e-6):
    return x / (x**2).mean(-1, keepdim=True).add(eps) * gamma
