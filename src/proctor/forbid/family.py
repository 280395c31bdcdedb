"""What an exercise does not allow: one forbidden thing in all its spellings.

`F.softmax`, `torch.softmax`, `Tensor.softmax`, `nn.Softmax`, `torch.ops.aten.softmax` all end in an operator of the
same base name; torch's own versions in Python (`torch._refs`, `torch._decomp`, quantizable twins) have it in their
names, too. It is the call that counts (`proctor.forbid.replace`), not a mention.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import torch


@dataclass(frozen=True)
class Family:
    """One forbidden thing.

    Args:
        title: how to speak of it.
        words: an operator of torch, or a function or method (`Class.method`) in torch's own Python files, is it if one
            of these is in its name.
        contained: names of operators that do more than it, but contain it.
    """

    title: str
    words: frozenset[str]
    contained: frozenset[str] = frozenset()

    @classmethod
    def of(cls, title: str, *words: str, contained: Iterable[str] = ()) -> Family:
        return cls(title, frozenset(words), frozenset(contained))

    @property
    def operators(self) -> frozenset[str]:
        """The base names of all operators that are it, or contain it, in the torch that is installed."""
        return _operators(self)

    def names(self, function: str) -> str:
        """How to speak of a call of this function or operator; empty if it is allowed."""
        if any(word in function for word in self.words) and "backward" not in function and function not in SPARED:
            return self.title
        return f"`{function}` (it contains {self.title})" if function in self.contained else ""


# names that have a family's word in them and are something else
SPARED = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits", "_cudnn_init_dropout_state"})


@cache
def operators_by_name() -> dict[str, tuple[str, ...]]:
    """Base name -> full names of all registered operators: `softmax` -> `aten::softmax.int`, …"""
    found: dict[str, list[str]] = {}
    for full in torch._C._dispatch_get_all_op_names():
        found.setdefault(full.partition("::")[2].partition(".")[0], []).append(full)
    return {name: tuple(full) for name, full in found.items()}


@cache
def _operators(family: Family) -> frozenset[str]:
    return frozenset(name for name in operators_by_name() if family.names(name))


FUSED = (
    "scaled_dot_product_attention", "_scaled_dot_product_attention_math", "_scaled_dot_product_attention_math_for_mps",
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable", "_flash_attention_forward", "_efficient_attention_forward",
    "_cudnn_attention_forward", "_flash_attention_forward_no_dropout_inplace", "_native_multi_head_attention",
    "_triton_multi_head_attention", "_triton_scaled_dot_attention", "_transformer_encoder_layer_fwd",
)  # fmt: skip
POINTWISE = (
    "_linear_pointwise", "_convolution_pointwise", "_convolution_pointwise_", "_convolution_transpose_pointwise",
    "qlinear_pointwise", "qconv_pointwise", "qconv1d_pointwise", "qconv2d_pointwise", "qconv3d_pointwise",
    "_addmm_activation", "_transformer_encoder_layer_fwd",
)  # fmt: skip

SOFTMAX = Family.of("torch's own softmax", "softmax", "softmin", contained=(*FUSED, "cross_entropy_loss"))
FUSED_ATTENTION = Family.of(
    "torch's fused attention",
    "scaled_dot_product", "flash_attention", "efficient_attention", "cudnn_attention", "scaled_dot_attention",
    "flex_attention", "varlen_attn",
)  # fmt: skip
MULTIHEAD = Family.of(
    "nn.MultiheadAttention",
    "multi_head_attention", "MultiheadAttention.forward", "MultiheadAttention._forward_impl",
    contained=("_transformer_encoder_layer_fwd",),
)  # fmt: skip
LAYER_NORM = Family.of(
    "torch's own layer norm", "layer_norm", "group_norm", "rms_norm", contained=("_transformer_encoder_layer_fwd",)
)
RMS_NORM = Family.of("torch's own RMS norm", "rms_norm")
BATCH_NORM = Family.of("torch's own batch norm", "batch_norm", "instance_norm")
GELU = Family.of("torch's own GELU", "gelu", contained=POINTWISE)
DROPOUT = Family.of("torch's own dropout", "dropout")
CROSS_ENTROPY = Family.of("torch's own cross-entropy", "cross_entropy")
RECURRENT = Family.of(
    "torch's own recurrent cells",
    "rnn_tanh", "rnn_relu", "lstm", "gru_cell", "_rnn", "rnn_layer", "LSTM.forward", "LSTMCell.forward",
)  # fmt: skip


def families() -> list[Family]:
    """All that are named here."""
    return [family for family in globals().values() if isinstance(family, Family)]
