"""A schedule that falls from the start."""


def noam_rate(step, d_model, warmup):
    return d_model**-0.5 * step**-0.5
