"""A quoted line of code: on one line, and cut so that its point is still there."""

from __future__ import annotations


def short(code: str, most: int = 80, point: str = "") -> str:
    """Code on one line, of which at most so many characters are shown: those around the point, or the first."""
    code, point = " ".join(code.split()), " ".join(point.split())
    if len(code) <= most:
        return code
    at = code.find(point) if point else -1
    middle = at + min(len(point), most - 2) // 2
    begin = 0 if at < 0 else max(0, min(middle - most // 2, len(code) - most))
    shown = code[begin : begin + most]
    if begin:
        shown = "…" + shown[1:].lstrip()
    return shown[:-1].rstrip() + "…" if begin + most < len(code) else shown
