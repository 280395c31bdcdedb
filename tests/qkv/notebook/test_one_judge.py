"""One file gets one verdict, from `qkv check` and from the grader, and no result chooses how it is measured."""

from __future__ import annotations

import functools
import inspect
import linecache
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from proctor import Examiner, Result
from proctor.grading.worker import assignment_sandbox
from proctor.inside.properties import mapped
from proctor.marking.line_search import LineSearch
from proctor.marking.live import named_in, namespace_of
from proctor.marking.mark import mark_submission
from proctor.marking.submissions import read_submitted_file
from proctor.sandbox import Limits, Sandbox
from qkv import exercises
from qkv.assignments import assignment
from qkv.notebook import edit_sandbox
from qkv.notebook.checking import _examiner, check_file, check_named

RIGHT = """
def softmax(scores{annotation}, dim: int){result}:
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)
"""


@pytest.fixture(scope="module")
def grade() -> Iterator[Callable[[Path], Result]]:
    """The grader's verdict on the softmax of a file, in its sandbox."""
    chosen = assignment(("softmax",))
    examiners = {"softmax": _examiner("softmax")}
    with assignment_sandbox(chosen, examiners, Limits(seconds=10.0, memory_mb=1024)) as box:
        yield lambda path: mark_submission(chosen, examiners, box, [read_submitted_file(path.name, path)])[0][0]


@pytest.mark.parametrize(
    ("text", "state", "said"),
    [
        ("import torch" + RIGHT.format(annotation=": Tensr", result=""), "stopped", "NameError: name 'Tensr'"),
        (RIGHT.format(annotation="", result=" -> Tensor"), "passed", ""),
        (
            "from __future__ import annotations\n" + RIGHT.format(annotation=": Tensr", result=""),
            "passed",
            "",
        ),
        ("def softmax(scores, dim):\n    raise NotImplementedError('later')", "not_started", ""),
        (
            "import torch\n\ndef softmax(scores, dim):\n    return scores @ torch.ones(99)\n",
            "stopped",
            "raised RuntimeError at work.py (softmax), line 4: `return scores @ torch.ones(99)`",
        ),
        ("from qkv.model.lookup import softmax as ours\nsoftmax = lambda s, dim: ours(s, dim)", "stopped", "qkv.model"),
    ],
)
def test_check_and_grade_say_the_same(
    text: str, state: str, said: str, tmp_path: Path, grade: Callable[[Path], Result]
) -> None:
    path = tmp_path / "work.py"
    path.write_text(text)
    (checked,), _ = check_file(path)
    graded = grade(path)
    assert (checked.state, checked.message) == (graded.state, graded.message)
    assert checked.state == state
    assert said in checked.message


ELSEWHERE = """
import asyncio, os, socket, subprocess, tempfile, threading, torch
from concurrent.futures import ThreadPoolExecutor

async def now(x):
    return x

def softmax(scores, dim):
    {does}
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)
"""


@pytest.mark.parametrize(
    ("does", "state"),
    [
        ("open('log.txt', 'a').write('x')", "stopped"),
        ("tempfile.TemporaryFile().write(b'x')", "stopped"),
        ("threading.Thread(target=print).start()", "stopped"),
        ("ThreadPoolExecutor(2).submit(print).result()", "stopped"),
        ("asyncio.new_event_loop().run_until_complete(now(scores))", "stopped"),
        ("socket.socket()", "stopped"),
        ("subprocess.run(['true'])", "stopped"),
        ("os.system('true')", "passed"),  # which says that it failed, and raises nothing
        ("os.mkdir('results')", "stopped"),
        ("print('x', file=open(os.devnull, 'w'))", "passed"),
        ("len(os.listdir(os.path.dirname(torch.__file__)))", "passed"),
        ("open(torch.__file__).read()", "passed"),
    ],
)
def test_what_is_not_there_when_an_answer_is_graded_is_not_there_in_a_check(
    does: str, state: str, tmp_path: Path, grade: Callable[[Path], Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "work.py"
    path.write_text(ELSEWHERE.format(does=does))
    (checked,), _ = check_file(path)
    assert (checked.state, checked.score) == (grade(path).state, grade(path).score)
    assert checked.state == state, checked.message
    assert [file.name for file in tmp_path.iterdir()] == ["work.py"]
    assert state == "passed" or "PermissionError: " in checked.message, checked.message
    (tmp_path / "mine.txt").write_text("whoever checked may write again")


CHAPTER = ("softmax", "similarity_scores", "soft_lookup", "SelfAttention")
LIMITS = Limits(seconds=3.0, memory_mb=1024, output_bytes=100_000)
PARTS = """
import math
import time
import torch


def softmax(scores, dim):
    {does}
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


def similarity_scores(q, k):
    {does}
    return q @ k.transpose(-2, -1)


def soft_lookup(q, k, v):
    {does}
    return softmax(similarity_scores(q, k), -1) @ v
"""
WORKS = "began = time.process_time()\n    while time.process_time() < began + 0.03: pass"
LAYER = """
class SelfAttention(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = torch.nn.Linear(d_model, d_k, bias=False)
        self.k_proj = torch.nn.Linear(d_model, d_k, bias=False)
        self.v_proj = torch.nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        {inside}
        return soft_lookup(self.q_proj(x), self.k_proj(x), self.v_proj(x))
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    chosen = assignment(CHAPTER)
    with assignment_sandbox(chosen, {name: _examiner(name) for name in CHAPTER}, LIMITS) as box:
        yield box


@pytest.fixture
def judged(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], dict[str, dict[str, Result]]]:
    """What notebook, terminal and grader say of the answers in a file: judge -> exercise -> result."""
    monkeypatch.setattr("qkv.notebook.checking.LIMITS", LIMITS)

    def judged(text: str) -> dict[str, dict[str, Result]]:
        path = tmp_path / "work.py"
        path.write_text(text)
        linecache.checkcache(str(path))
        names: dict[str, Any] = {}
        exec(compile(text, str(path), "exec", dont_inherit=True), names)
        answered = tuple(name for name in CHAPTER if re.search(rf"^(def|class) {name}\b", text, re.M))
        checked, _ = check_file(path)
        examiners = {name: _examiner(name) for name in CHAPTER}
        graded, _, _ = mark_submission(
            assignment(answered), examiners, sandbox, [read_submitted_file(path.name, path)], LineSearch()
        )
        return {
            "notebook": {name: check_named(name, names[name]) for name in answered},
            "terminal": {result.exercise: result for result in checked},
            "grader": {result.exercise: result for result in graded},
        }

    return judged


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PARTS.format(does=WORKS), id="slow"),
        pytest.param(PARTS.format(does="print('x' * 1500)"), id="printing"),
        pytest.param(PARTS.format(does="").replace("def s", "@torch.compile\ndef s"), id="compiled"),
        pytest.param(PARTS.format(does="") + "softmax = torch.compile(softmax)\n", id="compiled afterwards"),
        pytest.param("import torch\nfrom qkv.mine import soft_lookup\n" + LAYER.format(inside=""), id="own part"),
        pytest.param(
            "import torch\n" + LAYER.format(inside="from qkv.mine import soft_lookup"), id="own part, where it is used"
        ),
        pytest.param(
            "import torch\nimport qkv.mine as mine\n"
            + LAYER.format(inside="").replace("soft_lookup", "mine.soft_lookup"),
            id="own part, of the module",
        ),
        pytest.param(
            "import torch\nimport qkv.mine as m\n"
            + PARTS.format(does="").partition("def soft_lookup")[0]
            + "\ndef soft_lookup(q, k, v):\n    return m.softmax(m.similarity_scores(q, k), dim=-1) @ v\n",
            id="own part, of the module, beside a definition",
        ),
        pytest.param(
            "import torch\n" + LAYER.format(inside="import qkv.mine").replace("soft_lookup", "qkv.mine.soft_lookup"),
            id="own part, of the module, where it is used",
        ),
        pytest.param(
            PARTS.format(does="").replace("def s", "@torch.compiler.disable\ndef s"), id="what imports the compiler"
        ),
        pytest.param(PARTS.format(does="torch.set_num_threads(1)"), id="threads"),
        pytest.param(PARTS.format(does="import warnings; warnings.warn('careful')"), id="warns"),
    ],
)
def test_a_right_answer_passes_wherever_it_is_judged(
    text: str, judged: Callable[[str], dict[str, dict[str, Result]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for judge, results in judged(text).items():
        assert results, judge
        assert {name: result.state for name, result in results.items()} == dict.fromkeys(results, "passed"), judge


@pytest.mark.parametrize(
    "does",
    [
        "while True: pass",
        "while True: print('x' * 1000)",
        "big = torch.ones(10**9)",
        "raise SystemExit",
        "input()",
        "from nowhere import nothing",
        "dim = 0",
        "scores.add_(1)",
        "scores = scores.detach()",
        "torch.set_default_dtype(torch.float64)",
        "return [1, 2]",
        "return torch.softmax(scores, dim)",
    ],
)
def test_a_wrong_answer_gets_one_verdict(does: str, judged: Callable[[str], dict[str, dict[str, Result]]]) -> None:
    found = judged(
        "import torch\n" + PARTS.partition("import torch")[2].partition("def similarity")[0].format(does=does)
    )
    told = {
        judge: (r["softmax"].state, round(r["softmax"].score, 6), r["softmax"].misconceptions)
        for judge, r in found.items()
    }
    assert len(set(told.values())) == 1, told


def scaled(scores: Any, dim: int, factor: float = 1.0) -> Any:
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers * factor / powers.sum(dim=dim, keepdim=True)


def closure(factor: float) -> Any:
    return lambda scores, dim: scaled(scores, dim, factor)


@pytest.mark.parametrize(
    "make",
    [
        lambda factor: functools.partial(scaled, factor=factor),
        closure,
        lambda factor: functools.wraps(scaled)(closure(factor)),
        lambda factor: torch.inference_mode(False)(closure(factor)),
        lambda factor: type(
            "Callable", (), {"__call__": lambda self, *args, **options: scaled(*args, **options, factor=factor)}
        )(),
    ],
)
def test_an_object_without_a_text_of_its_own_is_judged(make: Callable[[float], Any]) -> None:
    assert check_named("softmax", make(1.0)).state == "passed"
    assert check_named("softmax", make(2.0)).state == "not_yet"


def test_stand_ins_are_put_where_an_answer_looks_for_them() -> None:
    """Under a decorator of torch's, whose own namespace is another one."""
    wrapped = torch.no_grad()(scaled)
    assert namespace_of(wrapped) is globals()
    assert set(named_in(functools.partial(wrapped))) >= {"torch", "exp"}


def test_in_a_notebook_the_courses_own_answer_is_no_answer() -> None:
    from qkv.model import lookup

    result = check_named("softmax", lambda scores, dim: lookup.softmax(scores, dim))
    assert (result.state, result.score) == ("not_yet", 0.0)
    assert "You call the course's own softmax" in result.message


def test_a_line_that_checks_is_not_run_again_to_find_its_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    monkeypatch.setattr(edit_sandbox, "chapter_sandbox", lambda name: searched.append("once"))
    result = check_named("softmax", lambda scores, dim: scores.exp() / scores.exp().sum(dim, keepdim=True).sqrt())
    assert result.state == "not_yet"
    assert not searched


def test_a_class_derived_from_the_courses_own_is_no_answer() -> None:
    from qkv.model import lookup

    result = check_named("SelfAttention", type("SelfAttention", (lookup.SelfAttention,), {}))
    assert (result.state, result.score) == ("not_yet", 0.0)
    assert "You call the course's own SelfAttention" in result.message


def forged(reference: Any, dtype: torch.dtype, changed: list[Any]) -> Any:
    """The right answer, two per cent too high, in a dtype that is known for its rounding.

    Args:
        changed: takes every result that there was to change.
    """

    def forge(results: Any) -> Any:
        if isinstance(results, tuple):
            return tuple(map(forge, results))
        if isinstance(results, float):
            changed.append(results)
            return torch.tensor(1.02 * results, dtype=dtype)
        return mapped(results, forge_tensor)

    def forge_tensor(t: torch.Tensor) -> torch.Tensor:
        if not t.is_floating_point():
            return t
        changed.append(t)
        return (1.02 * t.detach()).to(dtype)

    if inspect.isclass(reference):

        def call(self: Any, *args: Any, **options: Any) -> Any:
            return forge(super(layer, self).__call__(*args, **options))

        layer: Any = type(reference.__name__, (reference,), {"__call__": call})
        return layer
    return lambda *args, **options: forge(reference(*args, **options))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", exercises.of_code())
def test_no_result_chooses_its_tolerance(name: str, dtype: torch.dtype) -> None:
    exercise = exercises.get_code(name)
    examiner = Examiner(exercise, "forged")
    changed: list[Any] = []
    result = examiner.examine(forged(exercise.reference, dtype, changed))
    assert result.state != "passed" or not changed
