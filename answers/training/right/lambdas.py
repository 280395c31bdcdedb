"""As short as it gets: lambdas, and conditional expressions."""

noam_rate = lambda step, d_model, warmup: min(step**-0.5, step / warmup**1.5) / d_model**0.5  # noqa: E731

clip_gradients = lambda grads, max_norm: (  # noqa: E731
    lambda norm: ([g * min(1.0, max_norm / max(norm, 1e-30)) for g in grads], norm)
)(float(sum((g.double() ** 2).sum() for g in grads)) ** 0.5)

adam_step = lambda p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9: (  # noqa: E731
    lambda m, v: (p - rate * m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps), m, v)
)(m * beta1 + grad * (1 - beta1), v * beta2 + grad**2 * (1 - beta2))
