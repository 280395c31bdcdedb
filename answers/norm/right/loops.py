"""One vector after the other."""

import torch


def one(vector, gamma, beta, eps):
    mean = vector.sum() / len(vector)
    variance = sum((component - mean) ** 2 for component in vector) / len(vector)
    return torch.stack(
        [g * (c - mean) / (variance + eps) ** 0.5 + b for c, g, b in zip(vector, gamma, beta, strict=True)]
    )


def layer_norm(x, gamma, beta, eps=1e-5):
    rows = [one(vector, gamma, beta, eps) for vector in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)


def batch_norm(x, gamma, beta, eps=1e-5):
    columns = []
    for j in range(x.shape[1]):
        column = x[:, j]
        centred = column - column.mean()
        columns.append(gamma[j] * centred / ((centred * centred).mean() + eps).sqrt() + beta[j])
    return torch.stack(columns, dim=1)


def rms_norm(x, gamma, eps=1e-6):
    rows = []
    for vector in x.reshape(-1, x.shape[-1]):
        rows.append(vector / ((vector @ vector) / len(vector) + eps).sqrt() * gamma)
    return torch.stack(rows).view_as(x)


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    d = x.shape[-1]
    dx, dgamma, dbeta = [], torch.zeros_like(gamma), torch.zeros_like(gamma)
    for g, vector in zip(grad.reshape(-1, d), x.reshape(-1, d), strict=True):
        centred = vector - vector.mean()
        sigma = (centred.square().mean() + eps).sqrt()
        unit = centred / sigma
        pull = g * gamma
        dx.append((pull - pull.mean() - unit * (pull @ unit) / d) / sigma)
        dgamma = dgamma + g * unit
        dbeta = dbeta + g
    return torch.stack(dx).reshape(x.shape), dgamma, dbeta
