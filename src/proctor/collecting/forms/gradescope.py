"""Gradescope's export: a folder per submission, and `submission_metadata.yml`, which says whose each is, and when.

    submission_1001:
      :submitters:
      - :name: Anna Ahl
        :sid: '1041'
        :email: anna@example.org
      :created_at: 2026-11-18 21:50:00 Z

A submission with several submitters is a group's, and each of them gets it.
"""

from __future__ import annotations

from typing import Any

import yaml

from proctor.collecting.tree import Tree, joined, top_of
from proctor.collecting.upload import BadDownload, Found, Upload, Who, time_of
from proctor.marking.submissions import legible, skipped

METADATA = "submission_metadata.yml"
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the quick one, where libyaml is there


def top(tree: Tree) -> str | None:
    """There is a description of the submissions."""
    return next((folder for folder in ("", top_of(tree)) if (METADATA, False) in tree.children(folder)), None)


def uploads(tree: Tree, folder: str) -> Found:
    found = Found()
    described = description(tree, joined(folder, METADATA))
    there = [name for name, _ in tree.children(folder) if name != METADATA]
    for name in there:
        entry = described.get(name)
        submitters = [who for who in map(submitter, listed(field(entry, "submitters"))) if who is not None]
        if skipped(name):
            found.ignored.append(legible(name))
        elif not submitters:
            found.unclear.append(joined(folder, name))
        else:
            at = time_of(field(entry, "created_at"))
            order = (int(at.timestamp()), at.microsecond) if at else ()
            found.uploads += [Upload(who, joined(folder, name), order=order, at=at) for who in submitters]
    missing = [legible(str(name)) for name in described if name not in there]
    found.remarks += [f"{METADATA} speaks of {name}, which is not there." for name in missing]
    return found


def description(tree: Tree, path: str) -> dict[Any, Any]:
    """The description, as a table of tables.

    Raises:
        BadDownload: it cannot be read.
    """
    text = tree.text(path)
    try:
        read = yaml.load(text or "", Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadDownload(f"{path} cannot be read: {' '.join(str(error).split())[:200]}.") from None
    if not isinstance(read, dict):
        raise BadDownload(f"{path} describes no submission. Export them from Gradescope again.")
    return read


def field(entry: Any, name: str) -> Any:
    """A field of an entry; Gradescope writes a colon before the names of fields."""
    return entry.get(f":{name}", entry.get(name)) if isinstance(entry, dict) else None


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def submitter(entry: Any) -> Who | None:
    """One submitter; None without a name, an address and a number."""
    values = {name: field(entry, name) for name in ("sid", "name", "email")}
    sid, name, email = (legible(str(value).strip()) if value is not None else "" for value in values.values())
    folder = sid or email or name
    return Who(folder, id=sid, name=name, email=email) if folder else None
