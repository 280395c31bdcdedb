"""Reads the batches twice: once to count, once to learn."""


def accumulate_gradients(model, loss_sum, batches):
    tokens = sum(loss_sum(model, batch)[1] for batch in batches)
    model.zero_grad()
    total = 0.0
    for batch in batches:
        loss, _ = loss_sum(model, batch)
        (loss / tokens).backward()
        total += loss.item() / tokens
    return total
