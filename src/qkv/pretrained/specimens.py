"""Small checkpoints in the layouts of Llama and Qwen3, and what the program that they were made for says of them.

Weights are random and their gains far from 1, and queries and keys are large enough for a sharp attention: a model that
reads anything wrongly says something else. `theirs` turns column i of a head with column i + d/2, as that program does,
and shares no code with ours.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from qkv.model.today import Llama

VOCAB = 97
SIZES: dict[str, Any] = {"vocab_size": VOCAB, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3}
SIZES |= {"num_attention_heads": 6, "num_key_value_heads": 2, "hidden_act": "silu"}
KINDS: dict[str, dict[str, Any]] = {
    "Llama": {"model_type": "llama", "head_dim": 8, "rms_norm_eps": 1e-5, "rope_theta": 10000.0},
    "Qwen3": {
        "model_type": "qwen3",
        "head_dim": 16,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": True,
    },
}
OURS = {  # what stands in their names, and in ours
    "model.embed_tokens.weight": "tokens.weight",
    "model.norm.weight": "norm.gamma",
    "lm_head.weight": "out.weight",
    "model.layers": "layers",
    "input_layernorm.weight": "norm1.gamma",
    "post_attention_layernorm.weight": "norm2.gamma",
    "self_attn": "attention",
    "o_proj": "out_proj",
    "q_norm.weight": "q_norm.gamma",
    "k_norm.weight": "k_norm.gamma",
    "mlp.gate_proj": "feed_forward.gate",
    "mlp.up_proj": "feed_forward.up",
    "mlp.down_proj": "feed_forward.down",
}


def write(folder: Path, kind: str, seed: int = 0) -> None:
    """Write config.json and model.safetensors of a random model, as `transformers` would."""
    config = SIZES | {"tie_word_embeddings": False} | KINDS[kind]
    d, d_head, d_ff = config["hidden_size"], config["head_dim"], config["intermediate_size"]
    rows = {"q": config["num_attention_heads"] * d_head, "k": config["num_key_value_heads"] * d_head}
    g = torch.Generator().manual_seed(seed)

    def matrix(d_out: int, d_in: int) -> Tensor:
        return torch.randn(d_out, d_in, generator=g) * 1.5 / math.sqrt(d_in)

    def gain(width: int) -> Tensor:
        return 1 + 0.3 * torch.randn(width, generator=g)

    tensors = {"model.embed_tokens.weight": 0.5 * torch.randn(VOCAB, d, generator=g), "model.norm.weight": gain(d)}
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = matrix(VOCAB, d)
    for i in range(config["num_hidden_layers"]):
        attention, network = f"model.layers.{i}.self_attn", f"model.layers.{i}.mlp"
        tensors |= {f"model.layers.{i}.{name}_layernorm.weight": gain(d) for name in ("input", "post_attention")}
        tensors |= {f"{attention}.{name}_proj.weight": matrix(rows["q" if name == "q" else "k"], d) for name in "qkv"}
        tensors[f"{attention}.o_proj.weight"] = matrix(d, rows["q"])
        tensors |= {f"{network}.{name}_proj.weight": matrix(d_ff, d) for name in ("gate", "up")}
        tensors[f"{network}.down_proj.weight"] = matrix(d, d_ff)
        if kind == "Qwen3":
            tensors |= {f"{attention}.{name}_norm.weight": gain(d_head) for name in "qk"}
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: tensor.cpu() for name, tensor in tensors.items()}, folder / "model.safetensors")


def our_name(name: str) -> str:
    """The parameter of ours that a tensor of theirs belongs to."""
    for theirs, ours in OURS.items():
        name = name.replace(theirs, ours)
    return name


def by_names(folder: Path) -> nn.Module:
    """Our model with the tensors of the file as they stand, under our names. Names and shapes fit, the meaning not."""
    config = json.loads((folder / "config.json").read_text())
    sizes = ("vocab_size", "hidden_size", "num_attention_heads", "num_key_value_heads", "num_hidden_layers")
    vocab, d_model, n_heads, n_groups, n_layers = (config[name] for name in sizes)
    model = Llama(
        vocab,
        d_model,
        n_heads,
        n_groups,
        n_layers,
        d_ff=config["intermediate_size"],
        d_head=config["head_dim"],
        qk_norm=config["model_type"] == "qwen3",
        tied=config["tie_word_embeddings"],
        base=config["rope_theta"],
        eps=config["rms_norm_eps"],
    )
    model.load_state_dict({our_name(name): tensor for name, tensor in load_file(folder / "model.safetensors").items()})
    return model.eval()


@torch.no_grad()
def theirs(folder: Path, ids: Tensor) -> Tensor:
    """The logits (batch, seq, vocab) of the program that the file was written for."""
    config, w = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    (batch, n), device, ids = ids.shape, ids.device, ids.cpu()  # the file is read there, whatever the default is
    d_head, heads, groups = (config[name] for name in ("head_dim", "num_attention_heads", "num_key_value_heads"))
    speeds: Tensor = config["rope_theta"] ** (-torch.arange(0, d_head, 2, dtype=torch.float64, device="cpu") / d_head)
    angles = (torch.arange(n, device="cpu")[:, None] * speeds).repeat(1, 2)  # both halves of a head turn alike
    cos, sin = angles.cos().float(), angles.sin().float()

    def normed(x: Tensor, name: str) -> Tensor:
        scale: Tensor = (x.square().mean(-1, keepdim=True) + config["rms_norm_eps"]).rsqrt()
        return x * scale * w[f"{name}.weight"]

    def turned(x: Tensor, name: str, count: int) -> Tensor:
        x = (x @ w[f"{name}_proj.weight"].T).view(batch, n, count, d_head)
        x = (normed(x, f"{name}_norm") if f"{name}_norm.weight" in w else x).transpose(1, 2)
        first, second = x.chunk(2, dim=-1)
        aside: Tensor = torch.cat([-second, first], dim=-1)
        return x * cos + aside * sin

    x = w["model.embed_tokens.weight"][ids]
    hidden = torch.ones(n, n, dtype=torch.bool, device="cpu").triu(1)
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        y = normed(x, f"{layer}.input_layernorm")
        q, k = turned(y, f"{layer}.self_attn.q", heads), turned(y, f"{layer}.self_attn.k", groups)
        v = (y @ w[f"{layer}.self_attn.v_proj.weight"].T).view(batch, n, groups, d_head).transpose(1, 2)
        k, v = (part.repeat_interleave(heads // groups, dim=1) for part in (k, v))
        scores = (q @ k.mT / math.sqrt(d_head)).masked_fill(hidden, -math.inf)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, heads * d_head)
        x = x + mixed @ w[f"{layer}.self_attn.o_proj.weight"].T
        y = normed(x, f"{layer}.post_attention_layernorm")
        gate, up = (y @ w[f"{layer}.mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (torch.nn.functional.silu(gate) * up) @ w[f"{layer}.mlp.down_proj.weight"].T
    last: Tensor = w.get("lm_head.weight", w["model.embed_tokens.weight"])
    return (normed(x, "model.norm") @ last.T).to(device)
