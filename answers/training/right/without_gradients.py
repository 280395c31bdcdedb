"""Under no_grad, in float32 inside, and through numpy where nothing forbids it."""

import numpy as np
import torch


@torch.no_grad()
def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    g, m, v = grad.float(), m.float(), v.float()
    m = torch.lerp(g, m, beta1)
    v = torch.lerp(g * g, v, beta2)
    change = rate / (1 - beta1**step) * m / ((v / (1 - beta2**step)).sqrt() + eps)
    return tuple(t.to(p.dtype) for t in (p.float() - change, m, v))


@torch.no_grad()
def clip_gradients(grads, max_norm):
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g.float()) for g in grads]))
    factor = (max_norm / norm).nan_to_num(1.0).clamp(max=1.0) if norm != 0 else 1.0
    return [(g.float() * factor).to(g.dtype) for g in grads], norm.to(grads[0].dtype)


class Rate:
    def __call__(self, step, d_model, warmup):
        return np.float64(d_model) ** -0.5 * np.minimum(step**-0.5, step / warmup**1.5)


noam_rate = Rate()
