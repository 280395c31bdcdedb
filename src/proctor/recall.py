"""The same code is not run twice: in a large class many answers to a small exercise are the same program.

Two answers are the same program if they compile to the same bytecode; names of local variables, comments and layout do
not matter. That their results are the same as well holds only for code that cannot be influenced by what else ran in
its sitting and cannot influence it: code whose every name is known and harmless, which changes nothing but its own
local variables. Other answers have no signature, and are always run.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import CodeType

from proctor.extraction import Definition, walk
from proctor.result import Result

MOST = 20_000  # results that are remembered
MODULES = {"__future__", "math", "torch", "torch.nn", "torch.nn.functional", "typing"}
BUILTINS = {
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "int", "isinstance", "len", "list", "max",
    "min", "range", "reversed", "round", "set", "sorted", "str", "sum", "super", "tuple", "zip",
    "NotImplementedError", "TypeError", "ValueError", "staticmethod", "property",
}  # fmt: skip
# of tensors, lists, torch, math and nn: they compute, and change nothing
HARMLESS = {
    "H", "T", "mT", "Linear", "Module", "Parameter", "Sequential", "Tensor", "abs", "acos", "add", "addmm", "amax",
    "amin", "any", "all", "arange", "argmax", "argmin", "argsort", "as_tensor", "atan", "baddbmm", "bfloat16",
    "bmm", "bool", "broadcast_to", "cat", "ceil", "chunk", "clamp", "clip", "clone", "concat", "contiguous", "cos",
    "cosine_similarity", "cross_entropy", "cumsum", "detach", "device", "diag", "diag_embed", "diagonal", "dim",
    "div", "double", "dtype", "einsum", "embedding", "entr", "eq", "erf", "exp", "exp2", "expand", "expand_as",
    "expm1", "eye", "finfo", "flatten", "flip", "float", "float16", "float32", "float64", "floor", "full",
    "full_like", "functional", "gather", "ge", "gelu", "get_default_dtype", "gt", "inf", "int64",
    "is_floating_point", "isclose", "isfinite", "isinf", "isnan", "item", "items", "keys", "layer_norm", "le",
    "linear", "log", "log10", "log1p", "log2", "log_softmax", "logical_and", "logical_not", "logical_or",
    "logsumexp", "long", "lt", "masked_fill", "math", "matmul", "max", "maximum", "mean", "min", "minimum",
    "movedim", "mul", "multiply", "nan", "nan_to_num", "ndim", "ne", "neg", "new_full", "new_ones", "new_tensor",
    "new_zeros", "nn", "norm", "normalize", "numel", "one_hot", "ones", "ones_like", "outer", "pad", "permute",
    "pi", "pow", "prod", "ravel", "reciprocal", "relu", "repeat", "repeat_interleave", "reshape", "roll", "rsqrt",
    "scaled_dot_product_attention", "scatter", "shape", "sigmoid", "sign", "sin", "sinh", "size", "softmax", "sort",
    "special", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "subtract", "sum", "swapaxes",
    "swapdims", "t", "take_along_dim", "tanh", "tensor", "tensordot", "tile", "to", "tolist", "topk", "transpose",
    "tril", "triu", "type_as", "unbind", "unflatten", "unfold", "unsqueeze", "values", "var", "vecdot", "view",
    "view_as", "where", "xlogy", "zeros", "zeros_like",
}  # fmt: skip
METHODS = {"__init__", "__call__"}
OWN_LISTS = {"append", "extend", "insert", "pop"}  # change what they are called on


class Recall:
    """Results of answers that were seen before."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, bytes, frozenset[str]], Result] = {}

    def find(self, exercise: str, signature: bytes | None, parts: Iterable[str] = ()) -> Result | None:
        """The result of the same program with the same parts of the reference."""
        return None if signature is None else self._results.get((exercise, signature, frozenset(parts)))

    def keep(self, result: Result, signature: bytes | None, parts: Iterable[str] = ()) -> None:
        """Remember a result, if it says nothing that holds for one student's file only (a line number)."""
        if signature is not None and result.state in ("passed", "not_yet") and len(self._results) < MOST:
            self._results[result.exercise, signature, frozenset(parts)] = result


def signature_of(definitions: Sequence[Definition], given: Iterable[str]) -> bytes | None:
    """What makes an answer the program that it is; None if its results may depend on anything else.

    Args:
        definitions: an answer with all that it uses.
        given: global names that are there before it, such as `torch`.
    """
    known = {*BUILTINS, *given, *(name for definition in definitions for name in definition.binds)}
    if not all(definition.needs <= known for definition in definitions):
        return None
    pieces = [essence_of(definition) for definition in definitions]
    return None if None in pieces else hashlib.sha256(b"".join(piece for piece in pieces if piece)).digest()


@lru_cache(maxsize=256)  # several answers of one submission share definitions
def essence_of(definition: Definition) -> bytes | None:
    """What makes a definition what it is; None if it does not keep to itself."""
    if not definition.imports <= MODULES or not keeps_to_itself(definition):
        return None
    code = compile(ast.Module([definition.node], []), "", "exec", dont_inherit=True)
    return hashlib.sha256(repr(definition.text if definition.is_future else essence(code)).encode()).digest()


def essence(code: CodeType) -> tuple[object, ...]:
    """Bytecode with all that it refers to, but for the names of local variables and the docstring."""
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    constants = [essence(c) if isinstance(c, CodeType) else (type(c).__name__, repr(c)) for c in code.co_consts]
    if code.co_flags & 2 and code.co_consts and isinstance(code.co_consts[0], str):  # a function's docstring
        constants[0] = ("NoneType", "None")
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_nlocals, code.co_flags, len(code.co_freevars))
    return code.co_code, code.co_exceptiontable, code.co_names, arguments, shape, tuple(constants)


def keeps_to_itself(definition: Definition) -> bool:
    """Does it use harmless names only, and change nothing but its own variables?"""
    node = definition.node
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        if not is_constant(node.value):  # what is shared must not be changeable
            return False
    elif not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return False
    return all(is_harmless(part, definition) for part in walk(node))


def is_constant(value: ast.expr | None) -> bool:
    """A number, a text, arithmetic of those, a function: nothing that could be changed."""
    changeable = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp | ast.Call
    return value is not None and (
        isinstance(value, ast.Lambda) or not any(isinstance(part, changeable) for part in walk(value))
    )


def is_harmless(node: ast.AST, definition: Definition) -> bool:
    if isinstance(node, ast.Attribute):
        return is_harmless_attribute(node, definition)
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return is_local(node.value, definition)
    if isinstance(node, ast.ImportFrom):
        return all(alias.name in HARMLESS or node.module in ("__future__", "typing", "math") for alias in node.names)
    if isinstance(node, ast.FunctionDef):
        return not node.name.startswith("__") or node.name in METHODS
    if isinstance(node, ast.arguments):
        return all(is_constant(default) for default in (*node.defaults, *filter(None, node.kw_defaults)))
    return not isinstance(node, ast.Global | ast.Nonlocal | ast.Delete | ast.Await | ast.Yield | ast.YieldFrom)


def is_harmless_attribute(node: ast.Attribute, definition: Definition) -> bool:
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        return isinstance(definition.node, ast.ClassDef)  # elsewhere `self` may be anything
    if not isinstance(node.ctx, ast.Load):
        return False
    if node.attr == "__init__":
        called = node.value.func if isinstance(node.value, ast.Call) else None
        return isinstance(called, ast.Name) and called.id == "super"
    return node.attr in HARMLESS or (node.attr in OWN_LISTS and is_local(node.value, definition))


def is_local(value: ast.expr, definition: Definition) -> bool:
    """Is this a variable of a function's own?"""
    return isinstance(value, ast.Name) and value.id not in definition.needs and value.id not in definition.binds
