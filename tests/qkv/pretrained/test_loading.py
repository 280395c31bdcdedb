"""Checkpoints as `transformers` writes them: ours give the same logits, and what does not fit is refused by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
)

from qkv.model.heads import MultiHeadAttention
from qkv.model.models import PatchEmbedding
from qkv.model.t5 import T5
from qkv.model.zoo import BERT, GPT2, ViT
from qkv.pretrained import CheckpointError, load

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

BATCH, VOCAB, D_MODEL, N_HEADS, D_FF, LENGTH = 2, 37, 12, 3, 20, 11


def their_gpt2(**changes: object) -> nn.Module:
    sizes = {"vocab_size": VOCAB, "n_positions": LENGTH, "n_embd": D_MODEL, "n_layer": 2, "n_head": N_HEADS}
    return GPT2LMHeadModel(GPT2Config(**sizes | {"n_inner": D_FF} | changes))


def their_bert(**changes: object) -> nn.Module:
    sizes = {"vocab_size": VOCAB, "hidden_size": D_MODEL, "num_hidden_layers": 2, "num_attention_heads": N_HEADS}
    sizes |= {"intermediate_size": D_FF, "max_position_embeddings": LENGTH, "type_vocab_size": 4}
    return BertForMaskedLM(BertConfig(**sizes | changes))


def their_t5(**changes: object) -> nn.Module:
    sizes = {"vocab_size": VOCAB, "d_model": D_MODEL, "d_kv": 5, "d_ff": D_FF, "num_layers": 2, "num_decoder_layers": 3}
    sizes |= {"num_heads": N_HEADS, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 9}
    return T5ForConditionalGeneration(T5Config(**sizes | changes))


def their_vit(**changes: object) -> nn.Module:
    sizes = {"hidden_size": D_MODEL, "num_hidden_layers": 2, "num_attention_heads": N_HEADS, "intermediate_size": D_FF}
    sizes |= {"image_size": 8, "patch_size": 4, "num_channels": 2, "num_labels": 7}
    return ViTForImageClassification(ViTConfig(**sizes | changes))


THEIRS = {"gpt2": their_gpt2, "bert": their_bert, "t5": their_t5, "vit": their_vit}


def written(model: nn.Module, folder: Path, seed: int = 0) -> nn.Module:
    """Give every parameter random numbers, so that none is 0 or 1 by its initialisation; write the checkpoint."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    model.save_pretrained(folder)
    return model.eval()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)  # `transformers` draws its weights from there, whatever ran before
    return tmp_path / "checkpoint"


def ids(length: int, seed: int) -> Tensor:
    return torch.randint(VOCAB, (BATCH, length), generator=torch.Generator().manual_seed(seed))


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    assert theirs.abs().max() > 0.5  # there is something to compare
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def refuses(words: str, folder: Path) -> None:
    with pytest.raises(CheckpointError, match=f"^{re.escape(words)}$"):
        load(folder)


def change_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8")) | changes
    path.write_text(json.dumps({k: v for k, v in config.items() if v != "absent"}), "utf-8")


def change_tensors(folder: Path, changes: dict[str, Tensor | None]) -> None:
    """Replace, add, or (None) remove tensors of the file."""
    path = folder / "model.safetensors"
    tensors = load_file(path) | changes
    save_file({name: t.contiguous() for name, t in tensors.items() if t is not None}, path)


# The same logits


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, {"n_inner": None}, {"activation_function": "relu"}], ids=str)
def test_gpt2(folder, changes):
    theirs, read = written(their_gpt2(layer_norm_epsilon=1e-3, **changes), folder), ids(LENGTH, seed=1)
    ours = load(folder)
    assert type(ours) is GPT2
    assert ours.length == LENGTH
    assert_same(ours(read), theirs(read).logits)
    assert_same(ours(read[:, :4]), theirs(read[:, :4]).logits)


@torch.no_grad()
def test_bert(folder):
    theirs, read = written(their_bert(layer_norm_eps=1e-3), folder), ids(7, seed=2)
    ours = load(folder)
    assert type(ours) is BERT
    assert_same(ours(read), theirs(read).logits)
    kinds, real = ids(7, seed=3) % 4, torch.tensor([[1] * 7, [1] * 5 + [0] * 2])
    expected = theirs(read, attention_mask=real, token_type_ids=kinds).logits
    assert_same(ours(read, real[:, None] > 0, kinds)[real > 0], expected[real > 0])


@torch.no_grad()
@pytest.mark.parametrize("kind", [{}, {"feed_forward_proj": "gated-gelu"}, {"tie_word_embeddings": False}], ids=str)
def test_t5(folder, kind):
    theirs = written(their_t5(layer_norm_epsilon=1e-3, **kind), folder)
    ours, source, inputs = load(folder), ids(29, seed=4), ids(23, seed=5)  # beyond the largest distance
    assert type(ours) is T5
    assert_same(ours(source, inputs), theirs(source, decoder_input_ids=inputs).logits)
    real = torch.arange(29) < torch.tensor([[29], [17]])
    expected = theirs(source, attention_mask=real.long(), decoder_input_ids=inputs).logits
    assert_same(ours(source, inputs, real[:, None]), expected)


@torch.no_grad()
def test_t5_with_an_output_of_its_own(folder):
    """As version 1.1 is published; today's `transformers` writes such a file only by hand."""
    theirs = written(their_t5(feed_forward_proj="gated-gelu"), folder)
    head = 0.3 * torch.randn(VOCAB, D_MODEL, generator=torch.Generator().manual_seed(6))
    change_tensors(folder, {"lm_head.weight": head})
    change_config(folder, tie_word_embeddings=False, scale_decoder_outputs="absent")
    source, inputs = ids(9, seed=4), ids(8, seed=5)
    expected = theirs(source, decoder_input_ids=inputs, output_hidden_states=True).decoder_hidden_states[-1] @ head.T
    assert_same(load(folder)(source, inputs), expected)


@torch.no_grad()
def test_vit(folder):
    theirs = written(their_vit(layer_norm_eps=1e-3), folder)
    images = torch.randn(BATCH, 2, 8, 8, generator=torch.Generator().manual_seed(7))
    ours = load(folder)
    assert type(ours) is ViT
    assert_same(ours(images), theirs(images).logits)


def test_they_are_made_of_the_courses_parts(folder):
    written(their_vit(), folder)
    kinds = {type(module) for module in load(folder).modules()}
    assert {PatchEmbedding, MultiHeadAttention} <= kinds
    assert nn.MultiheadAttention not in kinds


@pytest.mark.parametrize("name", THEIRS)
def test_what_is_loaded_can_be_trained_and_is_asked_without_training(name, folder):
    written(THEIRS[name](), folder)
    ours = load(folder)
    assert not ours.training
    assert all(p.requires_grad and p.dtype == torch.float32 and p.is_contiguous() for p in ours.parameters())
    assert {p.device.type for p in ours.parameters()} == {"cpu"}


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_file_in_half_precision_is_read_into_float32(folder, dtype):
    theirs = written(their_gpt2().to(dtype), folder)
    ours, read = load(folder), ids(6, seed=1)
    assert ours.tokens.weight.dtype == torch.float32
    assert_same(ours(read), theirs.float()(read).logits)


# Files as they are published


@torch.no_grad()
def test_gpt2_as_it_was_published(folder):
    """Without the prefix, and with the causal mask among the weights."""
    theirs, read = written(their_gpt2(), folder), ids(LENGTH, seed=1)
    path = folder / "model.safetensors"
    tensors = {name.removeprefix("transformer."): t for name, t in load_file(path).items()}
    save_file(tensors | {f"h.{i}.attn.bias": torch.ones(1, 1, LENGTH, LENGTH).tril() for i in range(2)}, path)
    change_config(folder, tie_word_embeddings="absent", scale_attn_weights="absent")
    assert_same(load(folder)(read), theirs(read).logits)


@torch.no_grad()
def test_bert_as_it_was_published(folder):
    """With gamma and beta, the pooler, and the head for the next sentence."""
    theirs, read = written(their_bert(), folder), ids(7, seed=2)
    path = folder / "model.safetensors"
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = {}
    for name, tensor in load_file(path).items():
        tail = next((t for t in old if name.endswith(t)), "")
        tensors[name.removesuffix(tail) + old.get(tail, "")] = tensor
    tensors |= {"bert.pooler.dense.weight": torch.ones(3, 3), "cls.seq_relationship.bias": torch.ones(2)}
    tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"].clone()
    save_file(tensors, path)
    assert_same(load(folder)(read), theirs(read).logits)


# What does not fit


def test_a_folder_without_files(folder):
    folder.mkdir()
    refuses(f"{folder} has no config.json, which says what the model is.", folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config.json is not JSON: Expecting property name"):
        load(folder)
    (folder / "config.json").write_text("[]")
    refuses(f"{folder / 'config.json'} holds a list, expected an object with named values.", folder)
    (folder / "config.json").write_text('{"model_type": "gpt2"}')
    refuses(f"{folder} has no model.safetensors, which holds the weights.", folder)
    (folder / "pytorch_model.bin").write_bytes(b"")
    words = f"{folder} has pytorch_model.bin, a pickle, which may run any code; we read model.safetensors only."
    refuses(words, folder)
    (folder / "model.safetensors.index.json").write_text("{}")
    words = f"{folder} holds a model in several files; we read those that fit into one model.safetensors."
    refuses(words, folder)
    (folder / "model.safetensors").write_bytes(b"not a header")
    with pytest.raises(CheckpointError, match=r"model.safetensors can't be read: "):
        load(folder)


def test_another_architecture(folder):
    written(their_gpt2(), folder)
    change_config(folder, model_type="mistral")
    refuses("config.json says model_type = 'mistral'; we read gpt2, bert, t5, vit, llama, qwen3.", folder)
    change_config(folder, model_type="gpt2", architectures=["GPT2ForSequenceClassification"])
    words = "this GPT-2 is a GPT2ForSequenceClassification, expected a GPT2LMHeadModel or GPT2Model."
    refuses(words, folder)


def test_a_missing_tensor(folder):
    written(their_gpt2(), folder)
    change_tensors(folder, {"transformer.h.1.ln_2.bias": None})
    refuses("model.safetensors has no tensor h.1.ln_2.bias.", folder)
    change_tensors(folder, {"transformer.ln_f.weight": None, "transformer.wte.weight": None})
    refuses("model.safetensors has no tensor wte.weight (and 2 more).", folder)


@pytest.mark.parametrize("name", THEIRS)
def test_every_tensor_is_needed(name, folder):
    written(THEIRS[name](), folder)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for missing in tensors:
        save_file({other: t for other, t in tensors.items() if other != missing}, path)
        refuses(f"model.safetensors has no tensor {missing.removeprefix('transformer.')}.", folder)


def test_a_surplus_tensor(folder):
    written(their_bert(), folder)
    change_tensors(folder, {"bert.encoder.layer.2.output.dense.bias": torch.zeros(3)})
    words = "model.safetensors has a tensor bert.encoder.layer.2.output.dense.bias that this model has no place for."
    refuses(words, folder)
    change_tensors(folder, {"classifier.bias": torch.zeros(3)})
    with pytest.raises(CheckpointError, match=r"^model.safetensors has a tensor .* \(and 1 more\) that this model has"):
        load(folder)


@pytest.mark.parametrize("name", THEIRS)
def test_every_shape_is_looked_at(name, folder):
    written(THEIRS[name](), folder)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for wrong, tensor in tensors.items():
        shape = tuple(tensor.shape)
        longer = (shape[0] + 1, *shape[1:])
        save_file(tensors | {wrong: torch.zeros(longer)}, path)
        name = wrong.removeprefix("transformer.")
        refuses(f"{name} has shape {longer}, expected {shape} by config.json.", folder)


def test_numbers_that_are_not_floating(folder):
    written(their_vit(), folder)
    change_tensors(folder, {"classifier.bias": torch.zeros(7, dtype=torch.int8)})
    refuses("classifier.bias is I8, expected one of F64, F32, F16, BF16.", folder)


def test_an_output_that_is_not_the_table(folder):
    written(their_gpt2(), folder)
    change_tensors(folder, {"lm_head.weight": torch.zeros(VOCAB, D_MODEL)})
    refuses("lm_head.weight differs from wte.weight; in our module they are one and the same.", folder)
    change_tensors(folder, {"lm_head.weight": torch.zeros(VOCAB, 2)})
    refuses(f"lm_head.weight has shape ({VOCAB}, 2), expected ({VOCAB}, {D_MODEL}) by config.json.", folder)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("gpt2", {"n_embd": "absent"}, "does not say n_embd."),
        ("gpt2", {"n_layer": -1}, "says n_layer = -1, expected a positive integer."),
        ("gpt2", {"n_head": 5}, "says n_embd = 12 and n_head = 5, which does not divide it."),
        ("gpt2", {"layer_norm_epsilon": "x"}, "says layer_norm_epsilon = 'x', expected a number."),
        (
            "gpt2",
            {"activation_function": "swish"},
            "says activation_function = 'swish', expected 'gelu', 'gelu_new', 'gelu_pytorch_tanh' or 'relu'.",
        ),
        ("gpt2", {"scale_attn_weights": False}, "says scale_attn_weights = False; our module has True only."),
        ("bert", {"is_decoder": True}, "says is_decoder = True; our module has False only."),
        ("t5", {"feed_forward_proj": "silu"}, "says feed_forward_proj = 'silu', expected 'relu' or 'gated-gelu'."),
        ("vit", {"patch_size": 3}, "says image_size = 8 and patch_size = 3, which does not divide it."),
        ("vit", {"qkv_bias": False}, "says qkv_bias = False; our module has True only."),
    ],
)
def test_a_configuration_that_we_do_not_have(name, changes, words, folder):
    written(THEIRS[name](), folder)
    change_config(folder, **changes)
    refuses(f"config.json {words}", folder)


def test_a_sequence_that_is_too_long(folder):
    written(their_gpt2(), folder)
    words = f"ids has {LENGTH + 1} tokens, expected at most {LENGTH}: there is a vector for each position."
    with pytest.raises(ValueError, match=f"^{words}$"):
        load(folder)(ids(LENGTH + 1, seed=0))
