"""Exceptions of which a notebook shows the sentence alone: the frames above it would be ours, and say nothing."""

from __future__ import annotations


class OneSentence(Exception):
    """An exception that says all in its message."""

    def _render_traceback_(self) -> list[str]:  # what IPython calls for it
        text = str(self)
        return [text[:1].upper() + text[1:]]
