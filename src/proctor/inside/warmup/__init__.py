"""Optimisations for a class: work done once, before student code exists. None of them changes a verdict.

Every trick stands here, and each has a switch. The environment variable PROCTOR_WARM names those that are on: `all` (as
when it is not set), `none`, or all but some (`-rehearsal,-kept`). A test grades a class with none of them. `make bench`
measures what each gains; what gains less than three parts in a hundred of a class goes.

preload         import what answers usually import (`sandbox.launch.PRELOAD`)
stub_compiler   leave torch's compiler out until somebody asks for it
meta_kernels    on the meta device use torch's own kernels, not their Python versions
rehearsal       do what a child would do for the first time, in the zygote
gaps            take the free places of the heap, so that a child's tensors lie together on pages of its own
freeze          keep what is there out of later garbage collections, which would write to its pages
kept            ask a child several times instead of forking others (`sandbox.sandbox`)
"""

from __future__ import annotations

import os

TRICKS = ("preload", "stub_compiler", "meta_kernels", "rehearsal", "gaps", "freeze", "kept")
VARIABLE = "PROCTOR_WARM"


def chosen(text: str | None = None) -> frozenset[str]:
    """The tricks that are on.

    Args:
        text: what the environment variable says, if not what it says now.
    """
    text = os.environ.get(VARIABLE, "all") if text is None else text
    if text in ("", "all"):
        return frozenset(TRICKS)
    if text == "none":
        return frozenset()
    off = {word.strip().removeprefix("-") for word in text.split(",")}
    if not all(word.strip().startswith("-") for word in text.split(",")) or not off <= set(TRICKS):
        raise ValueError(
            f"{VARIABLE} is all, none, or a list such as -freeze,-kept of {', '.join(TRICKS)}; not {text!r}"
        )
    return frozenset(TRICKS) - off
