"""Row by row, token by token, in plain Python where that is possible."""

import math

import torch


def hard_attention(q, k, v, mask=None):
    lead = q.shape[:-2]
    n_query, n_key = q.shape[-2], k.shape[-2]
    allowed = torch.ones(*lead, n_query, n_key, dtype=torch.bool, device=q.device)
    if mask is not None:
        allowed = allowed & mask
    flat = [t.reshape(-1, *t.shape[-2:]) for t in (q, k, v, allowed)]
    outputs, weights = [], []
    for qs, ks, vs, may in zip(*flat, strict=True):
        for i in range(n_query):
            scores = [float(qs[i] @ ks[j]) for j in range(n_key)]
            top = max(s for j, s in enumerate(scores) if may[i, j])
            best = [j for j, s in enumerate(scores) if may[i, j] and s == top]
            row = torch.zeros_like(ks[:, 0])
            row[best] = 1 / len(best)
            weights.append(row)
            outputs.append(sum(vs[j] for j in best) / len(best))
    return torch.stack(outputs).reshape(*lead, n_query, -1), torch.stack(weights).reshape(*lead, n_query, n_key)


def select_aggregate(queries, keys, values, predicate, default=0.0):
    found = []
    n = keys.shape[-1]
    rows = zip(queries.reshape(-1, queries.shape[-1]), keys.reshape(-1, n), values.reshape(-1, n), strict=True)
    for some_queries, some_keys, some_values in rows:
        for query in some_queries:
            chosen = [x for key, x in zip(some_keys, some_values, strict=True) if predicate(query, key)]
            found.append(sum(chosen) / len(chosen) if chosen else torch.full_like(values.reshape(-1)[0], default))
    return torch.stack(found).reshape(queries.shape)


def bracket_state(ids):
    states = torch.empty_like(ids)
    for row, out in zip(ids.reshape(-1, ids.shape[-1]), states.view(-1, ids.shape[-1]), strict=True):
        depth, lost = 0, False
        for t, token in enumerate(row.tolist()):
            if token == 1:
                depth += 1
            elif token == 2:
                depth -= 1
            if depth < 0:
                lost = True
            out[t] = 2 if lost else 1 if depth else 0
    return states


def offset_head(k, d_model, beta, base=10000.0):
    w_q = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        angle = k / base ** (i / d_model)
        w_q[i, i] = w_q[i + 1, i + 1] = beta * math.cos(angle)
        w_q[i, i + 1] = -beta * math.sin(angle)
        w_q[i + 1, i] = beta * math.sin(angle)
    return w_q, torch.eye(d_model)


def boolean_ffn(table):
    cases = len(table)
    n = int(math.log2(cases))
    up, bias = [], []
    for case in range(cases):
        bits = [int(c) for c in format(case, f"0{n}b")]
        up.append([1.0 if b else -1.0 for b in bits])
        bias.append(1.0 - sum(bits))
    options = {"dtype": table.dtype, "device": table.device}
    return torch.tensor(up, **options), torch.tensor(bias, **options), table * 1


def induction_head(ids, vocab):
    rows = []
    for text in ids.reshape(-1, ids.shape[-1]).tolist():
        for t, token in enumerate(text):
            votes = [0.0] * vocab
            followers = [text[u + 1] for u in range(t) if text[u] == token]
            for follower in followers:
                votes[follower] += 1 / len(followers)
            rows.append(votes)
    return torch.tensor(rows, device=ids.device).reshape(*ids.shape, vocab)


def rank_residual(x):
    found = []
    for matrix in x.reshape(-1, *x.shape[-2:]):
        mean = sum(matrix) / len(matrix)
        left = sum(((row - mean) ** 2).sum() for row in matrix)
        found.append((left / (matrix**2).sum()) ** 0.5)
    return torch.stack(found).reshape(x.shape[:-2])
