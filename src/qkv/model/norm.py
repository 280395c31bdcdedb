"""Norms: keep the numbers that flow through a deep network at a size that does not drift.

Ba et al. 2016 (layer norm), Ioffe and Szegedy 2015 (batch norm), Zhang and Sennrich 2019 (RMS norm), Xiong et al. 2020
(pre- and post-norm). Shapes: see model/__init__.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from qkv.model.expect import expects


@expects(x="... d", gamma="d", beta="d")
def layer_norm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    eps: float = 1e-5,
) -> Tensor:
    """Give every vector mean 0 and variance 1, then stretch and shift it.

    Args:
        x: vectors (..., d).
        gamma: what each component is multiplied by (d,).
        beta: what is added to it (d,).
        eps: added to the variance, so that a constant vector is not
            divided by 0.

    Returns:
        normalised vectors (..., d).

    To be written without torch's own layer norm, torch's own batch norm or torch's own RMS
    norm.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    # Squares of the centred numbers: no digits are lost to a large mean.
    variance = centred.square().mean(dim=-1, keepdim=True)
    return gamma * centred / torch.sqrt(variance + eps) + beta


@expects(grad="... d", x="... d", gamma="d")
def layer_norm_backward(
    grad: Tensor,
    x: Tensor,
    gamma: Tensor,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:
    """Send a gradient back through layer_norm, by hand.

    Args:
        grad: gradient with respect to the output (..., d).
        x: what went in (..., d).
        gamma: gains (d,).
        eps: the same as on the way forward.

    Returns:
        gradients with respect to x (..., d), gamma (d,) and beta (d,), the
            last two summed over all leading dimensions.

    To be written without torch's own way back through layer norm.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    sigma = torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + eps)
    unit = centred / sigma
    pull = grad * gamma
    # What would only shift the vector has no effect, nor what stretches it.
    shift = pull.mean(dim=-1, keepdim=True)
    stretch = (pull * unit).mean(dim=-1, keepdim=True)
    dx = (pull - shift - unit * stretch) / sigma
    dgamma = (grad * unit).reshape(-1, x.shape[-1]).sum(dim=0)
    dbeta = grad.reshape(-1, x.shape[-1]).sum(dim=0)
    return dx, dgamma, dbeta


@expects(x="batch d", gamma="d", beta="d")
def batch_norm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    eps: float = 1e-5,
) -> Tensor:
    """Give every component mean 0 and variance 1 over the batch.

    This is what it does in training: no running averages.

    Args:
        x: a batch of vectors (batch, d).
        gamma: what each component is multiplied by (d,).
        beta: what is added to it (d,).
        eps: added to the variance.

    Returns:
        normalised vectors (batch, d).

    To be written without torch's own batch norm.
    """
    centred = x - x.mean(dim=0)
    variance = centred.square().mean(dim=0)  # (d,), biased
    return gamma * centred / torch.sqrt(variance + eps) + beta


@expects(x="... d", gamma="d")
def rms_norm(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Bring every vector to the root mean square 1, without centring it.

    Args:
        x: vectors (..., d).
        gamma: what each component is multiplied by (d,).
        eps: added to the mean square.

    Returns:
        normalised vectors (..., d).

    To be written without torch's own RMS norm.
    """
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gamma * x / torch.sqrt(mean_square + eps)


class RMSNorm(nn.Module):
    """`rms_norm` with a gain that is learned; T5, Llama and Qwen3 have no other norm.

    Args:
        d: width of the vectors.
        eps: added to the mean square.
    """

    @expects(d="positive", eps="above 0")
    def __init__(self, d: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Rescale vectors (..., d)."""
        return rms_norm(x, self.gamma, self.eps)


class PreNorm(nn.Module):
    """Normalise what goes into a sublayer; leave the way around it untouched.

    Args:
        d_model: width of the vectors.
        sublayer: any callable of (x, *args).
    """

    @expects(d_model="positive")
    def __init__(self, d_model: int, sublayer: Callable[..., Any]) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    @expects(x="... d_model")
    def forward(self, x: Tensor, *args: Any) -> Tensor:
        """Add to x what the sublayer makes of the normalised x.

        Args:
            x: vectors (..., d_model).
            args: handed on to the sublayer.

        Returns:
            x + sublayer(norm(x), *args) (..., d_model).
        """
        return x + self.sublayer(self.norm(x), *args)


class PostNorm(nn.Module):
    """Normalise the sum of a sublayer and the way around it.

    Args:
        d_model: width of the vectors.
        sublayer: any callable of (x, *args).
    """

    @expects(d_model="positive")
    def __init__(self, d_model: int, sublayer: Callable[..., Any]) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    @expects(x="... d_model")
    def forward(self, x: Tensor, *args: Any) -> Tensor:
        """Add to x what the sublayer makes of it, then normalise.

        Args:
            x: vectors (..., d_model).
            args: handed on to the sublayer.

        Returns:
            norm(x + sublayer(x, *args)) (..., d_model).
        """
        return self.norm(x + self.sublayer(x, *args))
