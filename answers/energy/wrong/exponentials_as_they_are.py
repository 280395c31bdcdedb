"""The formula as it is printed: exponentials in the fraction, and the logarithm of that."""

import math

import torch
import torch.nn.functional as F


def info_nce(query, positive, negatives, temperature):
    near = torch.exp(F.cosine_similarity(query, positive, dim=-1) / temperature)
    far = torch.exp(F.cosine_similarity(query.unsqueeze(-2), negatives, dim=-1) / temperature)
    return -torch.log(near / (near + far.sum(dim=-1))).mean()


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else torch.exp(log_scale)
    images = images / images.norm(dim=-1, keepdim=True)
    texts = texts / texts.norm(dim=-1, keepdim=True)
    e = torch.exp(scale * images @ texts.T)
    rows, columns = e / e.sum(dim=1, keepdim=True), e / e.sum(dim=0, keepdim=True)
    return -(rows.diagonal().log().mean() + columns.diagonal().log().mean()) / 2
