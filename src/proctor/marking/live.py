"""An answer that is an object of this process, as a notebook has it: it runs as it is, and its text is read as far as
that can be had."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from proctor.inside.observe import source_file_of
from proctor.marking.answers import Answers, Slice
from proctor.marking.assignment import Assignment
from proctor.marking.extraction import Source, definitions_in
from proctor.source.statements import Statement

PLACE = "cell"  # how the text of such an answer is spoken of


class LiveAnswers(Answers):
    """One answer, as an object.

    Args:
        name: the exercise that it answers.
        answer: the function or class.
        assignment: what it is an answer to.
        before: what was defined before it, elsewhere: other cells of its notebook.
    """

    def __init__(self, name: str, answer: Any, assignment: Assignment, before: Sequence[Statement] = ()) -> None:
        self.objects = {name: answer}
        self.withheld = assignment.withheld(name)
        self.namespace = namespace_of(answer, assignment.packages)
        own = answer_definitions(answer)
        line = min((code.co_firstlineno for code in codes_of(answer)), default=0)
        around = [d for d in own if d.line <= line <= d.line + d.text.count("\n")]
        named = any(name in d.binds for d in around if line) or any(name in d.binds for d in own if not line)
        others = [d for d in before if name not in d.binds]  # an older version of the answer is no part of it
        # a lambda, or a function inside of another: what is around it is its text, and no answer by itself
        super().__init__([Source("", (*others, *own) if named else tuple(around))])

    def file_index(self, name: str) -> int | None:
        return 0 if name in self.objects else None

    def binds(self, file: int, name: str) -> bool:
        return name in self.namespace

    def makes(self, file: int, name: str) -> bool:
        return name in self.namespace

    def slice(self, file: int, names: Iterable[str]) -> Slice:
        """The text of answers with all that they use, and every global name in their code."""
        names = list(names)
        definitions = self.sources[0].definitions
        known = {bound for d in definitions for bound in d.binds}
        found = super().slice(file, names) if known.issuperset(names) else Slice(definitions, {}, frozenset())
        used = {word for name in names if name in self.objects for word in named_in(self.objects[name])}
        return Slice(found.definitions, found.modules, found.needs | used)


def answer_definitions(answer: Any) -> tuple[Statement, ...]:
    """The definitions in the cell or file of an answer, if its text can be found.

    `inspect` finds no class of a notebook, but the lines of every cell are kept for tracebacks.
    """
    if not isinstance(answer, type):
        answer = next(functions_of(answer), answer)
    try:
        text = "".join(linecache.getlines(source_file_of(answer))) or textwrap.dedent(inspect.getsource(answer))
        return tuple(definitions_in(PLACE, text))
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def named_in(answer: Any) -> set[str]:
    """Every name that the code of an answer has."""
    return {word for code in codes_of(answer) for word in code.co_names}


def functions_of(answer: Any) -> Iterator[FunctionType]:
    """The functions that were written for an answer: itself, or the methods of a class; without their decorators."""
    for value in vars(answer).values() if isinstance(answer, type) else [answer]:
        while isinstance(value, partial | staticmethod | classmethod):
            value = value.func if isinstance(value, partial) else value.__func__
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, FunctionType):
            yield value


def codes_of(answer: Any) -> Iterator[CodeType]:
    """The code of a function, or of all methods of a class, with what is defined inside."""
    waiting = [function.__code__ for function in functions_of(answer)]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def namespace_of(answer: Any, packages: Iterable[str] = ()) -> dict[str, Any]:
    """The globals that an answer's code sees; an empty dict if it has none.

    Args:
        packages: whose code is not the answer's, such as that of a class which it is derived from.
    """
    foreign = tuple(f"{package}." for package in (*packages, "torch"))
    found = (f.__globals__ for f in functions_of(answer) if not f"{f.__module__}.".startswith(foreign))
    return next(found, {})
