"""Code as the page shows it: without long alt texts, which are on the pictures."""

from __future__ import annotations

import ast

SPARED = 24  # characters of alt text that may stay in the code


def shorten_alt(source: str) -> str:
    """Replace alt texts in the code of the page by three dots."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic
        return source
    spans = [
        (_offset(source, value.lineno, value.col_offset), _offset(source, value.end_lineno, value.end_col_offset))
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "alt" and _is_long_text(value := keyword.value)
    ]
    for start, end in sorted(spans, reverse=True):
        source = source[:start] + '"…"' + source[end:]
    return source


def _is_long_text(value: ast.expr) -> bool:
    is_text = isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str))
    return is_text and len(ast.unparse(value)) > SPARED


def _offset(source: str, line: int | None, column: int | None) -> int:
    """The offset in the text of a line and a column in UTF-8 bytes, as the syntax tree has them."""
    lines = source.splitlines(keepends=True)
    before = lines[(line or 1) - 1].encode()[: column or 0].decode()
    return sum(len(row) for row in lines[: (line or 1) - 1]) + len(before)
