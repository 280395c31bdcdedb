"""The small checkpoints: `theirs` is transformers' own model, and by names alone ours says something else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM

from qkv.pretrained import load, specimens

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
IDS = torch.randint(specimens.VOCAB, (2, 40), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
@pytest.mark.parametrize("kind", specimens.KINDS)
def test_the_logits_are_those_of_transformers_and_of_the_loader(kind, tmp_path: Path):
    specimens.write(tmp_path, kind, seed=3)
    found = specimens.theirs(tmp_path, IDS)
    expected = AutoModelForCausalLM.from_pretrained(tmp_path).eval()(IDS).logits
    assert expected.abs().max() > 3
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    torch.testing.assert_close(load(tmp_path)(IDS)[0], expected, atol=1e-4, rtol=0)
    assert (specimens.by_names(tmp_path)(IDS)[0] - expected).abs().max() > 1


def test_the_same_seed_writes_the_same_file(tmp_path: Path):
    folders = [tmp_path / name for name in "abc"]
    for folder, seed in zip(folders, (0, 0, 1), strict=True):
        folder.mkdir()
        specimens.write(folder, "Llama", seed)
    first, again, other = ((folder / "model.safetensors").read_bytes() for folder in folders)
    assert first == again != other
