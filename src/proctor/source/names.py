"""The names of a statement: those that it binds, and the global names that it refers to, by Python's rules of scope.

`symtable` tells as much of a whole module. Of one statement it does so by compiling that again; from Python 3.12 on it
counts the variables of a comprehension among those around it; and it does not see that the body of a class may look for
a name outside before it binds it (`norm = staticmethod(norm)`). So the tree is read here, without recursion: a sum of a
thousand terms is a thousand nodes deep.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from proctor.source.text import Function


class Imported(NamedTuple):
    """One import: a module, and the names imported from it (None: the module itself, or all of them)."""

    module: str
    names: frozenset[str] | None


class Names(NamedTuple):
    """The names of one statement.

    Args:
        binds: names of the module that get a value when it runs, or whose value is changed.
        changes: those of them that are only changed, in place: `Layer.size = 3`, `table["a"] = 1`.
        needs: global names that it refers to, at once or when what it defines is called; builtins are among them.
        imports: what it imports, also inside of functions; relative imports are left out.
    """

    binds: frozenset[str]
    changes: frozenset[str]
    needs: frozenset[str]
    imports: tuple[Imported, ...]


@dataclass(eq=False)
class Scope:
    """A module, class, function or comprehension while it is read.

    Args:
        around: where a name that is not bound here is looked for. No class: its names are for its own body alone.
        holder: where `:=` binds, if not here: a comprehension leaves that to what is around it.
    """

    around: Scope | None = None
    is_class: bool = False
    holder: Scope | None = None
    bound: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)  # in a class: before it was bound there, on whatever path
    of_module: set[str] = field(default_factory=set)  # declared `global`


Work = Iterable[tuple[ast.AST, Scope]]  # what is to be read next, in the order in which Python runs it

# nodes that do not run in the order of their fields
ORDER = {
    "Assign": ("value", "targets"),
    "AugAssign": ("value", "target"),
    "For": ("iter", "target", "body", "orelse"),
    "AsyncFor": ("iter", "target", "body", "orelse"),
}
# and those that bind a name which is no node: the field that has it
BINDS = {
    "ExceptHandler": "name",
    "MatchAs": "name",
    "MatchStar": "name",
    "MatchMapping": "rest",
    **dict.fromkeys(("TypeVar", "ParamSpec", "TypeVarTuple"), "name"),  # `def f[T](…)`, from Python 3.12 on
}


def statement_names(statement: ast.stmt) -> Names:
    """The names of a statement that stands at the top level of a module."""
    return _Reader().read(statement)


class _Reader:
    """Reads nodes like `ast.NodeVisitor`, but each method gives what is to be read next."""

    def __init__(self) -> None:
        self.module = Scope()
        self.scopes: list[Scope] = []  # inside the module; outer ones come before inner ones
        self.changed: set[str] = set()
        self.imports: list[Imported] = []

    def read(self, statement: ast.stmt) -> Names:
        waiting: list[tuple[ast.AST, Scope]] = [(statement, self.module)]
        while waiting:
            node, scope = waiting.pop()
            visit = getattr(self, f"visit_{type(node).__name__}", self.children)
            waiting += reversed(list(visit(node, scope)))
        for scope in reversed(self.scopes):
            self.close(scope)
        bound, changed, used = map(frozenset, (self.module.bound, self.changed, self.module.used))
        return Names(bound | changed, changed - bound, used, tuple(self.imports))

    def children(self, node: ast.AST, scope: Scope) -> Work:
        kind = type(node).__name__
        for part in ORDER.get(kind, node._fields):
            value = getattr(node, part, None)
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, ast.AST):
                    yield one, scope
                elif one and part == BINDS.get(kind):
                    yield ast.Name(one, ast.Store()), scope

    # ---- scopes

    def inside(self, scope: Scope, *, is_class: bool = False, holder: Scope | None = None) -> Scope:
        """A new scope inside of another."""
        made = Scope(scope.around if scope.is_class else scope, is_class, holder)
        if scope.is_class:
            made.bound.add("__class__")  # which `super()` uses, and which is there by itself
        self.scopes.append(made)
        return made

    def close(self, scope: Scope) -> None:
        """Hand on what a scope refers to and does not bind; the smaller set moves, so that each name moves rarely."""
        assert scope.around is not None
        if scope.is_class:  # what a body binds only later, it finds in the module and not in a function around it
            self.module.used |= scope.used & scope.bound
        free = scope.used
        free -= scope.bound | scope.of_module
        if len(free) > len(scope.around.used):
            free, scope.around.used = scope.around.used, free
        scope.around.used |= free

    def use(self, name: str, scope: Scope) -> None:
        if not (scope.is_class and name in scope.bound):
            scope.used.add(name)

    def bind(self, name: str, scope: Scope) -> None:
        """Bind a name; one that is declared `nonlocal` too, since a function around this one has it in any case."""
        if name not in scope.of_module:
            scope.bound.add(name)
        elif scope.is_class and scope.around is self.module:  # the body of a class runs at once
            self.module.bound.add(name)

    # ---- names

    def visit_Name(self, node: ast.Name, scope: Scope) -> Work:
        (self.bind if isinstance(node.ctx, ast.Store) else self.use)(node.id, scope)
        return ()

    def visit_Attribute(self, node: ast.Attribute | ast.Subscript, scope: Scope) -> Work:
        if isinstance(node.ctx, ast.Store) and scope is self.module:
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name):
                self.changed.add(root.id)
        return self.children(node, scope)

    visit_Subscript = visit_Attribute

    def visit_AugAssign(self, node: ast.AugAssign, scope: Scope) -> Work:
        if isinstance(node.target, ast.Name):
            self.use(node.target.id, scope)
        return self.children(node, scope)

    def visit_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> Work:
        bare = node.value is None and isinstance(node.target, ast.Name)  # `x: int` binds nothing
        parts = (node.value, node.annotation, None if bare else node.target)
        return [(part, scope) for part in parts if part is not None]

    def visit_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> Work:
        return [(node.value, scope), (node.target, scope.holder or scope)]

    def visit_Global(self, node: ast.Global, scope: Scope) -> Work:
        if scope is not self.module:
            scope.of_module.update(node.names)
            self.module.used.update(node.names)
            before = scope.bound & scope.of_module  # `import x` may stand above `global x`
            scope.bound -= before
            for name in before:
                self.bind(name, scope)
        return ()

    def visit_Import(self, node: ast.Import, scope: Scope) -> Work:
        for alias in node.names:
            self.imports.append(Imported(alias.name, None))
            self.bind(alias.asname or alias.name.partition(".")[0], scope)
        return ()

    def visit_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> Work:
        names = {alias.name: alias.asname or alias.name for alias in node.names}
        if node.module and not node.level:
            self.imports.append(Imported(node.module, None if "*" in names else frozenset(names)))
        for bound in names.values():
            if bound != "*":
                self.bind(bound, scope)
        return ()

    # ---- what has a scope of its own

    def visit_ListComp(self, node: Any, scope: Scope) -> Work:
        """Read the first iterable of a comprehension in the scope outside, all else in a scope of its own."""
        inner = self.inside(scope, holder=scope.holder or scope)
        first, *others = node.generators
        yield first.iter, scope
        results = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        yield from ((part, inner) for part in (first.target, *first.ifs, *others, *results))

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_FunctionDef(self, node: Function | ast.Lambda, scope: Scope) -> Work:
        """Decorators and defaults are evaluated outside, and so are annotations, where type parameters are known."""
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *filter(None, (given.vararg, given.kwarg)), *given.kwonlyargs]
        yield from ((part, scope) for part in getattr(node, "decorator_list", ()))
        yield from ((part, scope) for part in (*given.defaults, *given.kw_defaults) if part is not None)
        home = yield from self.type_parameters(node, scope)
        yield from ((a.annotation, home) for a in arguments if a.annotation is not None)
        if not isinstance(node, ast.Lambda):
            yield from ((part, home) for part in (node.returns,) if part is not None)
            yield ast.Name(node.name, ast.Store()), scope
        inner = self.inside(home)
        inner.bound.update(argument.arg for argument in arguments)
        yield from ((part, inner) for part in ([node.body] if isinstance(node, ast.Lambda) else node.body))

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef, scope: Scope) -> Work:
        yield from ((part, scope) for part in node.decorator_list)
        home = yield from self.type_parameters(node, scope)
        yield from ((part, home) for part in (*node.bases, *node.keywords))
        inner = self.inside(home, is_class=True)
        yield from ((part, inner) for part in node.body)
        yield ast.Name(node.name, ast.Store()), scope

    def visit_TypeAlias(self, node: Any, scope: Scope) -> Work:
        home = yield from self.type_parameters(node, scope)
        yield from ((node.value, home), (node.name, scope))

    def type_parameters(self, node: Any, scope: Scope) -> Generator[tuple[ast.AST, Scope], None, Scope]:
        """`[T: Bound]` after the name of a definition: a scope of its own, which is where the rest is read."""
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return scope
        inner = self.inside(scope)
        yield from ((parameter, inner) for parameter in parameters)
        return inner
