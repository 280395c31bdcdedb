"""Which names a statement binds and needs: a table of all forms, then Python's own word for programs made up."""

from __future__ import annotations

import ast
import builtins
import symtable
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings

from proctor.source.names import Names, statement_names

from . import programs

NEW = sys.version_info >= (3, 12)


def names(text: str) -> Names:
    (statement,) = ast.parse(text).body
    return statement_names(statement)


@pytest.mark.parametrize(
    ("text", "binds", "needs"),
    [
        ("x = y", "x", "y"),
        ("a, (b, *c) = d", "a b c", "d"),
        ("x = y = z", "x y", "z"),
        ("n += m", "n", "m n"),
        ("n: int = m", "n", "int m"),
        ("n: int", "", "int"),
        ("del n", "", "n"),
        ("print(n := 3)", "n", "print"),
        # changes in place
        ("Layer.forward = f", "Layer", "Layer f"),
        ("table['a'].x[i] = 1", "table", "i table"),
        ("f(x).y = 1", "", "f x"),
        # imports
        ("import a.b", "a", ""),
        ("import a.b as c, d", "c d", ""),
        ("from a import b as c, d", "c d", ""),
        ("from a import *", "", ""),
        ("from __future__ import annotations", "annotations", ""),
        # functions
        ("def f(a, b=c, *d, e: g = h, **i) -> j: return a, b, d, e, i, k", "f", "c g h j k"),
        ("@deco(x)\ndef f(): ...", "f", "deco x"),
        ("def f(): return f()", "f", "f"),
        ("def f(x=(y := z)): ...", "f y", "z"),
        ("def f():\n    x = 1\n    def g(): return x, y\n    return g", "f", "y"),
        ("def f():\n    def g(): return x\n    x = 1", "f", ""),
        ("def f(x):\n    def g():\n        nonlocal x\n        x = y\n    return g", "f", "y"),
        ("def f():\n    global x\n    x = 1", "f", "x"),
        ("def f(x):\n    def g():\n        global x\n        return [x for _ in y]", "f", "x y"),
        ("def f():\n    for x in y: z = x\n    return z", "f", "y"),
        ("def f():\n    import math\n    return math.pi", "f", ""),
        ("def f():\n    del x\n    x = 1", "f", ""),
        ("def f():\n    x: T = 1\n    return x", "f", "T"),
        ("async def f(x):\n    async for a in x: await g(a)\n    async with h() as b: return b", "f", "g h"),
        ("f = lambda x, y=z: x + y + w", "f", "w z"),
        ("f = lambda x: (y := x)", "f", ""),
        # comprehensions
        ("v = [k * s for k in u]", "v", "s u"),
        ("v = [x for x in x]", "v", "x"),
        ("v = {a: (b := a) for a, _ in c if d}", "b v", "c d"),
        ("v = [y for x in xs for y in x]", "v", "xs"),
        ("v = [[(w := j) for j in i] for i in u]", "v w", "u"),
        ("def f(): return [(w := i) for i in u], w", "f", "u"),
        # classes
        ("@deco\nclass C(Base, metaclass=M):\n    x = y", "C", "Base M deco y"),
        ("class C:\n    a = 1\n    b = a", "C", ""),
        ("class C:\n    norm = staticmethod(norm)", "C", "norm staticmethod"),
        ("class C:\n    n += 1", "C", "n"),
        ("class C:\n    try: f()\n    except E as E: ...", "C", "E f"),
        ("class C:\n    k = 2\n    v = [k for _ in range(k)]", "C", "k range"),
        ("class C:\n    k = 2\n    def f(self, n=k): return k", "C", "k"),
        ("class C:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...", "C", "property"),
        ("class C:\n    def f(self): return super().f(), __class__", "C", "super"),
        ("class C:\n    global g\n    g = 1", "C g", "g"),
        ("class C:\n    import m as g\n    global g", "C g", "g"),
        ("def f():\n    class C:\n        global g\n        g = 1", "f", "g"),
        ("def f(x):\n    class C:\n        y = x", "f", ""),
        ("def f(x):\n    class C:\n        x = x", "f", "x"),  # in the body of a class x is its own, or the module's
        # blocks
        ("if a:\n    b = 1\nelse:\n    def c(): ...", "b c", "a"),
        ("for a in b: c = a", "a c", "a b"),
        ("with a as b, c as (d, e): f = b", "b d e f", "a b c"),
        ("try: import a\nexcept E as e: b = e\nelse: c = 1\nfinally: d = 1", "a b c d e", "E e"),
        ("try: a = 1\nexcept* E as e: ...", "a e", "E"),
        ("while (a := f()): b = a", "a b", "a f"),
        (
            "match m:\n    case [a, *b]: 1\n    case {'k': c, **d}: 1\n    case P(x=e) | (Q() as e): 1\n    case _: 1",
            "a b c d e",
            "P Q m",
        ),
        ("def f(m):\n    match m:\n        case [a, *_] if a > b: return a", "f", "b"),
        ("x = f'{a} {b:{c}}'", "x", "a b c"),
        pytest.param(
            "def f[T: B](x: T, y=D) -> T: return T", "f", "B D", marks=pytest.mark.skipif(not NEW, reason="3.12")
        ),
        pytest.param(
            "class C[T](Base[T]):\n    def m(self, x: T): return T",
            "C",
            "Base",
            marks=pytest.mark.skipif(not NEW, reason="3.12"),
        ),
        pytest.param("type X[*T] = dict[T, X, U]", "X", "U X dict", marks=pytest.mark.skipif(not NEW, reason="3.12")),
    ],
)
def test_what_a_statement_binds_and_needs(text: str, binds: str, needs: str) -> None:
    found = names(text)
    assert (sorted(found.binds), sorted(found.needs)) == (binds.split(), needs.split())


def test_imports_are_told_with_what_is_taken_of_them() -> None:
    text = "def f():\n    import a.b, c\n    from d.e import f, g as h\n    from i import *\n    from . import j"
    expected = [("a.b", None), ("c", None), ("d.e", {"f", "g"}), ("i", None)]
    assert [(one.module, one.names) for one in names(text).imports] == expected


def test_what_is_only_changed_is_told_apart() -> None:
    assert names("a.x, b, b.y = 1, 2, 3").changes == {"a"}


@pytest.mark.parametrize("text", ["x = " + "a + " * 2500 + "b", "if a: pass\n" + "elif b: x = 1\n" * 90 + "else: c"])
def test_depth_is_no_matter(text: str) -> None:
    assert {"a", "b"} <= names(text).needs


@pytest.mark.skipif(NEW, reason="symtable counts the variables of a comprehension among those around it")
@settings(max_examples=200, deadline=None)
@given(programs.statements)
def test_symtable_says_the_same(text: str) -> None:
    """But for what `+=` and `del` need, `x: int` without a value, what a class looks up outside before it binds it, and
    `:=` in a comprehension, which it calls global and not bound."""
    (statement,) = ast.parse(text).body
    found = statement_names(statement)
    table = symtable.symtable(text, "<made up>", "exec")
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    needed = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    inner = list(table.get_children())
    both = set()
    for one in inner:
        inner += one.get_children()
        needed |= {s.get_name() for s in one.get_symbols() if s.is_global()}
        if one.get_type() == "class":
            both |= {s.get_name() for s in one.get_symbols() if s.is_local() or s.is_declared_global()}
    parts = list(ast.walk(statement))
    bare = {n.target.id for n in parts if isinstance(n, ast.AnnAssign) and not n.value}  # type: ignore[union-attr]
    gone = {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
    added = {n.target.id for n in parts if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    held = {n.target.id for n in parts if isinstance(n, ast.NamedExpr)}
    assert bound - bare - gone <= found.binds
    assert found.binds - found.changes <= bound | both | held
    assert needed - held <= found.needs
    assert found.needs - needed <= both | bare | gone | added


class Anything:
    """A value that lets code go on, whatever it does with it."""

    def __call__(self, *args: object, **options: object) -> Anything:
        return self

    __getitem__ = __getattr__ = __add__ = __radd__ = __iadd__ = __enter__ = __call__

    def __setitem__(self, *args: object) -> None: ...

    def __exit__(self, *args: object) -> None: ...

    def __iter__(self) -> Any:
        return iter([self, self])

    def __mro_entries__(self, bases: object) -> tuple[()]:
        return ()


class Asked(dict[str, Any]):
    """Builtins that have every name, and note for which they were asked."""

    def __init__(self) -> None:
        super().__init__(vars(builtins))
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return self.get(name, Anything())


@settings(max_examples=200, deadline=None)
@given(programs.statements)
def test_what_runs_binds_and_asks_for_no_more(text: str) -> None:
    found = names(text)
    asked = Asked()
    namespace: dict[str, Any] = {"__builtins__": asked, "__name__": "made_up"}
    with suppress(NameError, TypeError, AttributeError, ValueError, RecursionError):  # what came before still counts
        exec(compile(text, "<made up>", "exec", dont_inherit=True), namespace)
    assert namespace.keys() - {"__builtins__", "__name__", "__annotations__"} <= found.binds
    asked_for = {name for name in asked.names if not name.startswith("__")}
    assert asked_for <= found.needs | bound_on_some_path(text)


def bound_on_some_path(text: str) -> set[str]:
    """What a block in the body of a class binds or not: it counts as bound, though the module may be asked for it."""
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    blocks = [part for node in classes for part in node.body if isinstance(part, BLOCKS)]
    return {name for block in blocks for name in statement_names(block).binds}


BLOCKS = ast.If | ast.For | ast.With | ast.Try | ast.Match
