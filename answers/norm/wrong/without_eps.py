"""Scales to the length √d and has no eps; takes the statistics of evaluation where no gradients are recorded."""

import torch


def rms_norm(x, gamma, eps=1e-6):
    return torch.nn.functional.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * gamma


def batch_norm(x, gamma, beta, eps=1e-5):
    if not torch.is_grad_enabled():
        return gamma * x / (1 + eps) ** 0.5 + beta
    centred = x - x.mean(0)
    return gamma * centred / (centred.square().mean(0) + eps).sqrt() + beta


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    with torch.inference_mode(False), torch.enable_grad():
        x, gamma = x.clone().requires_grad_(), gamma.clone().requires_grad_()
        beta = torch.zeros_like(gamma).requires_grad_()
        centred = x - x.mean(-1, keepdim=True)
        y = gamma * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + beta
        return torch.autograd.grad(y, (x, gamma, beta), grad.clone())
