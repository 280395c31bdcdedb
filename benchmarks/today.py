"""What chapter 17 builds, against what people use: a Llama with its cache, experts against one network, drafts.

Whatever is compared writes the same tokens, which is checked. `python benchmarks/today.py` prints this part of the
results alone; `--small` is a quick try.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
import transformers
from language import timed
from speed import clocked
from torch import Tensor, nn

from qkv.model.fused_llama import fuse_llama
from qkv.model.today import Llama, SwiGLU, accept_drafts, route_tokens
from qkv.pretrained import load
from qkv.tasks import ledgers


def section(small: bool = False) -> list[str]:
    """The lines of the results about chapter 17's parts."""
    torch.set_num_threads(1)
    lines = writing((16,) if small else (32, 128, 512))
    lines += ["", *experts((64,) if small else (64, 512, 4096), (16, 8) if small else (256, 512))]
    return [*lines, "", *drafting(steps=3 if small else 300, texts=2 if small else 30)]


# ---- writing


def writing(lengths: tuple[int, ...], d_model: int = 256, n_layers: int = 4, n_heads: int = 8) -> list[str]:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=5000,
        hidden_size=d_model,
        intermediate_size=2 * d_model,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        num_key_value_heads=n_heads // 4,
        max_position_embeddings=max(lengths) + 8,
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    theirs.generation_config.eos_token_id = None
    theirs.generation_config.pad_token_id = 0
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours, fused = load(Path(folder)), fuse_llama(load(Path(folder)))
    lines = [
        "## Writing with a Llama",
        "",
        f"Greedy, one sequence, the same random Llama of width {d_model} with {n_layers} layers and {n_heads} heads in "
        f"{n_heads // 4} groups,",
        f"one thread: tokens a second, of ours and of `generate` of transformers {transformers.__version__}, both with "
        "a cache.",
        "All write the same tokens, which is checked.",
        "",
        "| tokens | ours | ours, after `fuse_llama` | transformers |",
        "|---|---|---|---|",
    ]
    prompt = torch.tensor([[1, 2, 3, 4]])
    for n in lengths:
        written, took = timed(lambda n=n: greedy(ours, prompt, n))
        again, fast = timed(lambda n=n: greedy(fused, prompt, n))
        with torch.no_grad():
            generated, their = timed(
                lambda n=n: theirs.generate(
                    prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=n, do_sample=False
                )
            )
        assert written.tolist() == again.tolist() == generated.tolist(), "they write different tokens"
        lines.append(f"| {n} | {n / took:.0f} | {n / fast:.0f} | {n / their:.0f} |")
    return lines


@torch.no_grad()
def greedy(model: nn.Module, ids: Tensor, n_tokens: int) -> Tensor:
    """The prompt and n_tokens more, the likeliest each time."""
    caches, new = None, ids
    for _ in range(n_tokens):
        logits, caches = model(new, caches)
        new = logits[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, new], dim=1)
    return ids


# ---- experts


class Experts(nn.Module):
    """The layer of chapter 17: n small networks, of which each vector sees two."""

    def __init__(self, d: int, d_ff: int, n: int) -> None:
        super().__init__()
        self.router = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList(SwiGLU(d, d_ff) for _ in range(n))

    def forward(self, x: Tensor) -> Tensor:
        weights, experts, _ = route_tokens(self.router(x), 2)
        y = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            row, place = (experts == e).nonzero(as_tuple=True)
            if len(row):
                y = y.index_add(0, row, weights[row, place, None] * expert(x[row]))
        return y


def experts(tokens: tuple[int, ...], size: tuple[int, int], n: int = 8) -> list[str]:
    d, d_ff = size
    torch.manual_seed(0)
    layers = {
        f"{n} experts of {d_ff // n}, two at a time": Experts(d, d_ff // n, n),
        f"one of {d_ff}, the same weights": SwiGLU(d, d_ff),
        f"one of {2 * d_ff // n}, the same products": SwiGLU(d, 2 * d_ff // n),
    }
    lines = [
        "## Experts",
        "",
        f"A feed-forward layer of width {d}, forward, one thread: milliseconds of processor time, the best of five.",
        "",
        f"| tokens | {' | '.join(layers)} |",
        "|---|---|---|---|",
    ]
    for count in tokens:
        x = torch.randn(count, d)
        with torch.no_grad():
            took = [min(clocked(lambda layer=layer, x=x: layer(x)) for _ in range(5)) for layer in layers.values()]
        lines.append(f"| {count:,} | " + " | ".join(f"{1000 * seconds:.2f}" for seconds in took) + " |")
    return lines


# ---- drafts

Ahead = Callable[[list[int], int], list[int]]


def nothing(text: list[int], n: int) -> list[int]:
    return []


def look_up(text: list[int], n: int) -> list[int]:
    """What followed the same word the last time, and so on."""
    text, words = list(text), []
    for _ in range(n):
        earlier = [t for t in range(len(text) - 1) if text[t] == text[-1]]
        if text[-1] == ledgers.STOP or not earlier:
            break
        words.append(text[earlier[-1] + 1])
        text.append(words[-1])
    return words


@torch.no_grad()
def with_drafts(model: nn.Module, prompt: list[int], n_words: int, ahead: Ahead, n: int) -> tuple[list[int], int]:
    """The likeliest words behind a prompt, and how often the model was called for them."""
    g, vocab = torch.Generator(), len(ledgers.WORDS)
    logits, caches = model(torch.tensor([prompt]))
    text, calls = [*prompt, int(logits[0, -1].argmax())], 1
    while len(text) < len(prompt) + n_words:
        drafted = torch.tensor(ahead(text, n), dtype=torch.int64)
        logits, caches = model(torch.tensor([[text[-1], *drafted.tolist()]]), caches)
        p = F.one_hot(logits[0].argmax(dim=-1), vocab).float()  # temperature 0
        text += accept_drafts(p, F.one_hot(drafted, vocab).float(), drafted, g)
        caches, calls = [(k[:, :, : len(text) - 1], v[:, :, : len(text) - 1]) for k, v in caches], calls + 1
    return text[len(prompt) :][:n_words], calls


def drafting(steps: int, texts: int) -> list[str]:
    torch.manual_seed(0)
    model = fuse_llama(Llama(len(ledgers.WORDS), 64, 4, 2, 2, 88, qk_norm=True))
    g = torch.Generator().manual_seed(0)
    data = ledgers.draw(20_000, g)
    adam = torch.optim.AdamW(model.parameters(), 3e-3, betas=(0.9, 0.98))
    for _ in range(steps):
        ids = data[torch.randint(len(data), (32,), generator=g)]
        loss = F.cross_entropy(model(ids[:, :-1])[0].flatten(0, 1), ids[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
    prompts = [text[:13] for text in ledgers.draw(texts, g).tolist()]
    ways: dict[str, tuple[Ahead, int]] = {"none": (nothing, 0)} | {f"looked up, {n}": (look_up, n) for n in (1, 3)}
    lines = [
        "## Drafts",
        "",
        f"The Llama of chapter 17 after {steps} steps on ledgers goes on with {texts} beginnings, 33 words each,",
        "greedily, with a cache: words for each call of the model, and for each second of the processor. All write",
        "the same words, which is checked.",
        "",
        "| drafts a call | words a call | words a second |",
        "|---|---|---|",
    ]
    expected: list[list[int]] | None = None
    for name, (ahead, n) in ways.items():
        began = time.process_time()
        made = [with_drafts(model, prompt, 33, ahead, n) for prompt in prompts]
        took = time.process_time() - began
        words = [text for text, _ in made]
        assert expected is None or words == expected, "drafts change what is written"
        expected, calls = words, sum(count for _, count in made)
        lines.append(f"| {name} | {33 * texts / calls:.2f} | {33 * texts / took:.0f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(section(small="--small" in sys.argv)))
