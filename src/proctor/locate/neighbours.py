"""Operators, functions and dimensions that are easily confused."""

from __future__ import annotations

import ast
import re
from functools import cache

import torch

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Mult),
    ast.Mult: (ast.Div, ast.MatMult, ast.Add, ast.Sub),
    ast.Div: (ast.Mult, ast.FloorDiv, ast.Sub),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitAnd, ast.BitOr),
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt, ast.GtE),
    ast.Gt: (ast.GtE, ast.LtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Gt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
FAMILIES = (
    ("sum", "mean", "amax", "max", "median", "logsumexp", "std", "var", "norm", "prod"),
    ("amax", "amin", "max", "min", "argmax"),
    ("argmax", "argmin"),
    ("maximum", "minimum"),
    ("exp", "log", "exp2", "expm1"),
    ("log", "log1p", "log2", "log10"),
    ("sqrt", "square", "rsqrt"),
    ("sin", "cos", "tan"),
    ("tanh", "sigmoid", "relu", "silu", "softplus", "erf", "elu"),
    ("tril", "triu"),
    ("zeros", "ones", "empty"),
    ("zeros_like", "ones_like", "empty_like"),
    ("stack", "cat"),
    ("repeat", "repeat_interleave", "tile", "expand"),
    ("floor", "ceil", "round", "trunc", "long", "int"),
    ("cumsum", "cumprod", "sum"),
    ("all", "any"),
    ("masked_fill", "masked_fill_", "masked_scatter"),
    ("logical_and", "logical_or", "logical_xor"),
    ("reshape", "view", "flatten"),
    ("isnan", "isinf", "isfinite"),
    ("float", "double", "half", "long"),
    ("sorted", "reversed"),
    ("topk", "sort"),
    ("append", "extend"),
    ("randn", "rand"),
    ("clamp", "clip"),
)
REDUCES = {
    "sum",
    "mean",
    "amax",
    "amin",
    "max",
    "min",
    "var",
    "std",
    "norm",
    "logsumexp",
    "prod",
    "all",
    "any",
    "argmax",
}
CREATES = {"tensor", "zeros", "ones", "full", "eye", "arange", "linspace", "logspace", "empty", "rand", "randn"}
DIMENSIONS = (-1, -2, 0, 1, -3, 2, 3)


def neighbours_of(name: str) -> tuple[str, ...]:
    """The functions that a function may have been taken for."""
    found = [other for family in FAMILIES if name in family for other in family]
    found += [other for other in (f"log_{name}", name.removeprefix("log_")) if hasattr(torch, other)]
    return tuple(dict.fromkeys(other for other in found if other != name))


@cache
def takes_dimension(name: str) -> bool:
    """Has a function of torch's, by its documented signature, an argument that is a dimension?"""
    function = getattr(torch.Tensor, name, None) or getattr(torch, name, None)
    signature = (getattr(function, "__doc__", None) or "").strip().partition("\n")[0]
    return re.search(r"\b(start_)?dim|\baxis", signature) is not None
