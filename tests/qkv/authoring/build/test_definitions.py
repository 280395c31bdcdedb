"""Stubs and solutions are cut out of the reference by its syntax tree."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from qkv.authoring.build.definitions import definition
from qkv.course import AuthoringError


@pytest.fixture
def cut(tmp_path: Path):
    def cut(source: str, name: str = "f"):
        module = tmp_path / "module.py"
        module.write_text(textwrap.dedent(source), encoding="utf-8")
        return definition(module, name)

    return cut


def text(block: str) -> str:
    return textwrap.dedent(block).strip("\n")


def without_message(stub: str) -> str:
    return re.sub(r"NotImplementedError\(\"write it, or skip\('\w+'\)\"\)", "NotImplementedError", stub)


def test_the_stub_says_how_to_go_on_without_it(cut) -> None:
    assert cut("def f(x): return x\n").stub == "def f(x):\n    raise NotImplementedError(\"write it, or skip('f')\")"


def test_a_function_keeps_signature_and_docstring_and_loses_its_body(cut) -> None:
    found = cut(
        '''
        import math

        before = 1


        @expects(x="... d")
        def f(x: Tensor, dim: int = -1, *, scale: float | None = None) -> Tensor:
            """Scale x.

            Args:
                x: anything (..., d).
            """
            # the reason
            y = x * (scale or 1.0)  # (..., d)

            return y


        def g():
            return 2
        '''
    )
    assert without_message(found.stub) == text(
        '''
        def f(x: Tensor, dim: int = -1, *, scale: float | None = None) -> Tensor:
            """Scale x.

            Args:
                x: anything (..., d).
            """
            raise NotImplementedError
        '''
    )
    assert found.solved == text(
        '''
        def f(x: Tensor, dim: int = -1, *, scale: float | None = None) -> Tensor:
            """Scale x.

            Args:
                x: anything (..., d).
            """
            # the reason
            y = x * (scale or 1.0)  # (..., d)

            return y
        '''
    )


def test_a_signature_over_many_lines_keeps_its_comments(cut) -> None:
    found = cut(
        '''
        @expects(
            q="... d",
            k="... d",
        )
        def f(
            q: Tensor,  # asks
            k: Tensor = (
                None
            ),
        ) -> tuple[
            Tensor, Tensor
        ]:
            """Words with a colon: and (brackets)."""
            return q, k
        '''
    )
    assert without_message(found.stub) == text(
        '''
        def f(
            q: Tensor,  # asks
            k: Tensor = (
                None
            ),
        ) -> tuple[
            Tensor, Tensor
        ]:
            """Words with a colon: and (brackets)."""
            raise NotImplementedError
        '''
    )
    assert found.solved.startswith("def f(\n")
    assert found.solved.endswith("return q, k")
    assert "expects" not in found.solved


def test_without_a_docstring_no_comment_of_the_answer_is_left(cut) -> None:
    found = cut(
        """
        def f(x):  # stays
            # the trick is to halve it

            # and to add one
            if x:
                return x / 2 + 1
        """
    )
    assert without_message(found.stub) == "def f(x):  # stays\n    raise NotImplementedError"


def test_a_function_on_one_line(cut) -> None:
    assert (
        without_message(cut("def f(ü: str = 'ä'): return ü\n").stub)
        == "def f(ü: str = 'ä'):\n    raise NotImplementedError"
    )
    found = cut("def f(x): 'Words.'; return x\n")
    assert without_message(found.stub) == "def f(x):\n    'Words.'\n    raise NotImplementedError"


def test_decorators_that_are_part_of_the_answer_stay(cut) -> None:
    found = cut(
        """
        @torch.no_grad()
        @model.expects(x="...")
        def f(x):
            return x
        """
    )
    assert without_message(found.stub) == "@torch.no_grad()\ndef f(x):\n    raise NotImplementedError"
    assert found.solved == "@torch.no_grad()\ndef f(x):\n    return x"


MODULE = '''
class Layer(nn.Module):
    """A layer.

    Args:
        d: its width.
    """

    heads: int = 2

    # created once
    @expects(d="positive")
    def __init__(self, d: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d, d)  # with bias

    @expects(x="... d")
    def forward(self, x: Tensor) -> Tensor:
        """Apply it."""
        return self._twice(self.proj(x))

    def _twice(self, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def name() -> str:
        # a comment that gives it away
        return "layer"
'''


def test_a_class_keeps_its_init_and_loses_every_other_body(cut) -> None:
    assert without_message(cut(MODULE, "Layer").stub) == text(
        '''
        class Layer(nn.Module):
            """A layer.

            Args:
                d: its width.
            """

            heads: int = 2

            def __init__(self, d: int) -> None:
                super().__init__()
                self.proj = nn.Linear(d, d)  # with bias

            def forward(self, x: Tensor) -> Tensor:
                """Apply it."""
                raise NotImplementedError

            @staticmethod
            def name() -> str:
                raise NotImplementedError
        '''
    )


def test_a_solved_class_is_its_source_without_the_input_checks(cut) -> None:
    expected = "\n".join(line for line in MODULE.strip().splitlines() if "@expects" not in line)
    assert cut(MODULE, "Layer").solved == expected


def test_every_stub_of_the_course_is_python_that_compiles(root: Path) -> None:
    import ast

    for module in sorted((root / "src" / "qkv" / "model").glob("[a-z]*.py")):
        for node in ast.parse(module.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                found = definition(module, node.name)
                compile(found.stub, f"{node.name}: stub", "exec")
                compile(found.solved, f"{node.name}: solved", "exec")


def test_a_missing_name_and_a_missing_module_say_what_to_do(cut, tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match="defines no function or class g; the chapter has it as an exercise"):
        cut("def f(): pass\n", "g")
    with pytest.raises(AuthoringError, match=r"No reference module .*none.py: write it, g is to be defined there"):
        definition(tmp_path / "none.py", "g")
