"""Published weights in the course's own modules: GPT-2, BERT, T5, ViT, Llama and Qwen3.

    model = load("openai-community/gpt2")      # by name, or a folder with config.json and model.safetensors
    tokenizer = load_tokenizer("openai-community/gpt2")
    print(write(model, tokenizer, "Attention is", 20))

A checkpoint is read in five steps: find the files (`hub`), look at the configuration and at the names and shapes of all
tensors (`checkpoint`), lay out which tensor becomes which of our parameters (`layouts`), compare, and only then read
the numbers. If anything is missing, surplus or of another shape, one sentence says so and nothing is loaded.
"""

from __future__ import annotations

from qkv.pretrained.byte_level import ByteLevelBPE, load_tokenizer, write
from qkv.pretrained.checkpoint import CheckpointError
from qkv.pretrained.loading import load

__all__ = ["ByteLevelBPE", "CheckpointError", "load", "load_tokenizer", "write"]
