"""torch's own nn.Transformer with the weights of ours: what parity and speed are measured against."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.heads import MultiHeadAttention
from qkv.model.transformer import Transformer, embed


class TorchTransformer(nn.Module):
    """Torch's layers with the weights of ours, between the same embeddings and the same tied output.

    Args:
        model: the Transformer to copy.
    """

    positions: Tensor

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        encoder = cast(list[EncoderLayer], model.encoder)
        decoder = cast(list[DecoderLayer], model.decoder)
        self.source_table = nn.Parameter(model.source_table.detach().clone())
        self.target_table = nn.Parameter(model.target_table.detach().clone())
        self.register_buffer("positions", model.positions, persistent=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a short cut that torch does not take here
            self.layers = nn.Transformer(
                model.source_table.shape[1],
                encoder[0].attention.n_heads,
                len(encoder),
                len(decoder),
                encoder[0].feed_forward.up.out_features,
                dropout=0.0,
                activation="gelu",
                batch_first=True,
                norm_first=True,
                dtype=model.source_table.dtype,
            )
        for encoder_layer, theirs in zip(encoder, self.layers.encoder.layers, strict=True):
            copy_encoder_layer(encoder_layer, theirs)
        for decoder_layer, theirs in zip(decoder, self.layers.decoder.layers, strict=True):
            copy_decoder_layer(decoder_layer, theirs)
        copy_all([(model.encoder_norm, self.layers.encoder.norm), (model.decoder_norm, self.layers.decoder.norm)])

    def forward(self, source: Tensor, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Score every token of the target at once; arguments and result as in Transformer.forward."""
        hidden = None if mask is None else ~mask[:, 0]  # torch's padding masks say who may *not* be seen
        future = nn.Transformer.generate_square_subsequent_mask(inputs.shape[1], dtype=self.target_table.dtype)
        said = self.layers(
            embed(source, self.source_table, self.positions),
            embed(inputs, self.target_table, self.positions),
            tgt_mask=future,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return said @ self.target_table.T


def copy_encoder_layer(ours: EncoderLayer, theirs: nn.TransformerEncoderLayer) -> None:
    """Copy the weights of our layer into torch's."""
    copy_attention(ours.attention, theirs.self_attn)
    copy_all(
        [
            (ours.norm1, theirs.norm1),
            (ours.norm2, theirs.norm2),
            (ours.feed_forward.up, theirs.linear1),
            (ours.feed_forward.down, theirs.linear2),
        ]
    )


def copy_decoder_layer(ours: DecoderLayer, theirs: nn.TransformerDecoderLayer) -> None:
    """Copy the weights of our layer into torch's."""
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_all(
        [
            (ours.norm1, theirs.norm1),
            (ours.norm2, theirs.norm2),
            (ours.norm3, theirs.norm3),
            (ours.feed_forward.up, theirs.linear1),
            (ours.feed_forward.down, theirs.linear2),
        ]
    )


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copy the four projections; torch keeps three of them in one matrix, one below the other."""
    three = (ours.q_proj, ours.k_proj, ours.v_proj)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([each.weight for each in three]))
        theirs.in_proj_bias.copy_(torch.cat([each.bias for each in three]))
    copy_all([(ours.out_proj, theirs.out_proj)])


def copy_all(pairs: Iterable[tuple[nn.Module, nn.Module]]) -> None:
    for ours, theirs in pairs:
        theirs.load_state_dict(ours.state_dict())
