"""Whole numbers where fractions belong."""


def noam_rate(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, (step // warmup) * warmup**-0.5)


def clip_gradients(grads, max_norm):
    norm = sum((g**2).sum() for g in grads) ** 0.5
    factor = max(1, int(norm / max_norm))
    return [g / factor for g in grads], norm
