"""Products as einsum, halves by hand."""

import torch
from torch import nn

from qkv.model.norm import RMSNorm


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gate = torch.einsum("...d,fd->...f", x, self.gate.weight)
        up = torch.einsum("...d,fd->...f", x, self.up.weight)
        return torch.einsum("...f,df->...d", gate * up * (1 + torch.tanh(gate / 2)) / 2, self.down.weight)


class GroupedAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_groups, d_head, qk_norm=False, eps=1e-6):
        super().__init__()
        self.n_heads, self.n_groups, self.d_head = n_heads, n_groups, d_head
        self.q_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.k_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.v_proj = nn.Linear(d_model, n_groups * d_head, bias=False)
        self.out_proj = nn.Linear(n_heads * d_head, d_model, bias=False)
        self.q_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()
        self.k_norm = RMSNorm(d_head, eps) if qk_norm else nn.Identity()

    def forward(self, x, frequencies, cache=None):
        _, new, _ = x.shape
        share, d = self.n_heads // self.n_groups, self.d_head
        q = torch.einsum("bnm,gsdm->bgsnd", x, self.q_proj.weight.view(self.n_groups, share, d, -1))
        k = torch.einsum("bnm,gdm->bgnd", x, self.k_proj.weight.view(self.n_groups, d, -1))
        v = torch.einsum("bnm,gdm->bgnd", x, self.v_proj.weight.view(self.n_groups, d, -1))
        past = cache[0].shape[-2] if cache else 0
        angle = torch.outer(torch.arange(new, device=x.device) + past, frequencies)
        cos, sin = (t.repeat_interleave(2, -1).to(x.dtype) for t in (angle.cos(), angle.sin()))

        def turned(t):
            other = torch.stack([-t[..., 1::2], t[..., ::2]], -1).flatten(-2)
            return t * cos + other * sin

        q, k = turned(self.q_norm(q)), turned(self.k_norm(k))
        if cache:
            k, v = torch.cat((cache[0], k), -2), torch.cat((cache[1], v), -2)
        scores = torch.einsum("bgsnd,bgkd->bgsnk", q, k) / d**0.5
        future = torch.ones(scores.shape[-2:], device=x.device, dtype=torch.bool).triu(past + 1)
        mixed = torch.einsum("bgsnk,bgkd->bgsnd", scores.masked_fill(future, -torch.inf).softmax(-1), v)
        out = self.out_proj.weight.view(-1, self.n_groups, share, d)
        return torch.einsum("bgsnd,mgsd->bnm", mixed, out), [k, v]


def route_tokens(logits, k):
    n = logits.shape[-1]
    experts = torch.argsort(-logits, dim=-1, stable=True)[..., :k]
    weights = torch.take_along_dim(logits, experts, -1).softmax(-1)
    one_hot = torch.eye(n, device=logits.device, dtype=logits.dtype)[experts].reshape(-1, k, n)
    p = logits.softmax(-1).reshape(-1, n)
    tokens = len(p)
    f = torch.einsum("tke->e", one_hot) / (tokens * k)
    return weights, experts, n * torch.einsum("e,e->", f, p.mean(0))


def latent_attention(q, latent, w_k, w_v, q_turned, k_turned):
    asked = torch.einsum("bhnd,hdr->bhnr", q, w_k)
    scores = torch.einsum("bhnr,bkr->bhnk", asked, latent) + torch.einsum("bhnd,bkd->bhnk", q_turned, k_turned)
    scores = scores * (q.shape[-1] + k_turned.shape[-1]) ** -0.5
    n, m = scores.shape[-2:]
    seen = torch.arange(m, device=q.device) <= torch.arange(m - n, m, device=q.device)[:, None]
    weights = torch.where(seen, scores, -torch.inf).softmax(-1)
    mean = torch.einsum("bhnk,bkr->bhnr", weights, latent)
    return torch.einsum("bhnr,hvr->bhnv", mean, w_v)
