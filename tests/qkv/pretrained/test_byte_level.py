"""GPT-2's tokenizer against `tokenizers`' own, built from the same two files; files that don't fit are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import ByteLevelBPETokenizer

from qkv.model.models import encode_bpe
from qkv.model.zoo import GPT2
from qkv.pretrained import ByteLevelBPE, CheckpointError, load_tokenizer, write
from qkv.pretrained.byte_level import byte_characters, cut

SENTENCES = [
    "The dogs near the river eat bones often, don't they? They'll eat 12 bones in 2026.",
    "It's a naïve café; we've seen  two   spaces\tand\n\nlines.",
    "注意力 is all you need — naïveté! 力 力 力",
    "the the the there then these, and the others' 3½ metres",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(SENTENCES * 3, vocab_size=400, min_frequency=2, special_tokens=["<|endoftext|>"])
    trained.save_model(str(folder))
    return folder


@pytest.fixture(scope="module")
def theirs(files: Path) -> ByteLevelBPETokenizer:
    return ByteLevelBPETokenizer(str(files / "vocab.json"), str(files / "merges.txt"))


@pytest.fixture(scope="module")
def ours(files: Path) -> ByteLevelBPE:
    return load_tokenizer(files)


TEXTS = [
    *SENTENCES,
    "",
    " ",
    "  leading and trailing  ",
    "a  b   c\n d\t\te \n\n f",
    "I'm, you're, he'd, WE'LL, 'sa 'tis ' ''s",
    "x=12+½②Ⅷ٣ 1a2b3",
    "一二三 αβγ ñ́ 🙂👍🏽 \u00a0nbsp \u2003em\u3000wide \x1c\x1d\x85",
    "<|endoftext|>",
    "tab\tthen 'quote' and_under_score",
]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_tokenizers(ours, theirs, text):
    assert ours.encode(text) == theirs.encode(text).ids
    assert ours.decode(ours.encode(text)) == text


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet="  \t\n'strevmldaé力½7.\x1c\u00a0_-", max_size=30))
def test_ids_of_any_mixture(text):
    ours, theirs = both()
    assert ours.encode(text) == theirs.encode(text).ids


_BOTH: list[tuple[ByteLevelBPE, ByteLevelBPETokenizer]] = []


@pytest.fixture(scope="module", autouse=True)
def _keep_both(ours: ByteLevelBPE, theirs: ByteLevelBPETokenizer) -> None:
    _BOTH[:] = [(ours, theirs)]


def both() -> tuple[ByteLevelBPE, ByteLevelBPETokenizer]:
    """Hypothesis and fixtures do not go together."""
    return _BOTH[0]


def test_inside_a_word_it_is_chapter_12s_encoding(files, ours):
    lines = (files / "merges.txt").read_text("utf-8").splitlines()[1:]
    number = {character: byte for byte, character in byte_characters().items()}
    merges = []
    for i, line in enumerate(lines):
        left, right = line.split(" ")
        merges.append((number[left], number[right]))
        number[left + right] = 256 + i
    spelled = {i: token for token, i in number.items()}
    for word in {word for text in TEXTS for word in cut(text)}:
        assert [spelled[i] for i in encode_bpe(word, merges)] == [ours.tokens[i] for i in ours.encode(word)]


def test_a_cut_character_is_marked(ours):
    assert ours.decode(ours.encode("🙂")[:1]) == "�"
    with pytest.raises(ValueError, match=r"^ids contains 12345, which vocab.json does not have.$"):
        ours.decode([12345])


def test_the_end_has_an_id(ours):
    assert ours.end == 0
    assert ours.decode([0]) == "<|endoftext|>"


# What does not fit


def refuses(words: str, folder: Path) -> None:
    with pytest.raises(CheckpointError, match=f"^{re.escape(words)}$"):
        load_tokenizer(folder)


def test_files_that_do_not_fit(files, tmp_path):
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    refuses(f"{tmp_path} has no vocab.json, which the tokenizer needs.", tmp_path)
    vocab.write_text("[", "utf-8")
    refuses(f"{tmp_path} has no merges.txt, which the tokenizer needs.", tmp_path)
    lines = (files / "merges.txt").read_text("utf-8").splitlines()
    merges.write_text("\n".join(lines), "utf-8")
    with pytest.raises(CheckpointError, match=r"vocab.json is not JSON: Expecting value"):
        load_tokenizer(tmp_path)
    vocab.write_text('{"a": "b"}', "utf-8")
    refuses(f"{vocab} does not give a whole number for each token.", tmp_path)
    numbers = json.loads((files / "vocab.json").read_text("utf-8"))
    last = lines[-1].replace(" ", "")
    vocab.write_text(json.dumps({token: i for token, i in numbers.items() if token != last}), "utf-8")
    refuses(f"the merges make the token {last!r}, which vocab.json does not have.", tmp_path)
    vocab.write_text(json.dumps(numbers | {last: 5}), "utf-8")
    refuses("vocab.json gives the same id to two tokens.", tmp_path)
    vocab.write_text(json.dumps(numbers), "utf-8")
    merges.write_text("#version: 0.2\nt h\nth e\nthey s\n", "utf-8")
    refuses("merge 2, 'they' 's', uses 'they', which no merge before it makes.", tmp_path)
    merges.write_text("t h\nth e s\n", "utf-8")
    refuses(f"line 2 of {merges} is 'th e s', expected two tokens with a space between.", tmp_path)


# Writing


def model(ours: ByteLevelBPE, length: int = 9) -> GPT2:
    torch.manual_seed(0)
    return GPT2(len(ours.vocab), length, 8, 2, 1, 12).eval()


def test_writing_is_sampling_again_and_again(ours):
    gpt, prompt = model(ours), "The dogs near the"
    found = write(gpt, ours, prompt, 12, 0.9, 20, 0.95, torch.Generator().manual_seed(3))
    ids, replay = ours.encode(prompt), torch.Generator().manual_seed(3)
    for _ in range(12):  # the same by torch alone
        logits = gpt(torch.tensor([ids[-9:]]))[0, -1].detach() / 0.9
        logits[logits < logits.topk(20).values[-1]] = -torch.inf
        p, order = logits.softmax(-1).sort(descending=True)
        p[p.cumsum(0) - p >= 0.95] = 0
        shares = torch.zeros_like(p).scatter(0, order, p / p.sum())
        ids.append(int(torch.multinomial(shares, 1, generator=replay)))
    assert ours.end not in ids
    assert found == ours.decode(ids)


def test_writing_stops_at_the_end(ours):
    gpt = model(ours)
    with torch.no_grad():
        gpt.norm.bias.copy_(100 * gpt.tokens.weight[ours.end])
    assert write(gpt, ours, "The", 50, temperature=0) == "The"


def test_writing_needs_a_beginning(ours):
    with pytest.raises(ValueError, match=r"^prompt is empty, expected at least one character to go on from.$"):
        write(model(ours), ours, "", 5)
