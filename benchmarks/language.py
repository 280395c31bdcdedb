"""What chapters 11 and 12 build, against what people use: byte pairs, writing with a cache, attention by tiles.

Every pair gives the same result, which is checked before it is timed. `python benchmarks/language.py` prints this part
of the results alone; `--small` is a quick try.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TypeVar

import tokenizers
import torch
import torch.nn.functional as F
import transformers
from speed import clocked, peak_bytes
from torch import Tensor

from qkv.model.cost import cached_attention, tiled_attention
from qkv.model.models import encode_bpe, train_bpe
from qkv.model.zoo import GPT2
from qkv.pretrained import load

T = TypeVar("T")
LETTERS = "etaoinshrdlcumwfgypbvk"  # frequent ones first


def section(small: bool = False) -> list[str]:
    """The lines of the results about tokenizer, cache and tiles."""
    torch.set_num_threads(1)
    lines = byte_pairs(20_000 if small else 1_000_000, 20 if small else 100)
    lines += ["", *writing((16, 32) if small else (32, 128, 512))]
    return [*lines, "", *by_tiles((256, 512) if small else (512, 1024, 2048, 4096))]


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What comes out, and the seconds that passed: of the wall, because others may use threads of their own."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


# ---- byte pairs


def invented(size: int, generator: torch.Generator) -> list[str]:
    """Words of about `size` characters in all, spaces included: 20,000 different ones, few of them frequent."""
    rank = torch.arange(1, 23, dtype=torch.float64)
    draws = torch.multinomial(1 / rank, 20_000 * 8, replacement=True, generator=generator).view(-1, 8)
    lengths = torch.randint(2, 9, (20_000,), generator=generator).tolist()
    words = ["".join(LETTERS[i] for i in row[:n]) for row, n in zip(draws.tolist(), lengths, strict=True)]
    often = 1 / torch.arange(1, len(words) + 1, dtype=torch.float64)  # as Zipf has it
    picks = torch.multinomial(often, size // 5, replacement=True, generator=generator).tolist()
    found, length = [], 0
    for i in picks:
        if length >= size:
            break
        found.append(words[i])
        length += len(words[i]) + 1
    return found


def byte_pairs(size: int, n_merges: int) -> list[str]:
    words = invented(size, torch.Generator().manual_seed(0))
    text = " ".join(words)
    merges, training = timed(lambda: train_bpe(words, n_merges))
    theirs, their_training = timed(lambda: their_tokenizer(words, n_merges))

    spelled = [chr(byte) for byte in range(256)]
    for a, b in merges:
        spelled.append(spelled[a] + spelled[b])
    named = [(spelled[a], spelled[b]) for a, b in merges]
    ids = {token: i for i, token in reversed(list(enumerate(spelled)))}
    same = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=ids, merges=named))
    same.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    ours, encoding = timed(lambda: [encode_bpe(word, merges) for word in words])
    encoded, their_encoding = timed(lambda: same.encode(text).ids)
    equal = [i for word in ours for i in word] == encoded
    known = set(theirs.get_vocab())
    shared = sum(token in known for token in spelled[256:])
    return [
        "## Byte pairs",
        "",
        f"{len(text):,} characters of invented words, {n_merges} merges: the exercise's reference against tokenizers "
        f"{tokenizers.__version__}.",
        f"With our merges both give {'the same ids' if equal else '**other ids**'}. Of the tokens that each learns by "
        f"itself {shared} of {n_merges} are the same;",
        "where two pairs are equally frequent, each has a rule of its own.",
        "",
        "| work | ours, seconds | theirs, seconds | factor |",
        "|---|---|---|---|",
        f"| learn the merges | {training:.2f} | {their_training:.2f} | {training / their_training:.0f} |",
        f"| encode the text | {encoding:.2f} | {their_encoding:.2f} | {encoding / their_encoding:.0f} |",
        "",
        "Ours counts every pair of the whole text again for each merge, and walks over each word once for each merge.",
        "Theirs keeps the counts, touches only words that hold the pair, remembers words, and is written in Rust.",
    ]


def their_tokenizer(words: list[str], n_merges: int) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    letters = sorted({letter for word in words for letter in word})
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=len(letters) + n_merges, initial_alphabet=letters, show_progress=False
    )
    tokenizer.train_from_iterator([" ".join(words)], trainer)
    return tokenizer


# ---- writing


def writing(lengths: tuple[int, ...], d_model: int = 256, n_layers: int = 4, n_heads: int = 8) -> list[str]:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=5000, n_positions=max(lengths) + 8, n_embd=d_model, n_layer=n_layers, n_head=n_heads
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    theirs.generation_config.eos_token_id = None
    theirs.generation_config.pad_token_id = 0
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = load(folder)
    assert isinstance(ours, GPT2)
    lines = [
        "## Writing with a cache",
        "",
        f"Greedy, one sequence, the same random GPT-2 of width {d_model} with {n_layers} layers and {n_heads} heads,",
        f"one thread: tokens a second, of ours and of `generate` of transformers {transformers.__version__}.",
        "All three write the same tokens, which is checked.",
        "",
        "| tokens | ours, everything again | ours, with `cached_attention` | transformers, with its cache |",
        "|---|---|---|---|",
    ]
    prompt = torch.tensor([[1, 2, 3, 4]])
    for n in lengths:
        again, slow = timed(lambda n=n: write(ours, prompt, n, cached=False))
        cached, fast = timed(lambda n=n: write(ours, prompt, n, cached=True))
        with torch.no_grad():
            generated, their = timed(
                lambda n=n: theirs.generate(
                    prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=n, do_sample=False
                )
            )
        assert again.tolist() == cached.tolist() == generated.tolist(), "they write different tokens"
        lines.append(f"| {n} | {n / slow:.0f} | {n / fast:.0f} | {n / their:.0f} |")
    return lines


@torch.no_grad()
def write(model: GPT2, ids: Tensor, n_tokens: int, cached: bool) -> Tensor:
    """The prompt and n_tokens more, the likeliest each time."""
    caches: list[tuple[Tensor, Tensor] | None] = [None] * len(model.layers)
    new = ids
    for _ in range(n_tokens):
        logits = step(model, new, caches) if cached else model(ids)[:, -1]
        new = logits.argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, new], dim=1)
    return ids


def step(model: GPT2, new: Tensor, caches: list[tuple[Tensor, Tensor] | None]) -> Tensor:
    """Logits after the new tokens (batch, new); the caches grow by them."""
    past = 0 if caches[0] is None else caches[0][0].shape[2]
    x = model.tokens(new) + model.positions.weight[past : past + new.shape[1]]
    for i, layer in enumerate(model.layers):
        attention, y = layer.attention, layer.norm1(x)
        projections = attention.q_proj, attention.k_proj, attention.v_proj
        q, k, v = (p(y).unflatten(-1, (attention.n_heads, -1)).transpose(1, 2) for p in projections)
        output, caches[i] = cached_attention(q, k, v, caches[i])
        x = x + attention.out_proj(output.transpose(1, 2).flatten(2))
        x = x + layer.feed_forward(layer.norm2(x))
    return model.norm(x[:, -1]) @ model.tokens.weight.T


# ---- tiles


def by_tiles(lengths: tuple[int, ...], d: int = 64, block: int = 128) -> list[str]:
    lines = [
        "## Attention by tiles",
        "",
        f"One head of width {d}, forward, one thread: milliseconds of processor time (the best of five) and megabytes",
        f"at the peak. Tiles have {block} keys; *fused* is torch's own fused attention. All three agree to 1e-4.",
        "",
        "| positions | full, ms | tiled, ms | fused, ms | full, MB | tiled, MB | fused, MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for n in lengths:
        q, k, v = torch.randn(3, 1, 1, n, d, generator=torch.Generator().manual_seed(0))
        works: list[Callable[[], Tensor]] = [
            lambda q=q, k=k, v=v: (q @ k.mT / math.sqrt(d)).softmax(dim=-1) @ v,
            lambda q=q, k=k, v=v: tiled_attention(q, k, v, block)[0],
            lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v),
        ]
        with torch.no_grad():
            expected = works[0]()
            assert all(torch.allclose(work(), expected, atol=1e-4) for work in works)
            best = [min(clocked(work) for _ in range(5)) for work in works]
            peaks = [peak_bytes(work) for work in works]
        times = " | ".join(f"{1000 * took:.1f}" for took in best)
        lines.append(f"| {n:,} | {times} | " + " | ".join(f"{peak / 1e6:.1f}" for peak in peaks) + " |")
    return lines


if __name__ == "__main__":
    print("\n".join(section(small="--small" in sys.argv)))
