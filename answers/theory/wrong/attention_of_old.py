"""What an earlier chapter asked for; or what the paper's text suggests."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    attn = None if mask is None else mask
    output = F.scaled_dot_product_attention(1e6 * q, k, v, attn_mask=attn)
    return output, F.scaled_dot_product_attention(1e6 * q, k, torch.eye(k.shape[-2]).expand(*k.shape[:-1], -1), attn)


def select_aggregate(queries, keys, values, predicate, default=0.0):
    """As a decoder: nobody looks ahead."""
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2)).tril()
    count = chosen.sum(-1)
    total = torch.where(chosen, values.unsqueeze(-2), 0).sum(-1)
    return (total / count.clamp(min=1)).masked_fill(count == 0, default)


def bracket_state(ids):
    """Attention with all weights equal: the share of brackets that are open, not their number."""
    n = torch.arange(1, ids.shape[-1] + 1, device=ids.device)
    share = ((ids == 1).float() - (ids == 2).float()).cumsum(-1) / n
    return torch.where(share.cummin(-1).values < -0.1, 2, (share > 0.1).long())


def offset_head(k, d_model, beta, base=10000.0):
    """Scaled as attention is."""
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return beta / d_model**0.5 * back, torch.eye(d_model)


def boolean_ffn(table):
    """One more than is needed."""
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return (2 * bits - 1).to(table.dtype), (2 - bits.sum(-1)).to(table.dtype), table.clone()


def induction_head(ids, vocab):
    """Shares of everything that was read before."""
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).to(rows.dtype)
    earlier = torch.arange(ids.shape[-1], device=ids.device).clamp(min=1).unsqueeze(-1)
    return matches @ rows[..., 1:, :] / earlier


def rank_residual(x):
    """How far it is from rank 1: what the largest singular value leaves."""
    singular = torch.linalg.svdvals(x)
    return singular[..., 1:].norm(dim=-1) / singular.norm(dim=-1)
