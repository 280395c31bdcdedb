"""Running a submission: its cells in a namespace of their own, then every probe of every exercise.

This is the one place where student text is compiled and run, for every caller: a self-check in this process
(`proctor.marking.in_process`), the grader in a sandbox's child (`proctor.inside.harness`). So both see the same.

Guarantees to the honest student: cells run in order in one namespace, a failing cell spoils only itself, a probe that
raises leaves the others alone, prints and warnings cost nothing, a missing package costs only what uses it, and what
one answer sets globally is put back before the next.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import importlib
import io
import linecache
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from types import ModuleType
from typing import Any, NoReturn

import torch
from torch import Tensor

from proctor.forbid import Family
from proctor.forbid.replace import Blocker, Withheld
from proctor.inside.inputs import Replay, drawing
from proctor.inside.memory_importer import MemoryImporter
from proctor.inside.nobody import nobody_there
from proctor.inside.observe import Observation, Raised, describe_exception, fresh_state, observe, refresh_state
from proctor.inside.recorder import SEE, Recorder
from proctor.inside.stub_modules import Inert, InertModules, Missing
from proctor.inside.time_limit import TimeLimit, time_limit

NAMESPACE = "submission"  # not "__main__": what a script does when it is run is not part of what it defines
EDIT_TIME_LIMIT = 0.5  # seconds of processor time for an edited answer under one probe: it may be an endless loop
OUT_OF_MEMORY = ("can't allocate memory", "std::bad_alloc", "not enough memory")  # as torch says it
RIGHT_VALUES = "right values"  # the name of their table beside those of the exercises' inputs
Probes = Mapping[str, Mapping[str, Callable[..., Any]]]  # exercise -> probe -> function
Draws = Mapping[str, Mapping[str, Tensor]]  # exercise -> key -> input


@dataclass(frozen=True)
class Cell:
    """A piece of a submission, and how to speak of it ("cell 3 of a.ipynb", "helpers.py")."""

    label: str
    source: str


@dataclass(frozen=True)
class Version:
    """An edited version of an answer.

    Args:
        exercise: what it answers.
        cells: label -> the text that is run instead.
        watched: observe the values of its expressions (`proctor.locate.trace`) instead of its results.
        put: probe -> number of an expression -> keys in the table `RIGHT_VALUES` of the inputs: the values that take
            its place (`proctor.locate.proof`); an empty key leaves it.
    """

    exercise: str
    cells: Mapping[str, str]
    watched: bool = False
    put: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """The description of one run.

    Args:
        cells: the student's definitions, in order.
        exercises: exercise -> probes to run, in order.
        forbid: exercise -> what may not be called.
        modules: full name -> source of what can be imported.
        inert: modules that can be imported and do nothing, besides those for plots and the like.
        stand_ins: name -> module it is taken from, set in the namespace after the student's cells ran.
        objects: exercise -> its answer, where that is known as an object of this process and not as text.
        namespace: the globals that such an answer sees.
        withheld: what such an answer may not call: the course's own version of it.
        holds_reference: it contains parts of the reference, from which a submission could learn the next answer.
        versions: a name of its own in `exercises` -> the edited answer that is run under it.
    """

    cells: Sequence[Cell] = ()
    exercises: Mapping[str, Sequence[str]] = field(default_factory=dict)
    forbid: Mapping[str, Sequence[Family]] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    inert: Sequence[str] = ()
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=dict)
    withheld: Withheld = field(default_factory=dict)
    holds_reference: bool = False
    versions: Mapping[str, Version] = field(default_factory=dict)


@dataclass
class LoadedCells:
    """The outcome of running the cells.

    Args:
        defined: exercises for which the submission defines something that can be called.
        errors: label -> what a cell raised when it was run.
        notes: imports that failed, in words.
        called: forbidden things that were called while cells ran.
    """

    defined: list[str]
    errors: dict[str, Raised]
    notes: list[str]
    called: tuple[str, ...] = ()


def run_job(
    job: Job,
    probes: Probes,
    draws: Draws,
    blocker: Blocker,
    names: dict[str, Any],
    loaded: Callable[[LoadedCells], None],
    begin: Callable[[str, str], None],
    observed: Callable[[Observation], None],
    interruptible: bool = False,
) -> None:
    """Run the cells in a namespace, then the probes; report each observation by callback.

    Args:
        interruptible: let a KeyboardInterrupt through: it comes from a person at the keyboard.
    """
    with fresh_state(), uncompiled(), nobody_there():
        found = load_cells(job, blocker, names, interruptible)
        loaded(found)
        implementations = job.objects or {name: names[name] for name in found.defined}
        stand_ins = {name: getattr(importlib.import_module(module), name) for name, module in job.stand_ins.items()}
        with replaced(names, stand_ins):
            run_probes(job, probes, draws, blocker, implementations, begin, observed, interruptible)
            run_versions(job, probes, draws, blocker, names, begin, observed, interruptible)


def load_cells(job: Job, blocker: Blocker, names: dict[str, Any], interruptible: bool) -> LoadedCells:
    """Run the cells. An answer that is an object is there already."""
    if job.objects:
        return LoadedCells(list(job.objects), {}, [])
    everything = tuple(dict.fromkeys(family for families in job.forbid.values() for family in families))
    with blocker.without(everything):  # from the first cell on
        packages = {name.partition(".")[0] for name in job.modules}
        errors, notes = run_cells(job.cells, names, packages, interruptible)
        defined = [n for n in job.exercises if callable(names.get(n)) and not isinstance(names[n], Missing)]
        return LoadedCells(defined, errors, notes, blocker.pop_calls())


def run_probes(
    job: Job,
    probes: Probes,
    draws: Draws,
    blocker: Blocker,
    implementations: Mapping[str, Callable[..., Any]],
    begin: Callable[[str, str], None],
    observed: Callable[[Observation], None],
    interruptible: bool,
) -> None:
    """Run the requested probes on the answer to each exercise."""
    # neighbours with the same forbidden families share a block: blocking takes as long as a few probes
    for families, neighbours in groupby(implementations, lambda exercise: tuple(job.forbid.get(exercise, ()))):
        with blocker.without(families, job.withheld):
            for exercise in neighbours:
                refresh_state()
                with drawing(Replay(draws.get(exercise, {}))):
                    for probe in job.exercises[exercise]:
                        begin(exercise, probe)
                        seen = run_probe(probes[exercise][probe], implementations[exercise], interruptible)
                        called = blocker.pop_calls()
                        observed(replace(seen, called=called) if called else seen)


def run_versions(
    job: Job,
    probes: Probes,
    draws: Draws,
    blocker: Blocker,
    names: dict[str, Any],
    begin: Callable[[str, str], None],
    observed: Callable[[Observation], None],
    interruptible: bool,
) -> None:
    """Run edited answers, each in the namespace as the cells left it."""
    before = dict(names)
    taken = {exercise: job.forbid.get(exercise, ()) for exercise in {v.exercise for v in job.versions.values()}}
    for exercise, families in taken.items():
        with blocker.without(families), drawing(Replay(draws.get(exercise, {}))):
            for key, version in job.versions.items():
                if version.exercise != exercise:
                    continue
                recorder = Recorder() if version.watched else Recorder(most=0)
                refresh_state()
                implementation = edited_answer(job.cells, version, names, recorder)
                for probe in job.exercises[key]:
                    begin(key, probe)
                    recorder.clear()
                    recorder.put = {
                        int(number): [draws.get(RIGHT_VALUES, {}).get(key) for key in keys]
                        for number, keys in version.put.get(probe, {}).items()
                    }
                    seen = run_probe_briefly(probes[exercise][probe], implementation, interruptible)
                    seen = recorder.observation() if version.watched else seen
                    called = blocker.pop_calls()
                    observed(replace(seen, called=called) if called else seen)
                names.clear()
                names.update(before)


def run_probe_briefly(probe: Callable[..., Any], implementation: Any, interruptible: bool) -> Observation:
    """Run one probe on an edited implementation under a time limit of its own: it may never return."""
    try:
        with time_limit(EDIT_TIME_LIMIT):
            return run_probe(probe, implementation, interruptible)
    except TimeLimit as error:
        return Observation(None, Raised(type(error).__name__, ""))


def edited_answer(cells: Sequence[Cell], version: Version, names: dict[str, Any], recorder: Recorder) -> Any:
    """The answer as its edited cells define it. An exception of the cells is raised when it is called."""
    names[SEE] = recorder.see
    flags = __future__.annotations.compiler_flag  # what an annotation says is no part of the answer
    try:
        with time_limit(EDIT_TIME_LIMIT), warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # that an edit looks wrong is no news
            for cell in cells:
                if cell.label in version.cells:
                    source = version.cells[cell.label]
                    exec(compile(source, file_name(cell.label), "exec", flags, dont_inherit=True), names)
        return names[version.exercise]
    except (Exception, TimeLimit) as error:
        found = error

        def fails(*args: Any, **options: Any) -> NoReturn:
            raise found

        return fails


def run_probe(probe: Callable[..., Any], implementation: Any, interruptible: bool) -> Observation:
    """Run one probe on one implementation. Exceptions become observations, so that the next probe runs."""
    try:
        return observe(probe, implementation)
    except BaseException as error:  # KeyboardInterrupt, which `observe` lets through for people at a keyboard
        if interruptible:
            raise
        return Observation(None, describe_exception(error))


def out_of_memory(seen: Observation, memory_mb: int) -> Observation:
    """The observation with torch's own out-of-memory errors as `MemoryError`."""
    error = seen.raised
    if error is not None and (error.kind == "MemoryError" or any(sign in error.message for sign in OUT_OF_MEMORY)):
        return replace(seen, raised=Raised("MemoryError", f"more than the allowed {memory_mb} MB", error.where))
    return seen


# ---- what surrounds a submission


@contextmanager
def replaced(names: dict[str, Any], others: Mapping[str, Any]) -> Iterator[None]:
    """Bind these names in the namespace inside the block, and restore it afterwards."""
    before = {name: names[name] for name in others if name in names}
    names.update(others)
    try:
        yield
    finally:
        for name in others:
            names.pop(name, None)
        names.update(before)


@contextmanager
def uncompiled() -> Iterator[None]:
    """Disable torch.compile inside the block: it returns its argument, and compiled functions run as written. A
    compiler needs a writable place, and its own code calls what exercises forbid."""
    before = torch.compile
    torch.compile = lambda model=None, **options: (lambda f: f) if model is None else model  # type: ignore[assignment]
    loaded = type(sys.modules.get("torch._dynamo")) is ModuleType  # and no stand-in (`warmup.stub_compiler`)
    eager = torch.compiler.set_stance("force_eager") if loaded else nullcontext()
    try:
        with eager:
            yield
    finally:
        torch.compile = before


class Output(io.TextIOBase):
    """A stream for printed text: stores the beginning, drops the rest, enforces the limit.

    Args:
        keep: characters to store of each probe.
        limit: characters that may be printed.
        on_limit: callback for exceeding the limit; raises `OutputLimit` by default.
    """

    def __init__(self, keep: int, limit: int, on_limit: Callable[[], NoReturn] | None = None) -> None:
        self.keep, self.limit, self.on_limit = keep, limit, on_limit or _raise_output_limit
        self.count = self.begun = 0
        self.parts: list[str] = []

    def begin(self) -> None:
        """Keep the beginning of what is printed from now on."""
        self.parts, self.begun = [], self.count

    encoding = "utf-8"
    errors = "replace"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.count - self.begun < self.keep:
            self.parts.append(text[: self.keep - (self.count - self.begun)])
        self.count += len(text)
        if self.count > self.limit:
            self.on_limit()
        return len(text)

    @property
    def buffer(self) -> _Bytes:
        return _Bytes(self)

    def text(self) -> str:
        return "".join(self.parts)


class _Bytes(io.RawIOBase):
    """sys.stdout.buffer, counted with the rest."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raw = bytes(data)
        self.output.write(raw.decode("utf-8", "replace"))
        return len(raw)


class OutputLimit(KeyboardInterrupt):
    """The output limit was exceeded. A KeyboardInterrupt, so that ordinary `except` clauses let it through."""


def _raise_output_limit() -> NoReturn:
    raise OutputLimit


def _no_input(prompt: object = "") -> NoReturn:
    raise EOFError("nobody is there to answer input()")


@contextmanager
def captured(output: Output) -> Iterator[None]:
    """Send printed text to `output` inside the block; `input()` raises EOFError, and displayed objects are dropped."""
    streams = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr", "__stdout__", "__stderr__")}
    functions = {name: vars(builtins).get(name) for name in ("input", "display", "get_ipython")}
    sys.stdin = io.StringIO()
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = output  # type: ignore[assignment,misc]
    builtins.input = _no_input
    builtins.display = lambda *args, **options: None  # type: ignore[attr-defined]
    builtins.get_ipython = lambda: Inert("IPython")  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name, value in streams.items():
            setattr(sys, name, value)
        for name, function in functions.items():
            if function is None:
                vars(builtins).pop(name, None)
            else:
                setattr(builtins, name, function)


@contextmanager
def submission_namespace(
    output: Output, modules: Mapping[str, str], inert: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """The namespace of a submission, with its modules, streams and `__main__` in place; all is restored afterwards."""
    with captured(output), _modules(modules, inert) as names:
        yield names


@contextmanager
def _modules(modules: Mapping[str, str], inert: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Install an empty `__main__`, modules from text and inert modules; yields the namespace of `__main__`."""
    shown_nowhere = InertModules([*InertModules().names, *inert])
    sources = MemoryImporter(modules)

    def ours(name: str) -> bool:
        return name in (NAMESPACE, "__main__") or sources.owns(name) or shown_nowhere.owns(name)

    finders = list(sys.meta_path)
    roots = {NAMESPACE, "__main__", *sources.sources, *sources.packages, *shown_nowhere.names}
    there = [name for name in roots if name in sys.modules]
    # to look at every module is to write to it (its count of references): in the sandbox, to copy some thousand pages
    names = there if set(there) <= {NAMESPACE, "__main__"} else [name for name in sys.modules if ours(name)]
    hidden = {name: sys.modules[name] for name in names}
    for name in hidden:
        del sys.modules[name]
    arguments, sys.argv = sys.argv, [NAMESPACE]
    shown_nowhere.install()
    sources.install()
    place = ModuleType(NAMESPACE)
    sys.modules[NAMESPACE] = sys.modules["__main__"] = place
    try:
        yield place.__dict__
    finally:
        sys.meta_path[:] = finders
        later = takewhile(lambda name: name != NAMESPACE, reversed(sys.modules))
        for name in [NAMESPACE, "__main__", *(name for name in later if ours(name))]:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
        sys.argv = arguments


# ---- cells


def run_cells(
    cells: Iterable[Cell], names: dict[str, Any], withheld: Iterable[str] = (), interruptible: bool = False
) -> tuple[dict[str, Raised], list[str]]:
    """Run all cells; returns the errors by label, and notes.

    Args:
        withheld: packages of which not every module can be imported here.
    """
    errors: dict[str, Raised] = {}
    notes: list[str] = []
    flags = 0
    for cell in cells:
        try:
            more, flags = run_cell(cell, names, flags, frozenset(withheld))
            notes += more
        except BaseException as error:  # also sys.exit() in a cell
            if interruptible and isinstance(error, KeyboardInterrupt):
                raise
            errors[cell.label] = describe_exception(error)
    return errors, notes


def run_cell(
    cell: Cell, names: dict[str, Any], flags: int, withheld: frozenset[str] = frozenset()
) -> tuple[list[str], int]:
    """Run one cell. Imports at its top level that fail are noted instead of raised.

    Args:
        flags: compiler flags of `from __future__` imports in earlier cells, which a notebook keeps on.

    Returns:
        notes on failed imports, and the flags for the next cell.
    """
    source, file = cell.source, file_name(cell.label)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    if "import" not in source:  # most cells: no tree is needed
        exec(compile(source, file, "exec", flags, dont_inherit=True), names)
        return [], flags
    tree = compile(source, file, "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
    notes: list[str] = []
    pending: list[ast.stmt] = []

    def run(statements: list[ast.stmt]) -> None:
        if statements:
            module = ast.Module(body=list(statements), type_ignores=[])
            exec(compile(module, file, "exec", flags, dont_inherit=True), names)

    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            run(pending)
            pending = []
            if note := _import_one(node, run, names, withheld):
                notes.append(note)
        else:
            pending.append(node)
    run(pending)
    return notes, flags


def _import_one(
    node: ast.Import | ast.ImportFrom,
    run: Callable[[list[ast.stmt]], None],
    names: dict[str, Any],
    withheld: frozenset[str],
) -> str:
    """Run one import statement; if the module is not there, bind its names to `Missing`. Returns what was missing."""
    try:
        run([node])
        return ""
    except ImportError as error:
        module = error.name or getattr(node, "module", None) or node.names[0].name
        known = module.partition(".")[0] in withheld
        for alias in node.names:
            if alias.name != "*":
                bound = alias.asname or (
                    alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0]
                )
                names.setdefault(bound, Missing(module if known else module.partition(".")[0], withheld=known))
        return f"{ast.unparse(node)}: {error}"


def file_name(label: str) -> str:
    """The file name that a cell is compiled under; `proctor.inside.observe` knows student code by it."""
    return f"<{label}>" if label.startswith("cell") else f"<submission {label}>"
