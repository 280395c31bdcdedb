"""Groups run on from row to row."""

import torch
import torch.nn.functional as F


def quantize_groups(weight, bits, group):
    top = 2 ** (bits - 1) - 1
    flat = F.pad(weight.float().flatten(), (0, -weight.numel() % group)).view(-1, group)
    scales = flat.abs().amax(-1) / top
    codes = (flat / torch.where(scales > 0, scales, 1)[:, None]).round().flatten()[: weight.numel()]
    n = -(-weight.shape[1] // group)
    return codes.view(weight.shape).char(), F.pad(scales, (0, max(0, len(weight) * n - len(scales))))[
        : len(weight) * n
    ].view(len(weight), n).to(weight.dtype)
