"""The same program in other words: as students differ who were told the same."""

from __future__ import annotations

import ast
import random

MODULES = ("torch", "math", "nn", "super()")
OTHER_NAMES = ("a", "b1", "res", "tmp", "val", "out_", "my", "cur", "part", "step", "new", "this")


def spelled(text: str, dice: random.Random) -> str:
    """A definition with its variables named anew and its calls spelled in another way, each as the dice say.

    What it computes stays the same, the rounding of a matrix product perhaps excepted.
    """
    tree = ast.parse(text)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            _rename(function, dice)
    return ast.unparse(ast.fix_missing_locations(_Spelling(dice).visit(tree)))


def shape(text: str) -> str:
    """What is left of a program without the names of its variables."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = "_"
    return ast.dump(tree)


def _rename(function: ast.FunctionDef, dice: random.Random) -> None:
    """Other names for what a function assigns; its arguments keep theirs."""
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    words = dict(zip(sorted(own), dice.sample(OTHER_NAMES, len(own)), strict=True))
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in words:
            node.id = words[node.id]


class _Spelling(ast.NodeTransformer):
    """Every expression that can be spelled in more than one way gets one of them."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            left, right = ast.unparse(node.left), ast.unparse(node.right)
            return self._one_of(f"({left}) @ ({right})", f"torch.matmul({left}, {right})", f"({left}).matmul({right})")
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute) or ast.unparse(node.func.value) in MODULES:
            return node
        subject, method = ast.unparse(node.func.value), node.func.attr
        rest = [ast.unparse(argument) for argument in (*node.args, *node.keywords)]
        given = ", ".join(rest)
        plain = f"({subject}).{method}({given})"
        if method == "transpose" and rest == ["-2", "-1"]:
            swapped = f"({subject}).transpose(-1, -2)"
            return self._one_of(plain, swapped, f"({subject}).mT", f"torch.swapaxes({subject}, -2, -1)")
        if method in ("exp", "sum", "softmax", "amax", "log", "logsumexp", "transpose", "masked_fill"):
            return self._one_of(plain, f"torch.{method}({', '.join([subject, *rest])})")
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if node.value is None or isinstance(node.value, ast.Tuple) or self.dice.random() < 0.5:
            return node
        word = self.dice.choice(("result", "answer", "y", "found"))
        return ast.parse(f"{word} = {ast.unparse(node.value)}\nreturn {word}").body

    def _one_of(self, *ways: str) -> ast.expr:
        return ast.parse(self.dice.choice(ways), mode="eval").body
