"""`hand_in(model)`: a trained model as the file that the exercise of weights asks for."""

from __future__ import annotations

import os
from pathlib import Path

from torch import nn

from proctor.examining.tensor_file import LARGEST, MB, write_tensors
from qkv.exercises.capstone.tiny_gpt import exercise, weights_of
from qkv.notebook.skipping import Note


def hand_in(model: nn.Module, n_heads: int | None = None) -> Note:
    """Write the weights of your trained TinyGPT into `tiny_gpt.safetensors` in this folder.

    Args:
        model: what you have trained, on whatever device.
        n_heads: its number of heads, if the model does not tell it.
    """
    weights = weights_of(model, n_heads)
    content = write_tensors(weights)
    if len(content) > LARGEST:
        raise ValueError(f"these weights have {len(content) / MB:.1f} MB; at most {LARGEST // MB} MB are graded.")
    path = Path(exercise.file)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)  # atomic
    count = sum(tensor.numel() for tensor in weights.tensors.values())
    return Note(
        f'Wrote {path}: {count:,} parameters, {round(len(content) / 1000)} kB. Now run check("{exercise.name}").'
    )
