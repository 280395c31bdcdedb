"""Which tensor of a file becomes which of our parameters, for each architecture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from qkv.model.blocks import gelu
from qkv.model.t5 import T5
from qkv.model.zoo import BERT, GPT2, ViT, gelu_tanh
from qkv.pretrained.checkpoint import Config
from qkv.pretrained.llama import llama, llama_parts, qwen3, qwen3_parts, speeds
from qkv.pretrained.parts import Layout, Part, linear, norm, plain, third, turned_linear

GELUS: dict[str, Any] = {"gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh, "relu": torch.relu}


# GPT-2 ----------------------------------------------------------------------------------------------------------------


def gpt2(config: Config, names: set[str]) -> nn.Module:
    config.sizes_divide("n_embd", "n_head")
    for name, value in {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False}.items():
        config.always(name, value)
    config.always("add_cross_attention", False)
    config.always("tie_word_embeddings", True)
    return GPT2(
        vocab=config.size("vocab_size"),
        length=config.size("n_positions", 1024),
        d_model=config.size("n_embd"),
        n_heads=config.size("n_head"),
        n_layers=config.size("n_layer"),
        d_ff=config.size("n_inner", 4 * config.size("n_embd")),
        activation=config.one_of("activation_function", GELUS, "gelu_new"),
        eps=config.number("layer_norm_epsilon", 1e-5),
    )


def gpt2_parts(config: Config, names: set[str]) -> Iterator[Part]:
    d = config.size("n_embd")
    d_ff = config.size("n_inner", 4 * d)
    yield plain("wte.weight", "tokens.weight", config.size("vocab_size"), d)
    yield plain("wpe.weight", "positions.weight", config.size("n_positions", 1024), d)
    for i in range(config.size("n_layer")):
        theirs, ours = f"h.{i}", f"layers.{i}"
        yield from norm(f"{theirs}.ln_1", f"{ours}.norm1", d)
        for kind, shape in {"weight": (d, 3 * d), "bias": (3 * d,)}.items():
            targets = {
                f"{ours}.attention.{each}_proj.{kind}": third(at, kind == "weight") for at, each in enumerate("qkv")
            }
            yield Part(f"{theirs}.attn.c_attn.{kind}", shape, targets)
        yield from turned_linear(f"{theirs}.attn.c_proj", f"{ours}.attention.out_proj", d, d)
        yield from norm(f"{theirs}.ln_2", f"{ours}.norm2", d)
        yield from turned_linear(f"{theirs}.mlp.c_fc", f"{ours}.feed_forward.up", d, d_ff)
        yield from turned_linear(f"{theirs}.mlp.c_proj", f"{ours}.feed_forward.down", d_ff, d)
    yield from norm("ln_f", "norm", d)


# BERT -----------------------------------------------------------------------------------------------------------------


def bert(config: Config, names: set[str]) -> nn.Module:
    config.sizes_divide("hidden_size", "num_attention_heads")
    config.always("position_embedding_type", "absolute")
    config.always("is_decoder", False)
    config.always("tie_word_embeddings", True)
    return BERT(
        vocab=config.size("vocab_size"),
        length=config.size("max_position_embeddings", 512),
        d_model=config.size("hidden_size"),
        n_heads=config.size("num_attention_heads"),
        n_layers=config.size("num_hidden_layers"),
        d_ff=config.size("intermediate_size"),
        n_kinds=config.size("type_vocab_size", 2),
        activation=config.one_of("hidden_act", GELUS, "gelu"),
        eps=config.number("layer_norm_eps", 1e-12),
    )


def bert_parts(config: Config, names: set[str]) -> Iterator[Part]:
    d, d_ff, vocab = config.size("hidden_size"), config.size("intermediate_size"), config.size("vocab_size")
    tables = {
        "word": ("tokens", vocab),
        "position": ("positions", config.size("max_position_embeddings", 512)),
        "token_type": ("kinds", config.size("type_vocab_size", 2)),
    }
    for theirs, (ours, rows) in tables.items():
        yield plain(f"bert.embeddings.{theirs}_embeddings.weight", f"{ours}.weight", rows, d)
    yield from norm("bert.embeddings.LayerNorm", "norm", d)
    for i in range(config.size("num_hidden_layers")):
        theirs, ours = f"bert.encoder.layer.{i}", f"layers.{i}"
        for name in ("query", "key", "value"):
            yield from linear(f"{theirs}.attention.self.{name}", f"{ours}.attention.{name[0]}_proj", d, d)
        yield from linear(f"{theirs}.attention.output.dense", f"{ours}.attention.out_proj", d, d)
        yield from norm(f"{theirs}.attention.output.LayerNorm", f"{ours}.norm1", d)
        yield from linear(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.up", d, d_ff)
        yield from linear(f"{theirs}.output.dense", f"{ours}.feed_forward.down", d_ff, d)
        yield from norm(f"{theirs}.output.LayerNorm", f"{ours}.norm2", d)
    yield from linear("cls.predictions.transform.dense", "head", d, d)
    yield from norm("cls.predictions.transform.LayerNorm", "head_norm", d)
    yield plain("cls.predictions.bias", "bias", vocab)


def bert_name(name: str) -> str:
    """Files from TensorFlow's days have gamma and beta."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


# T5 -------------------------------------------------------------------------------------------------------------------

FEED_FORWARDS = {"relu": (torch.relu, False), "gated-gelu": (gelu_tanh, True)}


def t5(config: Config, names: set[str]) -> nn.Module:
    activation, gated = config.one_of("feed_forward_proj", FEED_FORWARDS, "relu")
    tied = "lm_head.weight" not in names
    # older files say with tie_word_embeddings what newer ones say with scale_decoder_outputs
    scaled = config.values.get("scale_decoder_outputs", config.values.get("tie_word_embeddings", True))
    return T5(
        vocab=config.size("vocab_size"),
        d_model=config.size("d_model"),
        n_heads=config.size("num_heads"),
        d_head=config.size("d_kv"),
        d_ff=config.size("d_ff"),
        n_encoder=config.size("num_layers"),
        n_decoder=config.size("num_decoder_layers", config.size("num_layers")),
        activation=activation,
        gated=gated,
        tied=tied,
        scaled=bool(scaled),
        n_buckets=config.size("relative_attention_num_buckets", 32),
        max_distance=config.size("relative_attention_max_distance", 128),
        eps=config.number("layer_norm_epsilon", 1e-6),
    )


def t5_parts(config: Config, names: set[str]) -> Iterator[Part]:
    d, vocab, n_heads = config.size("d_model"), config.size("vocab_size"), config.size("num_heads")
    n_buckets = config.size("relative_attention_num_buckets", 32)
    yield plain("shared.weight", "tokens.weight", vocab, d)
    if "lm_head.weight" in names:
        yield plain("lm_head.weight", "head.weight", vocab, d)
    n_encoder = config.size("num_layers")
    for stack, n_layers in {"encoder": n_encoder, "decoder": config.size("num_decoder_layers", n_encoder)}.items():
        bias = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield plain(bias, f"{stack}_bias.table.weight", n_buckets, n_heads)
        for i in range(n_layers):
            yield from t5_layer(config, f"{stack}.block.{i}.layer", f"{stack}.{i}", stack == "decoder")
        yield plain(f"{stack}.final_layer_norm.weight", f"{stack}_norm.gamma", d)


def t5_layer(config: Config, theirs: str, ours: str, looks_over: bool) -> Iterator[Part]:
    d, d_ff, inner = config.size("d_model"), config.size("d_ff"), config.size("num_heads") * config.size("d_kv")
    attentions = ["SelfAttention", "EncDecAttention"] if looks_over else ["SelfAttention"]
    for i, name in enumerate(attentions):
        attention = f"{ours}.{'self' if i == 0 else 'cross'}_attention"
        yield plain(f"{theirs}.{i}.layer_norm.weight", f"{ours}.norm{i + 1}.gamma", d)
        for each in "qkv":
            yield plain(f"{theirs}.{i}.{name}.{each}.weight", f"{attention}.{each}_proj.weight", inner, d)
        yield plain(f"{theirs}.{i}.{name}.o.weight", f"{attention}.out_proj.weight", d, inner)
    last = f"{theirs}.{len(attentions)}"
    yield plain(f"{last}.layer_norm.weight", f"{ours}.norm3.gamma", d)
    _, gated = config.one_of("feed_forward_proj", FEED_FORWARDS, "relu")
    for name, part in ({"wi_0": "gate", "wi_1": "up"} if gated else {"wi": "up"}).items():
        yield plain(f"{last}.DenseReluDense.{name}.weight", f"{ours}.feed_forward.{part}.weight", d_ff, d)
    yield plain(f"{last}.DenseReluDense.wo.weight", f"{ours}.feed_forward.down.weight", d, d_ff)


# ViT ------------------------------------------------------------------------------------------------------------------


def vit(config: Config, names: set[str]) -> nn.Module:
    config.sizes_divide("hidden_size", "num_attention_heads")
    config.sizes_divide("image_size", "patch_size")
    config.always("qkv_bias", True)
    return ViT(
        channels=config.size("num_channels", 3),
        size=config.size("patch_size"),
        n_patches=(config.size("image_size") // config.size("patch_size")) ** 2,
        n_classes=n_classes(config),
        d_model=config.size("hidden_size"),
        n_heads=config.size("num_attention_heads"),
        n_layers=config.size("num_hidden_layers"),
        d_ff=config.size("intermediate_size"),
        activation=config.one_of("hidden_act", GELUS, "gelu"),
        eps=config.number("layer_norm_eps", 1e-12),
    )


def n_classes(config: Config) -> int:
    """A file with two classes need not name them."""
    return len(config.values.get("id2label") or "ab")


def vit_parts(config: Config, names: set[str]) -> Iterator[Part]:
    d, d_ff = config.size("hidden_size"), config.size("intermediate_size")
    channels, size = config.size("num_channels", 3), config.size("patch_size")
    n_patches = (config.size("image_size") // size) ** 2
    embeddings = "vit.embeddings"
    yield Part(f"{embeddings}.cls_token", (1, 1, d), {"patches.class_token": torch.flatten})
    yield Part(f"{embeddings}.position_embeddings", (1, n_patches + 1, d), {"patches.positions": lambda t: t[0]})
    projection = f"{embeddings}.patch_embeddings.projection"  # a convolution: the same numbers in the same order
    yield Part(f"{projection}.weight", (d, channels, size, size), {"patches.proj.weight": lambda t: t.flatten(1)})
    yield plain(f"{projection}.bias", "patches.proj.bias", d)
    for i in range(config.size("num_hidden_layers")):
        theirs, ours = f"vit.encoder.layer.{i}", f"layers.{i}"
        yield from norm(f"{theirs}.layernorm_before", f"{ours}.norm1", d)
        for name in ("query", "key", "value"):
            yield from linear(f"{theirs}.attention.attention.{name}", f"{ours}.attention.{name[0]}_proj", d, d)
        yield from linear(f"{theirs}.attention.output.dense", f"{ours}.attention.out_proj", d, d)
        yield from norm(f"{theirs}.layernorm_after", f"{ours}.norm2", d)
        yield from linear(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.up", d, d_ff)
        yield from linear(f"{theirs}.output.dense", f"{ours}.feed_forward.down", d_ff, d)
    yield from norm("vit.layernorm", "norm", d)
    yield from linear("classifier", "head", d, n_classes(config))


LAYOUTS = {
    "gpt2": Layout(
        "GPT-2",
        ("GPT2LMHeadModel", "GPT2Model"),
        gpt2,
        gpt2_parts,
        rename=lambda name: name.removeprefix("transformer."),
        unused=r"h\.\d+\.attn\.(bias|masked_bias)",  # the causal mask
        copies={"lm_head.weight": "wte.weight"},
    ),
    "bert": Layout(
        "BERT",
        ("BertForMaskedLM", "BertForPreTraining"),
        bert,
        bert_parts,
        rename=bert_name,
        unused=r"bert\.pooler\..*|cls\.seq_relationship\..*|bert\.embeddings\.position_ids",
        copies={
            "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
    ),
    "t5": Layout(
        "T5",
        ("T5ForConditionalGeneration", "T5WithLMHeadModel"),
        t5,
        t5_parts,
        unused=re.escape("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"),
        copies={f"{stack}.embed_tokens.weight": "shared.weight" for stack in ("encoder", "decoder")},
    ),
    "vit": Layout("ViT", ("ViTForImageClassification",), vit, vit_parts, unused=r"vit\.pooler\..*"),
    "llama": Layout(
        "Llama",
        ("LlamaForCausalLM",),
        llama,
        llama_parts,
        unused=r".*rotary_emb\.inv_freq",  # in old files; computed from config.json
        copies={"lm_head.weight": "model.embed_tokens.weight"},
        computed=speeds,
    ),
    "qwen3": Layout(
        "Qwen3",
        ("Qwen3ForCausalLM",),
        qwen3,
        qwen3_parts,
        unused=r".*rotary_emb\.inv_freq",
        copies={"lm_head.weight": "model.embed_tokens.weight"},
        computed=speeds,
    ),
}
