"""The layout of Llama and of Qwen3, which is Llama's with queries and keys normalised.

Three things do not show in names and shapes. Their heads turn column i with column i + d/2, ours neighbours, so rows of
the projections to q and k are permuted, and the gains of the norms behind them. How fast the pairs turn stands in
config.json, in one of two spellings. And a file whose output is its table of tokens has no `lm_head.weight`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from qkv.model.today import Llama, stretched_frequencies
from qkv.pretrained.checkpoint import CheckpointError, Config
from qkv.pretrained.parts import Convert, Part, plain

QWEN3_D_HEAD = 128  # what a file of Qwen3 means that does not say head_dim
SPELLINGS = ("rope_parameters", "rope_scaling")  # since version 5 of `transformers`, and before
ROPES = ("default", "linear", "llama3")


def pairs(d_head: int) -> Convert:
    """Rows of theirs, i and i + d/2 of each head, to ours, 2i and 2i+1; one head is a gain (d_head,)."""

    def convert(tensor: Tensor) -> Tensor:
        heads: Tensor = tensor.unflatten(0, (-1, 2, d_head // 2))
        return heads.transpose(1, 2).flatten(0, 2)

    return convert


def llama(config: Config, names: set[str]) -> nn.Module:
    return _model(config, qk_norm=False)


def qwen3(config: Config, names: set[str]) -> nn.Module:
    config.always("use_sliding_window", False)
    return _model(config, qk_norm=True)


def _model(config: Config, qk_norm: bool) -> nn.Module:
    for name in ("attention_bias", "mlp_bias"):
        config.always(name, False)
    config.always("hidden_act", "silu")
    _all_see_everything(config)
    return Llama(
        vocab=config.size("vocab_size"),
        d_model=config.size("hidden_size"),
        n_heads=config.size("num_attention_heads"),
        n_groups=_n_groups(config),
        n_layers=config.size("num_hidden_layers"),
        d_ff=config.size("intermediate_size"),
        d_head=_d_head(config),
        qk_norm=qk_norm,
        tied=_tied(config),
        eps=_above_0(config, "rms_norm_eps", 1e-6),
    )


def llama_parts(config: Config, names: set[str]) -> Iterator[Part]:
    d, d_ff, vocab = config.size("hidden_size"), config.size("intermediate_size"), config.size("vocab_size")
    d_head = _d_head(config)
    d_q, d_k = d_head * config.size("num_attention_heads"), d_head * _n_groups(config)
    yield plain("model.embed_tokens.weight", "tokens.weight", vocab, d)
    for i in range(config.size("num_hidden_layers")):
        theirs, ours = f"model.layers.{i}", f"layers.{i}"
        attention, feed_forward = f"{ours}.attention", f"{ours}.feed_forward"
        yield plain(f"{theirs}.input_layernorm.weight", f"{ours}.norm1.gamma", d)
        for name, rows in {"q_proj": d_q, "k_proj": d_k}.items():
            targets = {f"{attention}.{name}.weight": pairs(d_head)}
            yield Part(f"{theirs}.self_attn.{name}.weight", (rows, d), targets)
        yield plain(f"{theirs}.self_attn.v_proj.weight", f"{attention}.v_proj.weight", d_k, d)
        yield plain(f"{theirs}.self_attn.o_proj.weight", f"{attention}.out_proj.weight", d, d_q)
        yield plain(f"{theirs}.post_attention_layernorm.weight", f"{ours}.norm2.gamma", d)
        for name in ("gate", "up"):
            yield plain(f"{theirs}.mlp.{name}_proj.weight", f"{feed_forward}.{name}.weight", d_ff, d)
        yield plain(f"{theirs}.mlp.down_proj.weight", f"{feed_forward}.down.weight", d, d_ff)
    yield plain("model.norm.weight", "norm.gamma", d)
    if not _tied(config):
        yield plain("lm_head.weight", "out.weight", vocab, d)


def qwen3_parts(config: Config, names: set[str]) -> Iterator[Part]:
    yield from llama_parts(config, names)
    d_head = _d_head(config)
    for i in range(config.size("num_hidden_layers")):
        for name in ("q_norm", "k_norm"):
            targets = {f"layers.{i}.attention.{name}.gamma": pairs(d_head)}
            yield Part(f"model.layers.{i}.self_attn.{name}.weight", (d_head,), targets)


# What config.json says ------------------------------------------------------------------------------------------------


def _d_head(config: Config) -> int:
    if config.values.get("head_dim") is None:
        if config.values.get("model_type") == "qwen3":
            return QWEN3_D_HEAD
        config.sizes_divide("hidden_size", "num_attention_heads")
        d_head = config.size("hidden_size") // config.size("num_attention_heads")
    else:
        d_head = config.size("head_dim")
    if d_head % 2:
        raise CheckpointError(f"config.json gives a head {d_head} components, expected an even number: pairs turn.")
    return d_head


def _n_groups(config: Config) -> int:
    n_groups = config.size("num_key_value_heads", config.size("num_attention_heads"))
    if config.size("num_attention_heads") % n_groups:
        config.sizes_divide("num_attention_heads", "num_key_value_heads")
    return n_groups


def _tied(config: Config) -> bool:
    tied = config.values.get("tie_word_embeddings", False)
    if not isinstance(tied, bool):
        raise CheckpointError(f"config.json says tie_word_embeddings = {tied!r}, expected true or false.")
    return tied


def _all_see_everything(config: Config) -> None:
    kinds = config.values.get("layer_types") or []
    other = next((kind for kind in kinds if kind != "full_attention"), None)
    if other is not None:
        raise CheckpointError(
            f"config.json says that a layer is {other!r} (layer_types); in our module each is 'full_attention'. "
            "Choose a checkpoint without windows."
        )


def _above_0(config: Config, name: str, default: float | None = None) -> float:
    if default is None and name not in config.values:
        raise CheckpointError(f"config.json does not say {name}.")
    number = config.number(name, default or 0.0)
    if not 0 < number < float("inf"):
        raise CheckpointError(f"config.json says {name} = {number}, expected a number above 0.")
    return number


# How fast the pairs turn ----------------------------------------------------------------------------------------------


def speeds(config: Config) -> Mapping[str, Tensor]:
    """The buffer `frequencies`, by both spellings of config.json."""
    rope, d_head = Config(_rope(config)), _d_head(config)
    theta = _above_0(rope, "rope_theta", 10000.0)
    kind = rope.values.get("rope_type", rope.values.get("type", "default"))
    if kind not in ROPES:
        raise CheckpointError(
            f"config.json says rope_type = {kind!r}; we read {', '.join(ROPES)}. "
            "Choose a checkpoint whose positions are stretched in one of these ways, or not at all."
        )
    rope.always("partial_rotary_factor", 1.0)
    plainly = theta ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    if kind == "default":
        return {"frequencies": plainly}
    factor = _above_0(rope, "factor")
    if factor < 1:
        raise CheckpointError(f"config.json says factor = {factor}, expected 1 or more: texts get longer.")
    if kind == "linear":
        return {"frequencies": plainly / factor}
    slow, fast = _above_0(rope, "low_freq_factor"), _above_0(rope, "high_freq_factor")
    if fast <= slow:
        raise CheckpointError(
            f"config.json says high_freq_factor = {fast}, expected more than low_freq_factor = {slow}."
        )
    length = _above_0(rope, "original_max_position_embeddings")
    return {"frequencies": stretched_frequencies(d_head, factor, length, theta, slow, fast).double()}


def _rope(config: Config) -> dict[str, Any]:
    """What config.json says of positions, wherever it says it."""
    found: dict[str, Any] = {}
    for name in ("rope_theta", "partial_rotary_factor", "original_max_position_embeddings"):
        if config.values.get(name) is not None:
            found[name] = config.values[name]
    for spelling in reversed(SPELLINGS):
        rope = config.values.get(spelling) or {}
        if not isinstance(rope, dict) or any(isinstance(value, dict) for value in rope.values()):
            raise CheckpointError(
                f"config.json says {spelling} = {rope!r}; we read one way of turning for all layers, as named values."
            )
        found |= {name: value for name, value in rope.items() if value is not None}
    return found
