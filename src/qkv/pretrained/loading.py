"""Read a checkpoint into one of our modules."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from qkv.pretrained.checkpoint import CheckpointError, Config, Tensors, compare
from qkv.pretrained.hub import folder_of
from qkv.pretrained.layouts import LAYOUTS
from qkv.pretrained.parts import Layout


def load(source: str | Path, cache: str | Path | None = None) -> nn.Module:
    """Read GPT-2, BERT, T5, ViT, Llama or Qwen3 into the course's own module, in float32, ready to be asked (`eval`).

    Args:
        source: a folder with config.json and model.safetensors, or a name on the Hub such as "openai-community/gpt2".
        cache: where files from the Hub are kept; None means the Hub's own place.

    Returns:
        a `GPT2`, `BERT`, `ViT` (all in `qkv.model.zoo`), `T5` (`qkv.model.t5`) or, for Llama and Qwen3, a `Llama`
        (`qkv.model.today`), which gives logits and caches.
    """
    folder = folder_of(source, ["config.json", "model.safetensors"], cache)
    config = Config.read(folder)
    layout = architecture(config)
    tensors = Tensors(folder, layout.rename)
    names = set(tensors.theirs)
    computed = layout.computed(config)
    with torch.device("meta"):  # shapes without numbers, until all is known to fit
        model = layout.model(config, names)
    parts = list(layout.parts(config, names))
    shapes = {part.name: part.shape for part in parts}
    copies = {again: name for again, name in layout.copies.items() if again in names and again not in shapes}
    compare(tensors, shapes | {again: shapes[name] for again, name in copies.items()}, layout.unused)
    for again, name in copies.items():
        if not torch.equal(tensors.read(again), tensors.read(name)):
            raise CheckpointError(f"{again} differs from {name}; in our module they are one and the same.")
    state: dict[str, Tensor] = {}
    for part in parts:
        whole = tensors.read(part.name)
        state |= {ours: convert(whole).contiguous() for ours, convert in part.ours.items()}
    model.load_state_dict(state, assign=True)
    for name, buffer in computed.items():
        setattr(model, name, buffer)
    return model.eval()


def architecture(config: Config) -> Layout:
    """The layout that a configuration asks for."""
    kind = config.values.get("model_type")
    if kind not in LAYOUTS:
        known = ", ".join(LAYOUTS)
        raise CheckpointError(f"config.json says model_type = {kind!r}; we read {known}.")
    layout = LAYOUTS[kind]
    classes = config.values.get("architectures") or []
    if classes and not set(classes) & set(layout.classes):
        raise CheckpointError(f"this {layout.title} is a {classes[0]}, expected a {' or '.join(layout.classes)}.")
    return layout
