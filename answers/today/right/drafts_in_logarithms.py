"""In logarithms."""
import torch


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)
    out = []
    for t in range(len(drafted)):
        x = int(drafted[t])
        ratio = torch.exp(torch.log(p[t, x]) - torch.log(q[t, x]))
        if u[t] < ratio:
            out.append(x)
        else:
            rest = torch.relu(p[t] - q[t])
            out.append(int(torch.multinomial(rest / rest.sum(), 1, generator=generator)))
            return out
    out.append(int(torch.multinomial(p[len(drafted)], 1, generator=generator)))
    return out
