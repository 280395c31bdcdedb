"""Linear up, linear down."""


def noam_rate(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * step / warmup if step <= warmup else max(0.0, peak * (2 - step / warmup))
