"""Arrows point one way: model <- exercises -> proctor, authoring -> exercises, and the command line sees all."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from proctor.sandbox import launch

pytestmark = pytest.mark.quick

SRC = Path(__file__).resolve().parents[1] / "src"
CHAPTERS = Path(__file__).resolve().parents[1] / "book" / "chapters"
OURS = ("qkv", "proctor")


@dataclass(frozen=True)
class Rule:
    """What a package may import: modules of `ours`, and of `others` (None: any). Python's own are always free."""

    ours: tuple[str, ...]
    others: tuple[str, ...] | None = ("torch",)


RULES = {
    "qkv.model": Rule(ours=("qkv.model",)),
    "qkv.tasks": Rule(ours=("qkv.tasks",), others=("torch", "babel")),
    "qkv.figures": Rule(ours=("qkv.figures",), others=("torch", "matplotlib", "cycler", "numpy", "IPython")),
    "qkv.training": Rule(ours=("qkv.training", "qkv.model"), others=("torch", "tqdm")),
    "qkv.pretrained": Rule(
        ours=("qkv.pretrained", "qkv.model"), others=("torch", "safetensors", "huggingface_hub", "tokenizers")
    ),
    "qkv.course": Rule(ours=("qkv.exercises",), others=("yaml",)),
    "qkv.exercises": Rule(
        ours=("qkv.exercises", "qkv.course", "qkv.model", "qkv.tasks", "proctor"), others=("torch", "yaml")
    ),
    "qkv.authoring": Rule(
        ours=(
            "qkv.authoring",
            "qkv.routes",
            "qkv.course",
            "qkv.exercises",
            "qkv.assignments",
            "qkv.notebook",
            "proctor",
        ),
        others=None,
    ),
    "qkv.routes": Rule(ours=("qkv.course", "qkv.exercises")),
    "qkv.notebook": Rule(
        ours=(
            "qkv.notebook",
            "qkv.routes",
            "qkv.course",
            "qkv.exercises",
            "qkv.assignments",
            "qkv.model",
            "proctor",
            "qkv.authoring.build.definitions",
        ),
        others=("torch", "IPython"),
    ),
    "proctor": Rule(ours=("proctor",), others=None),
    "proctor.source": Rule(ours=("proctor.source",), others=()),  # Python's standard library alone
}
# These exist in the sandbox's child, beside student code: nothing of the trusted side may come with them.
CHILD_SIDE = ("proctor.inside", "proctor.forbid")
# What the course is called, and what it speaks of.
SUBJECT = re.compile(
    r"qkv|transformer|attention|soft_?max|layer_?norm|rms_?norm|gelu|multi_?head|cross.?entropy|dropout|embedding|logits",
    re.IGNORECASE,
)
# The layers of the grading engine: each may import those before it, and what stands beside them.
LAYERS = ("proctor.examining", "proctor.marking", "proctor.grading")


def imports(source: str, module: str, is_package: bool = False) -> set[str]:
    """Full names of all that `source` imports, at any depth. `from a import b` counts as `a.b` if that is a module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".") if is_package else module.split(".")[:-1]
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            origin = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                full = f"{origin}.{alias.name}"
                found.add(full if is_module(full) else origin)
    return found


def is_module(name: str) -> bool:
    path = SRC.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def violations(source: str, module: str, rule: Rule, is_package: bool = False) -> set[str]:
    """The imports of `source` that the rule does not allow."""
    found = imports(source, module, is_package)
    ours = {name for name in found if within(name, OURS)}
    others = {name for name in found - ours if name.split(".")[0] not in sys.stdlib_module_names}
    wrong = {name for name in ours if not within(name, rule.ours)}
    if rule.others is not None:
        wrong |= {name for name in others if not within(name, rule.others)}
    return wrong


def modules(package: str) -> list[tuple[str, Path]]:
    top = SRC.joinpath(*package.split("."))
    paths = sorted(top.rglob("*.py")) if top.is_dir() else [top.with_suffix(".py")]
    return [(".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"), path) for path in paths]


@pytest.mark.parametrize("package", RULES)
def test_a_package_imports_only_what_its_rule_allows(package: str) -> None:
    wrong = {
        module: sorted(found)
        for module, path in modules(package)
        if (found := violations(path.read_text("utf-8"), module, RULES[package], path.name == "__init__.py"))
    }
    assert not wrong, f"{package} may import {RULES[package]}; these modules import more: {wrong}"


@pytest.mark.parametrize("package", CHILD_SIDE)
def test_what_the_sandbox_loads_brings_torch_and_itself_only(package: str) -> None:
    rule = Rule(ours=CHILD_SIDE, others=("torch", "cloudpickle"))
    wrong = {
        module: found
        for module, path in modules(package)
        if (found := violations(path.read_text("utf-8"), module, rule, path.name == "__init__.py"))
    }
    assert not wrong
    assert {module for module, _ in modules(package)} <= launch.sources().keys()


@pytest.mark.parametrize("package", LAYERS)
def test_a_layer_imports_none_above_it(package: str) -> None:
    above = LAYERS[LAYERS.index(package) + 1 :]
    wrong = {
        (module, name)
        for module, path in modules(package)
        for name in imports(path.read_text("utf-8"), module, path.name == "__init__.py")
        if within(name, above)
    }
    assert not wrong


NOT_OF_THE_COURSE = re.compile("NodeTransformer|native_layer_norm")  # a class of Python's, a kernel of torch's


def test_the_engine_holds_no_word_of_the_course() -> None:
    """It serves any course of exercises: what a course forbids, hands out, hides or rehearses, it hands over."""
    found = {
        (path.relative_to(SRC).as_posix(), word.lower())
        for path in (SRC / "proctor").rglob("*")
        if path.suffix in (".py", ".html", ".css", ".js")
        for word in SUBJECT.findall(NOT_OF_THE_COURSE.sub("", path.read_text("utf-8")))
    }
    assert not found


def test_a_chapter_builds_on_earlier_chapters_only() -> None:
    order = [path.stem.split("_", 1)[1] for path in sorted(CHAPTERS.glob("[0-9][0-9]_*.md"))]
    assert order, "there are no chapters"
    for position, stem in enumerate(order):
        for package, allowed in [("model", order[:position]), ("exercises", order[: position + 1])]:
            if not is_module(f"qkv.{package}.{stem}"):
                continue  # a chapter without code of its own
            for module, path in modules(f"qkv.{package}.{stem}"):
                reached = imports(path.read_text("utf-8"), module)
                chapters = {name.split(".")[2] for name in reached if name.count(".") > 1} & set(order)
                assert chapters <= set(allowed), f"{module} reaches forward: {chapters - set(allowed)}"


def test_an_exercise_lies_in_a_file_of_its_own_name() -> None:
    for path in sorted((SRC / "qkv" / "exercises").glob("*/*.py")):
        if path.stem not in ("__init__", "shared"):
            module = importlib.import_module(f"qkv.exercises.{path.parent.name}.{path.stem}")
            assert module.exercise.name == path.stem
            package = importlib.import_module(f"qkv.exercises.{path.parent.name}")
            assert path.stem in package.EXERCISES  # also where the chapter is not in the book yet


def test_one_exercise_is_imported_with_what_it_builds_on_alone() -> None:
    """`check(softmax)` reads one exercise, not all of them."""
    script = (
        "import sys; from qkv import exercises; exercises.get_code('softmax'); exercises.of_code();"
        "print(*[name for name in sys.modules if name.startswith('qkv.exercises.') and name.count('.') > 2])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert set(shown.split()) <= {"qkv.exercises.lookup.softmax", "qkv.exercises.lookup.shared"}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("import torch\nimport math", set()),
        ("from qkv.model.expect import expects", set()),
        ("from . import expect", set()),
        ("from .expect import expects", set()),
        ("import numpy as np", {"numpy"}),
        ("from qkv import check", {"qkv"}),
        ("from qkv import exercises", {"qkv.exercises"}),
        ("from ..exercises import find", {"qkv.exercises"}),
        ("def late():\n    from proctor import Exercise", {"proctor"}),
        ("if True:\n    import qkv.commands.cli", {"qkv.commands.cli"}),
    ],
)
def test_the_rule_notices_a_wrong_arrow(line: str, wrong: set[str]) -> None:
    assert violations(line, "qkv.model.lookup", RULES["qkv.model"]) == wrong
