"""One upload of one student, as a download of the LMS names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


class BadDownload(ValueError):
    """A download that cannot be read; the message says why, and what to do."""


@dataclass(frozen=True)
class Who:
    """A student, as far as the download tells.

    Args:
        folder: what the results call the student.
        id: of the LMS.
        name: of the person.
        login: of the person.
        email: of the person.
        original: the name in the download that an LMS wants back.
    """

    folder: str
    id: str = ""
    name: str = ""
    login: str = ""
    email: str = ""
    original: str = ""


@dataclass(frozen=True)
class Upload:
    """A file or folder that one student handed in.

    Args:
        who: the student.
        path: in the download.
        called: the file's own name; empty for a folder.
        slot: uploads of one student in one slot are versions of each other, and the newest counts.
        order: grows with each version.
        at: when it was handed in, if the download says it.
        late: whether the LMS calls it late.
    """

    who: Who
    path: str
    called: str = ""
    slot: str = ""
    order: tuple[int, ...] = ()
    at: datetime | None = None
    late: bool = False


@dataclass
class Found:
    """What a form of download holds: uploads, entries that cannot be assigned to anybody, entries that are no work."""

    uploads: list[Upload] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def time_of(value: Any) -> datetime | None:
    """A time from a date, or from a text such as `2026-11-18 21:50:00 UTC`; without a zone it is UTC.

    None if it is none.
    """
    if isinstance(value, str):
        text = value.strip()
        text = f"{text[:-4]}+00:00" if text.endswith((" UTC", " GMT")) else text
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    try:
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        return None
