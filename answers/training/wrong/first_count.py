"""Takes the first batch's size for everybody's."""


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    total, size, number = 0.0, None, 0
    for batch in batches:
        loss, count = loss_sum(model, batch)
        size = size or count
        (loss / size).backward()
        total, number = total + loss.item() / size, number + 1
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= number
    return total / number
