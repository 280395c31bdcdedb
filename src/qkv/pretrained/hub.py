"""Find the files of a checkpoint: in a folder, or by name on the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qkv.pretrained.checkpoint import CheckpointError

INSTALL = "pip install 'qkv-course[pretrained]'"


def folder_of(source: str | Path, files: Sequence[str], cache: str | Path | None = None) -> Path:
    """The folder that holds these files of a checkpoint.

    Args:
        source: a folder, or a name on the Hub such as "openai-community/gpt2".
        files: which files are needed. From the Hub they are fetched once, with a progress bar, and kept.
        cache: where fetched files are kept; None means the Hub's own place.
    """
    if Path(source).is_dir():
        return Path(source)
    name = str(source)
    if isinstance(source, Path) or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise CheckpointError(f"there is no folder {name}.")
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError:
        raise CheckpointError(
            f"there is no folder {name}, and to fetch it by name huggingface_hub is needed: {INSTALL}."
        ) from None
    folder = Path()
    for file in files:
        try:
            folder = Path(huggingface_hub.hf_hub_download(name, file, cache_dir=cache)).parent
        except errors.RepositoryNotFoundError:
            raise CheckpointError(
                f"there is no folder {name}, and no such model on the Hub (or it is private)."
            ) from None
        except errors.HFValidationError:
            raise CheckpointError(f"there is no folder {name}, and it can't be a name on the Hub.") from None
        except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, ConnectionError, TimeoutError):
            raise CheckpointError(
                f"{file} of {name} is not on this machine and the Hub can't be reached. "
                "Connect to the internet once; after that it is kept."
            ) from None
        except errors.EntryNotFoundError:
            raise CheckpointError(f"{name} on the Hub has no file {file}.") from None
        except errors.HfHubHTTPError as error:
            raise CheckpointError(f"the Hub refused {file} of {name}: {str(error).splitlines()[0]}.") from None
    return folder
