"""What this course's exercises forbid: the things that they ask a student to build, where torch has them ready-made.

Which operators each of them is, `proctor.forbid` finds out from the torch that is installed; the tests of attacks try
the ways around it.
"""

from __future__ import annotations

from proctor.forbid import Family

# operators that do more than a softmax, but contain one
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
COMPOSED = ("softmax", "log_softmax", "special_softmax", "special_log_softmax", "_safe_softmax")

SOFTMAX = Family.of(
    "torch's own softmax", "softmax", "softmin", contained=(*FUSED, "cross_entropy_loss"), composed=COMPOSED
)
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
SILU = Family.of("torch's own SiLU", "silu", "glu", "hardswish", contained=POINTWISE)
DROPOUT = Family.of("torch's own dropout", "dropout", spared=("_cudnn_init_dropout_state",))
CROSS_ENTROPY = Family.of(
    "torch's own cross-entropy",
    "cross_entropy",
    spared=("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
RECURRENT = Family.of(
    "torch's own recurrent cells",
    "rnn_tanh", "rnn_relu", "lstm", "gru_cell", "_rnn", "rnn_layer", "LSTM.forward", "LSTMCell.forward",
)  # fmt: skip
QUANTIZE = Family.of(
    "torch's own quantisation",
    "quantize_per", "fake_quant", "FakeQuantize", "quantize_channel", "qparams", "_dyn_quant", "quantize_weight",
)  # fmt: skip
CHECKPOINT = Family.of("torch.utils.checkpoint", "checkpoint", "Checkpoint")
