"""By name: what is kept on this machine is found without a network, and what is not is told in a sentence."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from qkv.pretrained import CheckpointError, load
from qkv.pretrained.hub import folder_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def refuses(words: str, source: str | Path, cache: Path | None = None) -> None:
    with pytest.raises(CheckpointError, match=f"^{re.escape(words)}$"):
        load(source, cache)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """As HF_HUB_OFFLINE=1 does, which is read when the library is imported."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def kept(cache: Path, name: str, *files: str) -> Path:
    """Lay a cache out as the library does."""
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    folder = repository / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).write_text("{}")
    return folder


@pytest.mark.usefixtures("offline")
def test_what_was_fetched_before_is_found_without_a_network(tmp_path):
    folder = kept(tmp_path, "school/tiny", "config.json", "model.safetensors")
    assert folder_of("school/tiny", ["config.json", "model.safetensors"], tmp_path) == folder


@pytest.mark.usefixtures("offline")
def test_what_is_not_here_is_told(tmp_path):
    words = (
        "config.json of school/tiny is not on this machine and the Hub can't be reached. "
        "Connect to the internet once; after that it is kept."
    )
    refuses(words, "school/tiny", tmp_path)
    kept(tmp_path, "school/tiny", "config.json")
    refuses(words.replace("config.json", "model.safetensors"), "school/tiny", tmp_path)


def test_without_the_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    words = (
        "there is no folder school/tiny, and to fetch it by name huggingface_hub is needed: "
        "pip install 'qkv-course[pretrained]'."
    )
    refuses(words, "school/tiny")


def test_without_the_reader_of_files(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    monkeypatch.setitem(sys.modules, "safetensors", None)
    refuses("to read model.safetensors, safetensors is needed: pip install 'qkv-course[pretrained]'.", tmp_path)


def test_names_that_can_not_be(tmp_path):
    refuses(f"there is no folder {tmp_path / 'none'}.", str(tmp_path / "none"))
    refuses("there is no folder none.", Path("none"))
    refuses("there is no folder ./none.", "./none")
    refuses("there is no folder a name, and it can't be a name on the Hub.", "a name")


class Answer:
    """What the library's errors want to know of an answer."""

    headers: dict[str, str] = {}  # noqa: RUF012
    request = None
    status_code = 404


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errors.RepositoryNotFoundError, "there is no folder a/b, and no such model on the Hub (or it is private)."),
        (errors.RemoteEntryNotFoundError, "a/b on the Hub has no file config.json."),
        (errors.HfHubHTTPError, "the Hub refused config.json of a/b: 503 busy."),
    ],
)
def test_what_the_hub_says(error, words, monkeypatch):
    def refuse(*arguments: object, **named: object) -> str:
        raise error("503 busy\nsecond line", response=Answer())

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    refuses(words, "a/b")
