"""Takes the softmax over the text."""


def answer_loss(logits, ids, answer):
    log_p = logits[:, :-1].log_softmax(1).gather(-1, ids[:, 1:, None])[..., 0]
    return -log_p[answer[:, 1:]].mean()


def sequence_log_probability(logits, ids, answer):
    log_p = logits.log_softmax(1)[:, :-1].gather(-1, ids[:, 1:, None])[..., 0]
    return (log_p * answer[:, 1:]).sum(-1)
