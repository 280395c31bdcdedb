"""Llama and Qwen3 as `transformers` writes them: the same logits, nothing forgotten unseen, the unfit refused."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from qkv.model.today import Llama
from qkv.pretrained import CheckpointError, load, write
from qkv.pretrained.llama import pairs

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

SIZES = {"vocab_size": 97, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3}
SIZES |= {"num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 64}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "original_max_position_embeddings": 16}
LLAMA3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
MILLION = {"rope_type": "default", "rope_theta": 1e6}

CASES: dict[str, dict[str, Any]] = {
    "llama": {"rms_norm_eps": 1e-5, "tie_word_embeddings": False},
    "llama 3, tied": {"head_dim": 8, "tie_word_embeddings": True, "rope_parameters": LLAMA3},
    "llama, linear": {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}},
    "qwen3, tied": {"head_dim": 16, "tie_word_embeddings": True, "rope_parameters": MILLION},
    "qwen3, a group a head": {"num_key_value_heads": 6, "head_dim": 12, "rope_parameters": MILLION},
}
IDS = torch.randint(0, 97, (2, 40), generator=torch.Generator().manual_seed(0))


def theirs_of(name: str, **changes: Any) -> nn.Module:
    settings = SIZES | CASES[name] | changes
    if name.startswith("qwen3"):
        return Qwen3ForCausalLM(Qwen3Config(**settings))
    return LlamaForCausalLM(LlamaConfig(**settings))


def written(name: str, folder: Path, embedding: float = 0.5, **changes: Any) -> nn.Module:
    """Gains that matter, and projections so large that attention is sharp: a mistake in an even mean is not seen."""
    theirs, g = theirs_of(name, **changes).eval(), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for at, parameter in theirs.named_parameters():
            drawn = torch.randn(parameter.shape, generator=g)
            size = embedding if "embed" in at else 1.5 / math.sqrt(parameter.shape[-1])
            parameter.copy_(1 + 0.3 * drawn if "norm" in at else size * drawn)
    theirs.save_pretrained(folder)
    return theirs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@torch.no_grad()
def off(ours: nn.Module, theirs: nn.Module) -> float:
    """The largest difference of a logit."""
    return float((ours(IDS)[0] - theirs(IDS).logits).abs().max())


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8")) | changes
    path.write_text(json.dumps({k: v for k, v in config.items() if v != "absent"}), "utf-8")


def change_tensors(folder: Path, changes: dict[str, Tensor | None]) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path) | changes
    save_file({name: t.contiguous() for name, t in tensors.items() if t is not None}, path)


def refuses(words: str, folder: Path) -> None:
    with pytest.raises(CheckpointError, match=f"^{re.escape(words)}$"):
        load(folder)


# The same logits


@pytest.mark.parametrize("name", CASES)
def test_logits_are_theirs_at_once_and_by_the_cache(name, folder):
    theirs = written(name, folder)
    ours = load(folder)
    assert type(ours) is Llama
    assert not ours.training
    assert {t.device.type for t in (*ours.parameters(), *ours.buffers())} == {"cpu"}
    assert off(ours, theirs) < 1e-4
    with torch.no_grad():
        whole = theirs(IDS).logits
        assert whole.abs().max() > 3  # there is something to compare
        pieces, caches = [], None
        for piece in (IDS[:, :25], *IDS[:, 25:].split(1, dim=1)):
            logits, caches = ours(piece, caches)
            pieces.append(logits)
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", CASES)
def test_nothing_can_be_forgotten_unseen(name, folder):
    theirs = written(name, folder)
    tensors = load_file(folder / "model.safetensors")

    def unpermuted(*parts: str) -> Llama:
        ours: Any = load(folder)
        with torch.no_grad():
            for i, layer in enumerate(ours.layers):
                for part in parts:
                    module = getattr(layer["attention"], part)
                    weight = module.gamma if part.endswith("norm") else module.weight
                    weight.copy_(tensors[f"model.layers.{i}.self_attn.{part}.weight"])
        return ours

    assert off(unpermuted("q_proj", "k_proj"), theirs) > 1
    assert off(unpermuted("q_proj"), theirs) > 1
    assert off(unpermuted("k_proj"), theirs) > 1
    other: Any = load(folder)
    theta, d_head = (100.0, 2 * len(other.frequencies))
    other.frequencies = theta ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    assert off(other, theirs) > 1e-2
    if name.startswith("qwen3"):
        assert off(unpermuted("q_norm", "k_norm"), theirs) > 1e-2
        bare: Any = load(folder)
        for layer in bare.layers:
            layer["attention"].q_norm = layer["attention"].k_norm = nn.Identity()
        assert off(bare, theirs) > 1


@pytest.mark.parametrize("name", CASES)
def test_config_json_is_believed(name, folder):
    """Another theta, another stretch, other groups in the file: other logits, or refused."""
    theirs = written(name, folder)
    rope = json.loads((folder / "config.json").read_text("utf-8"))["rope_parameters"]
    kind = rope["rope_type"]
    changes = [{"rope_theta": 3e3}]
    changes += [{"rope_type": "default"}, {"factor": 2.0}] if kind != "default" else []
    changes += [{"original_max_position_embeddings": 64}, {"high_freq_factor": 40.0}] if kind == "llama3" else []
    for change in changes:
        change_config(folder, rope_parameters=rope | change)
        assert off(load(folder), theirs) > 1e-2, change
    change_config(folder, rope_parameters=rope)
    assert off(load(folder), theirs) < 1e-4
    other = 6 if CASES[name].get("num_key_value_heads") != 6 else 2
    change_config(folder, num_key_value_heads=other)
    with pytest.raises(CheckpointError, match=r"k_proj.weight has shape .* expected .* by config.json"):
        load(folder)


@pytest.mark.parametrize("name", ["llama", "qwen3, tied"])
def test_the_eps_of_config_json_is_used(name, folder):
    """1e-5 for 1e-6 is nearly invisible unless what is normalised is small."""
    eps = 1e-5 if name == "llama" else 1e-6
    theirs = written(name, folder, embedding=0.01, rms_norm_eps=eps)
    assert off(load(folder), theirs) < 1e-4
    change_config(folder, rms_norm_eps=10 * eps)
    assert off(load(folder), theirs) > 1e-2


def test_rows_become_neighbours():
    """Column i of a head of theirs is 2i of ours, and i + d/2 is 2i + 1."""
    rows = torch.tensor([0, 2, 4, 1, 3, 5, 10, 12, 14, 11, 13, 15])  # where each of theirs belongs
    assert pairs(6)(rows).tolist() == [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15]
    assert pairs(6)(rows[:6]).tolist() == [0, 1, 2, 3, 4, 5]  # a gain


# Files as they are published


def test_the_spelling_before_version_5(folder):
    """rope_theta and rope_scaling at the top, groups and head_dim left out, inv_freq among the tensors."""
    theirs = written("llama", folder, num_key_value_heads=6)
    old = {"rope_parameters": "absent", "rope_theta": 1e4, "rope_scaling": None, "head_dim": "absent"}
    left_out = {"num_key_value_heads": "absent", "tie_word_embeddings": "absent", "attention_bias": "absent"}
    change_config(folder, **old, **left_out, mlp_bias="absent", hidden_act="absent")
    change_tensors(folder, {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": torch.ones(4) for i in range(3)})
    assert off(load(folder), theirs) < 1e-4
    change_config(folder, rope_theta="absent")  # 10,000
    assert off(load(folder), theirs) < 1e-4
    change_config(folder, rope_theta=2e3)
    assert off(load(folder), theirs) > 1e-2


@pytest.mark.parametrize("word", ["rope_type", "type"])
@pytest.mark.parametrize("name", ["llama 3, tied", "llama, linear"])
def test_stretched_in_the_spelling_before_version_5(name, word, folder):
    theirs = written(name, folder)
    rope = dict(CASES[name]["rope_parameters"])
    scaling = {k: v for k, v in rope.items() if k not in ("rope_theta", "rope_type")} | {word: rope["rope_type"]}
    change_config(folder, rope_parameters="absent", rope_theta=rope["rope_theta"], rope_scaling=scaling)
    assert off(load(folder), theirs) < 1e-4


def test_a_copy_of_the_table(folder):
    theirs = written("llama 3, tied", folder)
    table = load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
    change_tensors(folder, {"lm_head.weight": table.clone()})
    assert off(load(folder), theirs) < 1e-4
    change_tensors(folder, {"lm_head.weight": table + 1})
    refuses("lm_head.weight differs from model.embed_tokens.weight; in our module they are one and the same.", folder)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_read_into_float32(dtype, folder):
    half: Any = written("llama", folder).to(dtype)
    half.save_pretrained(folder)
    theirs = type(half).from_pretrained(folder, dtype=torch.float32).eval()
    ours: Any = load(folder)
    assert {p.dtype for p in ours.parameters()} == {torch.float32}
    assert ours.frequencies.dtype == torch.float64
    assert off(ours, theirs) < 1e-4


# What does not fit


@pytest.mark.parametrize("name", CASES)
def test_every_tensor_is_needed_and_every_shape_looked_at(name, folder):
    written(name, folder)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for at, tensor in tensors.items():
        save_file({other: t for other, t in tensors.items() if other != at}, path)
        refuses(f"model.safetensors has no tensor {at}.", folder)
        shape = tuple(tensor.shape)
        longer = (shape[0] + 1, *shape[1:])
        save_file(tensors | {at: torch.zeros(longer)}, path)
        refuses(f"{at} has shape {longer}, expected {shape} by config.json.", folder)


def test_biases_have_no_place(folder):
    written("llama", folder)
    at = "model.layers.0.self_attn.q_proj.bias"
    change_tensors(folder, {at: torch.zeros(48)})
    refuses(f"model.safetensors has a tensor {at} that this model has no place for.", folder)


def test_norms_of_heads_are_qwens(folder):
    written("qwen3, tied", folder)
    change_config(folder, model_type="llama", architectures=["LlamaForCausalLM"])
    at = "model.layers.0.self_attn.k_norm.weight"
    refuses(f"model.safetensors has a tensor {at} (and 5 more) that this model has no place for.", folder)


def stretched_by(**changes: Any) -> dict[str, Any]:
    return {"rope_parameters": {k: v for k, v in (LLAMA3 | changes).items() if v is not None}}


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("llama", {"attention_bias": True}, "says attention_bias = True; our module has False only."),
        ("llama", {"mlp_bias": True}, "says mlp_bias = True; our module has False only."),
        ("llama", {"hidden_act": "gelu"}, "says hidden_act = 'gelu'; our module has 'silu' only."),
        ("qwen3, tied", {"use_sliding_window": True}, "says use_sliding_window = True; our module has False only."),
        (
            "qwen3, tied",
            {"layer_types": ["full_attention", "sliding_attention", "full_attention"]},
            "says that a layer is 'sliding_attention' (layer_types); in our module each is 'full_attention'. "
            "Choose a checkpoint without windows.",
        ),
        (
            "llama",
            {"num_key_value_heads": 4},
            "says num_attention_heads = 6 and num_key_value_heads = 4, which does not divide it.",
        ),
        (
            "llama",
            {"num_attention_heads": 5, "num_key_value_heads": 5, "head_dim": None},
            "says hidden_size = 48 and num_attention_heads = 5, which does not divide it.",
        ),
        ("llama", {"head_dim": 7}, "gives a head 7 components, expected an even number: pairs turn."),
        ("llama", {"intermediate_size": "absent"}, "does not say intermediate_size."),
        ("llama", {"tie_word_embeddings": "no"}, "says tie_word_embeddings = 'no', expected true or false."),
        ("llama", {"rms_norm_eps": 0}, "says rms_norm_eps = 0.0, expected a number above 0."),
        *(
            (
                "llama",
                {"rope_parameters": {"rope_type": kind, "rope_theta": 1e4, "factor": 2.0}},
                f"says rope_type = {kind!r}; we read default, linear, llama3. "
                "Choose a checkpoint whose positions are stretched in one of these ways, or not at all.",
            )
            for kind in ("yarn", "dynamic", "longrope")
        ),
        ("llama", stretched_by(factor=0.5), "says factor = 0.5, expected 1 or more: texts get longer."),
        ("llama", stretched_by(factor=None), "does not say factor."),
        ("llama", stretched_by(low_freq_factor=None), "does not say low_freq_factor."),
        (
            "llama",
            stretched_by(high_freq_factor=1.0),
            "says high_freq_factor = 1.0, expected more than low_freq_factor = 1.0.",
        ),
        (
            "llama",
            stretched_by(original_max_position_embeddings=None),
            "does not say original_max_position_embeddings.",
        ),
        ("llama", stretched_by(rope_theta=-1.0), "says rope_theta = -1.0, expected a number above 0."),
        (
            "llama",
            stretched_by(partial_rotary_factor=0.5),
            "says partial_rotary_factor = 0.5; our module has 1.0 only.",
        ),
        (
            "llama",
            {"rope_parameters": {"full_attention": {"rope_type": "default"}}},
            "says rope_parameters = {'full_attention': {'rope_type': 'default'}}; we read one way of turning for all "
            "layers, as named values.",
        ),
    ],
    ids=str,
)
def test_a_configuration_that_we_do_not_have(name, changes, words, folder):
    written(name, folder)
    change_config(folder, **changes)
    refuses(f"config.json {words}", folder)


def test_a_model_without_its_last_matrix(folder):
    written("llama", folder)
    change_config(folder, architectures=["LlamaModel"])
    refuses("this Llama is a LlamaModel, expected a LlamaForCausalLM.", folder)


# Writing


class Letters:
    """A tokenizer of 97 signs; the last of them ends a text."""

    end = 96

    def encode(self, text: str) -> list[int]:
        return [ord(c) % 96 for c in text]

    def decode(self, ids: list[int]) -> str:
        return " ".join(map(str, ids))


def test_writing_with_the_cache_is_transformers_greedy_text(folder):
    theirs: Any = written("qwen3, tied", folder)
    prompt = Letters().encode("attention")
    expected = theirs.generate(torch.tensor([prompt]), max_new_tokens=30, do_sample=False, eos_token_id=96)
    kept = [i for i in expected[0].tolist() if i != 96]
    assert len(kept) > len(prompt) + 3
    tokenizer: Any = Letters()
    assert write(load(folder), tokenizer, "attention", 30, temperature=0) == Letters().decode(kept)
