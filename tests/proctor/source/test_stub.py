"""Definitions without their body: made from any definition, known as such, and nothing else is."""

from __future__ import annotations

import ast
import inspect
import textwrap

import pytest

from proctor.source.statements import statements
from proctor.source.stub import Cutter, is_stub
from proctor.source.text import FunctionOrClass, Text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): raise NotImplementedError", True),
        ("def f():\n    '''Words.'''\n    raise NotImplementedError('write it')", True),
        ("def f(): ...", True),
        ("def f(): pass", True),
        ("async def f(): raise NotImplementedError", True),
        ("def f(): return 1", False),
        ("def f(): raise ValueError", False),
        ("def f():\n    x = 1\n    raise NotImplementedError", False),
        ("class C:\n    def __init__(self): self.a = 1\n    def f(self): raise NotImplementedError", True),
        ("class C:\n    def f(self): raise NotImplementedError\n    def g(self): return 1", False),
        ("class C:\n    a = 1", False),
        ("f = None", False),
        ("def f(): raise NotImplementedError(" + "1+" * 2000 + "1)", True),
    ],
)
def test_what_is_a_stub(text: str, expected: bool) -> None:
    (node,) = ast.parse(text).body
    assert is_stub(node) is expected


def test_a_stub_of_any_function_is_python_a_stub_and_keeps_its_signature() -> None:
    count = 0
    for module in (ast, inspect, textwrap):
        text = Text(inspect.getsource(module))
        cut = Cutter(text)
        for node in text.tree.body:
            if isinstance(node, FunctionOrClass):
                (made,) = statements(cut.stub(node))
                assert made.binds == {node.name}
                if not isinstance(node, ast.ClassDef):
                    assert made.is_stub
                    assert ast.dump(made.node.args) == ast.dump(node.args)  # type: ignore[attr-defined]
                    assert ast.get_docstring(made.node) == ast.get_docstring(node)  # type: ignore[arg-type]
                assert ast.dump(ast.parse(cut.whole(node)).body[0]) == ast.dump(node)
                count += 1
    assert count > 100


def test_decorators_can_be_left_out_everywhere() -> None:
    text = Text("@keep\n@drop(\n  1)\ndef f():\n    @a.drop\n    def g(): ...\n@drop\nclass C: ...\nx = 1\n")
    assert Cutter(text, {"drop"}).whole() == "@keep\ndef f():\n    def g(): ...\nclass C: ...\nx = 1\n"
