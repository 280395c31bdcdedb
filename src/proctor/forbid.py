"""What an exercise does not allow, found by what was *called*, whatever it is called.

A `Family` is one forbidden thing in all its spellings: `F.softmax`, `torch.softmax`, `Tensor.softmax`, `nn.Softmax`,
`torch.ops.aten.softmax` all end in an operator of the same base name. Calls are seen twice: by torch's function mode,
which
sees each call of the Python interface, and by its dispatch mode, which sees the kernels that run underneath.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True)
class Family:
    """One forbidden thing: how to speak of it, and the operator names that are it."""

    title: str
    operators: frozenset[str]

    @classmethod
    def of(cls, title: str, *operators: str) -> Family:
        return cls(title, frozenset(operators))


SOFTMAX = Family.of(
    "torch's own softmax",
    "softmax", "_softmax", "log_softmax", "_log_softmax", "safe_softmax", "_safe_softmax", "softmin", "gumbel_softmax",
    "cross_entropy", "cross_entropy_loss",
    "softmax_int", "special_softmax", "special_log_softmax", "_sparse_softmax", "_masked_softmax",
)  # fmt: skip
FUSED_ATTENTION = Family.of(
    "torch's fused attention",
    "scaled_dot_product_attention", "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_fused_attention_overrideable",
    "_scaled_dot_product_attention_math_for_mps", "_flash_attention_forward", "_efficient_attention_forward",
    "flex_attention", "varlen_attn", "_varlen_attn",
)  # fmt: skip
MULTIHEAD = Family.of(
    "nn.MultiheadAttention",
    "multi_head_attention_forward", "_native_multi_head_attention", "_transformer_encoder_layer_fwd",
)  # fmt: skip
LAYER_NORM = Family.of(
    "torch's own layer norm",
    "layer_norm", "native_layer_norm", "_fused_rms_norm", "group_norm", "native_group_norm",
)  # fmt: skip
RMS_NORM = Family.of("torch's own RMS norm", "rms_norm", "_fused_rms_norm")
BATCH_NORM = Family.of(
    "torch's own batch norm",
    "batch_norm", "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
    "_batch_norm_with_update", "_batch_norm_impl_index", "cudnn_batch_norm", "miopen_batch_norm", "instance_norm",
)  # fmt: skip
GELU = Family.of("torch's own GELU", "gelu", "gelu_")
DROPOUT = Family.of(
    "torch's own dropout",
    "dropout", "dropout_", "native_dropout", "_fused_dropout", "feature_dropout", "alpha_dropout",
)  # fmt: skip
CROSS_ENTROPY = Family.of("torch's own cross-entropy", "cross_entropy", "cross_entropy_loss", "kl_div")
RECURRENT = Family.of(
    "torch's own recurrent cells",
    "rnn_tanh_cell", "rnn_tanh", "lstm_cell", "lstm", "_thnn_fused_lstm_cell", "mkldnn_rnn_layer",
)  # fmt: skip


def _name(function: Any) -> str:
    packet = getattr(function, "overloadpacket", None)
    name = getattr(packet or function, "__name__", "")
    return str(name).split(".")[0]


class _Calls(TorchFunctionMode):
    def __init__(self, families: tuple[Family, ...], called: list[str]) -> None:
        super().__init__()
        self.families, self.called = families, called

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        note(func, self.families, self.called)
        return func(*args, **(kwargs or {}))


class _Kernels(TorchDispatchMode):
    def __init__(self, families: tuple[Family, ...], called: list[str]) -> None:
        super().__init__()
        self.families, self.called = families, called

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        note(func, self.families, self.called)
        return func(*args, **(kwargs or {}))


def note(function: Any, families: tuple[Family, ...], called: list[str]) -> None:
    """Remember the title of the family that this function belongs to, once."""
    name = _name(function)
    for family in families:
        if name in family.operators and family.title not in called:
            called.append(family.title)


@contextmanager
def recording(families: tuple[Family, ...], called: list[str]) -> Iterator[None]:
    """Append to `called` the title of each family that is used inside the block."""
    with _Calls(families, called), _Kernels(families, called):
        yield
