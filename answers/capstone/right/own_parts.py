"""Nothing from the course but the network: positions by a matrix, a mask by comparison, a loss by one product."""

import torch
from torch import nn

from qkv.model.blocks import FeedForward, gelu


def turn_matrix(n, d, like):
    """For each position the matrix (d, d) that turns every pair of neighbours."""
    wide = torch.promote_types(like.dtype, torch.float32)
    pair = torch.arange(d // 2, device=like.device)
    angle = torch.arange(n, device=like.device, dtype=wide)[:, None] * 10000.0 ** (-2.0 * pair.to(wide) / d)
    turn = torch.zeros(n, d, d, device=like.device, dtype=wide)
    turn[:, 2 * pair, 2 * pair] = turn[:, 2 * pair + 1, 2 * pair + 1] = angle.cos()
    turn[:, 2 * pair + 1, 2 * pair] = angle.sin()
    turn[:, 2 * pair, 2 * pair + 1] = -angle.sin()
    return turn.to(like.dtype)


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        batch, seq, d_model = x.shape
        d = d_model // self.n_heads
        q, k, v = (p(x).view(batch, seq, self.n_heads, d).permute(0, 2, 1, 3) for p in self.projections())
        turn = turn_matrix(seq, d, x)
        q, k = ((turn @ y.unsqueeze(-1)).squeeze(-1) for y in (q, k))
        scores = torch.matmul(q, k.permute(0, 1, 3, 2)) / d**0.5
        if mask is not None:
            while mask.dim() < 3:
                mask = mask.unsqueeze(0)
            scores = scores.masked_fill(mask.unsqueeze(1) == False, -torch.inf)  # noqa: E712
        highest = scores.amax(-1, keepdim=True)
        powers = (scores - highest).exp()
        mixed = powers / powers.sum(-1, keepdim=True) @ v
        return self.out_proj(mixed.permute(0, 2, 1, 3).reshape(batch, seq, d_model))

    def projections(self):
        return self.q_proj, self.k_proj, self.v_proj


class TinyGPT(nn.Module):
    def __init__(self, vocab, d_model, n_heads, n_layers, d_ff):
        super().__init__()
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            parts = {
                "norm1": nn.LayerNorm(d_model),
                "attention": RotaryAttention(d_model, n_heads),
                "norm2": nn.LayerNorm(d_model),
                "feed_forward": FeedForward(d_model, d_ff, gelu),
            }
            self.layers.append(nn.ModuleDict(parts))
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, vocab, bias=False)

    def forward(self, ids):
        t = torch.arange(ids.shape[1], device=ids.device)
        x = self.tokens.weight[ids]
        for layer in self.layers.children():
            norm1, attention, norm2, feed_forward = (layer[n] for n in ("norm1", "attention", "norm2", "feed_forward"))
            middle = x + attention(norm1(x), t.unsqueeze(1).ge(t))
            x = middle + feed_forward(norm2(middle))
        return self.norm(x) @ self.out.weight.T


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    chosen = [(b, t) for b, n in enumerate(lengths.tolist()) for t in range(1, n)]
    rows = torch.stack([logits[b, t - 1] for b, t in chosen])
    said = torch.stack([ids[b, t] for b, t in chosen])
    one_hot = nn.functional.one_hot(said, rows.shape[-1]).to(rows.dtype)
    return -(one_hot * rows.log_softmax(-1)).sum() / len(chosen)


class Writer:
    def __init__(self, model, context, generator, temperature):
        self.model, self.context, self.generator, self.temperature = model, context, generator, temperature

    def next(self, text):
        logits = self.model(torch.as_tensor(text[-self.context :]).unsqueeze(0)).detach()[0, -1]
        if self.temperature == 0.0:
            return (logits == logits.max()).nonzero()[0].item()
        p = logits.div(self.temperature).softmax(0)
        return p.multinomial(1, generator=self.generator).item()


def write_story(model, prompt, end, max_new, context, generator, temperature=1.0):
    writer, text = Writer(model, context, generator, temperature), list(prompt)
    limit = len(text) + max_new
    while len(text) < limit:
        text.append(writer.next(text))
        if text[-1] == end:
            break
    return text[len(prompt) :]
