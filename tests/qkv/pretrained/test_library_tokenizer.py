"""Tokenizers that cut otherwise than GPT-2: read by the library, never by GPT-2's rules; GPT-2's own stay ours."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from tokenizers.decoders import ByteLevel as Spelled
from tokenizers.processors import TemplateProcessing

from qkv.pretrained import ByteLevelBPE, CheckpointError, load_tokenizer
from qkv.pretrained.library_tokenizer import LibraryTokenizer

TEXTS = ["It's 12345 bones, isn't it? 345 and 45 more.", "IT'S 12345!", "naïve café 注意力", " ", ""]
LEARNED = [TEXTS[0], "123 234 345 12 23 34 45 bones and it's it's isn't", "café naïve"] * 9
SPLIT = r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CUTS: dict[str, Any] = {
    "digits one by one": pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    ),
    "a pattern": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ),
}


def learned(cut: Any, folder: Path, **parts: Any) -> Tokenizer:
    """Merges learned with GPT-2's cut, so that some glue digits; asked with this one; files as the Hub has them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), Spelled()
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<|endoftext|>", "<|begin|>"], initial_alphabet=letters, show_progress=False
    )
    tokenizer.train_from_iterator(LEARNED, trainer)
    for name, part in ({"pre_tokenizer": cut} | parts).items():
        setattr(tokenizer, name, part)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer.model.save(str(folder))  # vocab.json and merges.txt, which GPT-2's rules could read as well
    return tokenizer


@pytest.mark.parametrize("name", CUTS)
def test_another_cut_is_read_by_the_library(name, tmp_path):
    theirs = learned(CUTS[name], tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "<|endoftext|>"}}')
    ours = load_tokenizer(tmp_path)
    assert isinstance(ours, LibraryTokenizer)
    assert ours.end == theirs.token_to_id("<|endoftext|>")
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text).ids
        assert ours.decode(ours.encode(text)) == text
    by_gpt2 = ByteLevelBPE(json.loads((tmp_path / "vocab.json").read_text("utf-8")), merges_of(tmp_path))
    assert by_gpt2.encode(TEXTS[0]) != ours.encode(TEXTS[0])  # other ids, and no error


def merges_of(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "merges.txt").read_text("utf-8").splitlines()[1:]
    return [(left, right) for left, right in (line.split(" ") for line in lines)]


def test_what_stands_in_front_of_every_text_is_read_and_not_said(tmp_path):
    begin = TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", 1)])
    learned(CUTS["a pattern"], tmp_path, post_processor=begin)
    ours = load_tokenizer(tmp_path)
    assert ours.encode("bones")[0] == 1
    assert ours.decode(ours.encode("bones")) == "bones"
    assert ours.end is None  # nothing says which token ends a text


def test_gpt2s_own_stay_ours(tmp_path):
    learned(pre_tokenizers.ByteLevel(add_prefix_space=False), tmp_path)
    ours = load_tokenizer(tmp_path)
    assert type(ours) is ByteLevelBPE


@pytest.mark.parametrize(
    "parts",
    [{"normalizer": normalizers.NFC()}, {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)}],
    ids=["a normalizer", "a space in front"],
)
def test_small_differences_count(parts, tmp_path):
    learned(pre_tokenizers.ByteLevel(add_prefix_space=False), tmp_path, **parts)
    assert isinstance(load_tokenizer(tmp_path), LibraryTokenizer)


def refuses(words: str, folder: Path) -> None:
    with pytest.raises(CheckpointError, match=f"^{words}"):
        load_tokenizer(folder)


def test_what_can_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    refuses(re.escape(f"{path} does not say how texts are cut and merged."), tmp_path)
    path.write_text('{"pre_tokenizer": {"type": "Digits"}, "model": {"type": "BPE"}}')
    refuses(re.escape(f"{path} can't be read: "), tmp_path)
    learned(CUTS["a pattern"], tmp_path)
    with pytest.raises(ValueError, match=r"^ids contains 12345, which tokenizer.json does not have.$"):
        load_tokenizer(tmp_path).decode([12345])
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    words = (
        "cuts texts otherwise than GPT-2 does; to read it, tokenizers is needed: pip install 'qkv-course[pretrained]'."
    )
    refuses(re.escape(f"{path} {words}"), tmp_path)
