import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def softmax(scores, dim):
    return F.softmax(scores, dim=dim)


def similarity_scores(q, k):
    return q @ k.transpose(-2, -1)


def soft_lookup(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=1.0)


def scaled_dot_product_attention(q, k, v, mask=None):
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out, torch.softmax(q @ k.mT / math.sqrt(k.size(-1)), -1)
