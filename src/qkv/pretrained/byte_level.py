"""GPT-2's tokenizer: byte pairs inside words, with bytes written as printable characters.

Chapter 12's `encode_bpe` with three additions. A text is first cut into words, each with the space before it, and pairs
are merged inside a word only. In the files vocab.json and merges.txt each byte is written as one printable character.
And ids are those of vocab.json.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn

from qkv.model.models import sampling_probabilities
from qkv.model.zoo import GPT2
from qkv.pretrained.checkpoint import CheckpointError
from qkv.pretrained.hub import folder_of
from qkv.pretrained.library_tokenizer import LibraryTokenizer, end_of, is_gpt2s

# Letters, numbers, other signs, white space: each character of a text by its kind, so that `re` can cut it
WORD = re.compile(r" ?L+| ?N+| ?O+|[ S]+(?![^ S])|[ S]+")
SHORTENED = re.compile(r"'(?:s|t|re|ve|m|ll|d)")  # it's, don't, we're, …
NOT_SPACE = "\x1c\x1d\x1e\x1f"  # Python calls these white space, Unicode does not


def byte_characters() -> dict[int, str]:
    """A printable character for each byte: itself if it has one, else the next unused one from 256 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}


def kind(character: str) -> str:
    """L for a letter, N for a number, a space for itself, S for other white space, O for the rest."""
    if character == " ":
        return " "
    if character.isspace() and character not in NOT_SPACE:
        return "S"
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "O"


def cut(text: str) -> list[str]:
    """Words of a text, each with the one space before it; together they are the text."""
    kinds = "".join(map(kind, text))
    pieces, at = [], 0
    while at < len(text):
        found = SHORTENED.match(text, at) or WORD.match(kinds, at)
        assert found is not None  # each kind begins some alternative
        pieces.append(text[at : found.end()])
        at = found.end()
    return pieces


class ByteLevelBPE:
    """Text to ids and back, as GPT-2 does it.

    Args:
        vocab: the id of every token, tokens in byte characters, as in vocab.json.
        merges: pairs of tokens in the order in which they are merged, as in merges.txt.
    """

    def __init__(self, vocab: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> None:
        self.characters = byte_characters()
        known = set(self.characters.values())
        for i, (left, right) in enumerate(merges):
            unknown = next((part for part in (left, right) if part not in known), None)
            if unknown is not None:
                raise CheckpointError(
                    f"merge {i}, {left!r} {right!r}, uses {unknown!r}, which no merge before it makes."
                )
            known.add(left + right)
        nameless = next((token for token in sorted(known) if token not in vocab), None)
        if nameless is not None:
            raise CheckpointError(f"the merges make the token {nameless!r}, which vocab.json does not have.")
        if len(set(vocab.values())) < len(vocab):
            raise CheckpointError("vocab.json gives the same id to two tokens.")
        self.vocab = dict(vocab)
        self.tokens = {number: token for token, number in vocab.items()}
        self.rank = {(left, right): i for i, (left, right) in enumerate(merges)}
        self.bytes = {character: byte for byte, character in self.characters.items()}
        self.of_word = lru_cache(maxsize=100_000)(self._of_word)

    @property
    def end(self) -> int | None:
        """The id that ends a text, if there is one."""
        return self.vocab.get("<|endoftext|>")

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Nothing in it is special: "<|endoftext|>" is spelled out."""
        return [number for word in cut(text) for number in self.of_word(word)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. Bytes that do not make a character, at the edge of a cut, become �."""
        unknown = next((number for number in ids if number not in self.tokens), None)
        if unknown is not None:
            raise ValueError(f"ids contains {unknown}, which vocab.json does not have.")
        spelled = "".join(self.tokens[number] for number in ids)
        return bytes(b for c in spelled for b in self._bytes_of(c)).decode("utf-8", errors="replace")

    def _bytes_of(self, character: str) -> bytes:
        """A token that was added by hand may hold a character that stands for no byte."""
        return bytes([self.bytes[character]]) if character in self.bytes else character.encode()

    def _of_word(self, word: str) -> tuple[int, ...]:
        """Always the pair of the lowest rank that is there: the same as `encode_bpe`, in fewer steps."""
        parts = [self.characters[byte] for byte in word.encode()]
        while len(parts) > 1:
            best = min(pairwise(parts), key=lambda pair: self.rank.get(pair, len(self.rank)))
            if best not in self.rank:
                break
            glued: list[str] = []
            for part in parts:
                if glued and (glued[-1], part) == best:
                    glued[-1] += part
                else:
                    glued.append(part)
            parts = glued
        return tuple(self.vocab[part] for part in parts)


def load_tokenizer(source: str | Path, cache: str | Path | None = None) -> ByteLevelBPE | LibraryTokenizer:
    """Read vocab.json and merges.txt, as GPT-2 has them, or a tokenizer.json that cuts texts in another way.

    Args:
        source: a folder, or a name on the Hub such as "openai-community/gpt2".
        cache: where files from the Hub are kept; None means the Hub's own place.
    """
    whole = found(source, "tokenizer.json", cache)
    if whole is not None and not is_gpt2s(whole):
        settings = found(source, "tokenizer_config.json", cache)
        return LibraryTokenizer(whole, None if settings is None else end_of(settings))
    folder = folder_of(source, ["vocab.json", "merges.txt"], cache)
    for name in ("vocab.json", "merges.txt"):
        if not (folder / name).is_file():
            raise CheckpointError(f"{folder} has no {name}, which the tokenizer needs.")
    try:
        vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{folder / 'vocab.json'} is not JSON: {error}.") from None
    if not isinstance(vocab, dict) or not all(isinstance(number, int) for number in vocab.values()):
        raise CheckpointError(f"{folder / 'vocab.json'} does not give a whole number for each token.")
    return ByteLevelBPE(vocab, read_merges(folder / "merges.txt"))


def found(source: str | Path, name: str, cache: str | Path | None) -> Path | None:
    """A file that a checkpoint may have or not."""
    try:
        path = folder_of(source, [name], cache) / name
    except CheckpointError:
        return None
    return path if path.is_file() else None


def read_merges(path: Path) -> list[tuple[str, str]]:
    """Pairs of tokens, one a line; the first line may say a version."""
    merges = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            raise CheckpointError(f"line {number} of {path} is {line!r}, expected two tokens with a space between.")
        merges.append((parts[0], parts[1]))
    return merges


@torch.no_grad()
def write(
    model: nn.Module,
    tokenizer: ByteLevelBPE | LibraryTokenizer,
    prompt: str,
    n_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> str:
    """Let GPT-2, Llama or Qwen3 go on with a text, token by token, until it ends or there are n_tokens new ones.

    Args:
        model: what `load` gives for them. GPT-2 reads its last `model.length` tokens anew for every token; a `Llama`,
            which gives logits and caches, reads each token once.
        tokenizer: what `load_tokenizer` gives for it.
        prompt: how the text begins, at least one character.
        n_tokens: how many tokens are written at most.
        temperature: see `sampling_probabilities`, as for top_k and top_p.
        top_k: how many tokens may be drawn.
        top_p: how much probability may be drawn from.
        generator: where the randomness comes from.

    Returns:
        the prompt and what follows it.
    """
    ids = tokenizer.encode(prompt)
    if not ids:
        raise ValueError("prompt is empty, expected at least one character to go on from.")
    device = next(model.parameters()).device
    caches, new = None, ids
    for _ in range(n_tokens):
        if isinstance(model, GPT2):
            logits = model(torch.tensor([ids[-model.length :]], device=device))
        else:
            logits, caches = model(torch.tensor([new], device=device), caches)
        p = sampling_probabilities(logits[0, -1], temperature, top_k, top_p)
        following = int(torch.multinomial(p.cpu(), 1, generator=generator))
        if following == tokenizer.end:
            break
        ids.append(following)
        new = [following]
    return tokenizer.decode(ids)
