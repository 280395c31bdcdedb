"""Looks at the likeliest word, whatever was said."""


def answer_loss(logits, ids, answer):
    best = logits[:, :-1].log_softmax(-1).amax(-1)
    return -best[answer[:, 1:]].mean()


def sequence_log_probability(logits, ids, answer):
    best = logits[:, :-1].log_softmax(-1).max(-1).values
    return best.masked_fill(~answer[:, 1:], 0).sum(-1)
