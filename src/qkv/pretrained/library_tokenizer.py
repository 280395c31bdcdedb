"""Tokenizers that cut texts otherwise than GPT-2 does: those of Llama, of Qwen, and of most models since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qkv.pretrained.checkpoint import CheckpointError
from qkv.pretrained.hub import INSTALL


class LibraryTokenizer:
    """Text to ids and back by tokenizer.json, which the library `tokenizers` reads.

    A model of today cuts texts by a pattern of its own (digits one by one, or three together) before it merges bytes,
    and may put a token in front of every text. GPT-2's tokenizer would give other ids for the same words, and no error.

    Args:
        path: tokenizer.json.
        end: the token that ends a text, if there is one.
    """

    def __init__(self, path: Path, end: str | None = None) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise CheckpointError(
                f"{path} cuts texts otherwise than GPT-2 does; to read it, tokenizers is needed: {INSTALL}."
            ) from None
        try:
            self.library = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more special
            raise CheckpointError(f"{path} can't be read: {error}.") from None
        self.end: int | None = None if end is None else self.library.token_to_id(end)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, with what the model expects in front of it."""
        return list(self.library.encode(text).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, without the tokens that are no text."""
        unknown = next((number for number in ids if self.library.id_to_token(number) is None), None)
        if unknown is not None:
            raise ValueError(f"ids contains {unknown}, which tokenizer.json does not have.")
        return str(self.library.decode(list(ids)))


def is_gpt2s(path: Path) -> bool:
    """Whether tokenizer.json says that texts are cut and merged as GPT-2 does it."""
    try:
        said: Any = json.loads(path.read_text(encoding="utf-8"))
        cut, model = said["pre_tokenizer"] or {}, said["model"]
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(f"{path} does not say how texts are cut and merged.") from None
    plain_cut = cut.get("type") == "ByteLevel" and cut.get("use_regex", True) and not cut.get("add_prefix_space")
    return bool(plain_cut and said.get("normalizer") is None and model.get("type", "BPE") == "BPE")


def end_of(path: Path) -> str | None:
    """The token that ends a text, by tokenizer_config.json."""
    try:
        token = json.loads(path.read_text(encoding="utf-8")).get("eos_token")
    except (OSError, ValueError, AttributeError):
        return None
    return token.get("content") if isinstance(token, dict) else token
