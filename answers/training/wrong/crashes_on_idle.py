"""Takes it for granted that every parameter has a gradient, and an optimiser that changes its arguments."""


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    total, tokens = 0.0, 0
    for batch in batches:
        loss, count = loss_sum(model, batch)
        loss.backward()
        total, tokens = total + loss.item(), tokens + count
    for p in model.parameters():
        p.grad.mul_(1 / tokens)
    return total / tokens


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m.mul_(beta1).add_((1 - beta1) * grad)
    v.mul_(beta2).add_((1 - beta2) * grad**2)
    return p - rate * m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps), m, v
