"""Marking one submission in a real sandbox: parts, stops, and what an honest student's mess costs (nothing)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.marking.submissions import File
from proctor.marking.verdicts import in_steps


def states(results: dict[str, Any]) -> dict[str, str]:
    return {name: result.state for name, result in results.items()}


ALL_PASSED = dict.fromkeys(["double", "shifted", "square", "share", "bump"], "passed")


def test_a_right_submission(mark: Any, sample: Any) -> None:
    results = mark(sample.code())
    assert states(results) == ALL_PASSED
    assert mark.notes == []
    assert "def double" in mark.code


def test_a_mistake_is_named_and_costs_what_builds_on_it_nothing(mark: Any, sample: Any) -> None:
    results = mark(sample.code(double="def double(x):\n    return 3 * x"))
    assert states(results) == ALL_PASSED | {"double": "not_yet"}
    assert results["double"].misconceptions == ("tripled",)


def test_a_part_that_is_not_there_costs_what_builds_on_it_nothing(mark: Any, sample: Any) -> None:
    assert states(mark(sample.code(double=None))) == ALL_PASSED | {"double": "not_started"}
    unstarted = "def double(x):\n    raise NotImplementedError"
    assert states(mark(sample.code(double=unstarted))) == ALL_PASSED | {"double": "not_started"}
    assert states(mark(sample.RIGHT["bump"])) == dict.fromkeys(ALL_PASSED, "not_started") | {"bump": "passed"}


def test_a_part_of_ones_own_shape_is_kept_where_it_works(mark: Any, sample: Any) -> None:
    own = "def double(x, times=2):\n    return times * x"
    results = mark(sample.code(double=own, shifted="def shifted(x):\n    return double(x, times=2) + 1"))
    assert states(results) == ALL_PASSED


def test_parts_of_earlier_sheets_can_be_imported_those_of_the_same_sheet_cannot(mark: Any, sample: Any) -> None:
    imported = "from sample_parts.lines import shifted\nsquare = lambda x: x * x\n" + sample.RIGHT["bump"]
    assert states(mark(imported))["bump"] == "passed"
    results = mark("from sample_parts.lines import double, shifted")
    assert states(results)["double"] == "stopped"
    assert "from sample_parts.lines import double, shifted: No module named" in results["double"].message
    results = mark("from sample_parts.curves import bump")
    assert states(results)["bump"] == "stopped"


def test_the_reference_before_an_exercise_holds_nothing_of_it(sample: Any) -> None:
    first, second = sample.assignment().sheets
    assert "def double" in first.reference_before("shifted")
    assert "def _times" in first.reference_before("shifted")
    assert "shifted" not in first.reference_before("shifted")
    assert "def " not in first.reference_before("double")
    assert "def share" in second.reference_before("bump")
    assert "bump" not in second.reference_before("bump")


def test_what_a_process_saw_of_the_reference_helps_in_no_later_run(mark: Any, sample: Any) -> None:
    thief = """
import builtins
from sample_parts.lines import shifted as loot

def plant():
    builtins.loot = loot

def bump(x):
    plant()
    return loot(x) * square(x)

def double(x):
    return 3 * x

def shifted(x):
    return builtins.loot(x) if hasattr(builtins, "loot") else double(x)
"""
    results = mark(thief + sample.RIGHT["square"])
    assert states(results)["shifted"] == "not_yet"
    assert results["shifted"].score == 0


def test_ordinary_mess(mark: Any, sample: Any) -> None:
    cells = [
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nimport seaborn, nowhere_to_be_found\n!pip install x",
        "import functools, warnings, torch\nSCALE = compute_something_that_is_not_there()\nTWO = int(2.0)",
        "def helper(x, n):\n    print('x' * 1000)\n    warnings.warn('careful')\n    return x * n",
        "double = functools.partial(helper, n=TWO)\nplt.plot(double(3))",
        "def broken(:",
        "@torch.no_grad()\ndef shifted(x): return double(x) + 1",
        "for epoch in range(10**9): pass",
        "class square:\n    def __new__(cls, x): return x * x",
        "1 / 0",
        "def share(x):\n    s = 1 / torch.exp(x[..., None] * 0 + x.flatten() - x[..., None]).sum(-1)\n    return s",
        "bump = lambda x: shifted(x) * square(x)",
    ]
    notebook = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    results = mark(File("work.ipynb", json.dumps(notebook).encode()))
    assert states(results) == ALL_PASSED
    assert mark.notes == ["cell 5 of work.ipynb has a syntax error in line 1: invalid syntax."]


def test_several_files_are_one_submission(mark: Any, sample: Any) -> None:
    right = sample.RIGHT
    results = mark(
        File("a/helpers.py", b"def times(x, n):\n    return x * n"),
        File("a/one.py", b"from helpers import times\ndef double(x):\n    return times(x, 2)"),
        File("a/two.py", (right["square"] + "\n" + right["share"]).encode()),
        File("b/three.py", (right["shifted"] + "\n" + right["bump"]).encode()),
    )
    assert states(results) == ALL_PASSED


def test_the_best_of_several_copies_counts_and_the_card_says_so(mark: Any, sample: Any) -> None:
    wrong = sample.code(double="def double(x):\n    return 3 * x")
    results = mark(File("mine.py", sample.code().encode()), File("mine_old.py", wrong.encode()))
    assert states(results) == ALL_PASSED
    earned = (
        results["double"].remarks[-1].removeprefix("Taken from mine.py; it is also answered in mine_old.py, which ")
    )
    assert earned == "would earn 0%."
    assert results["square"].remarks == ()  # the same words in both files


def test_of_copies_that_are_right_the_last_counts(mark: Any, sample: Any) -> None:
    other = sample.code(double="def double(x):\n    return 4 * x / 2")
    results = mark(File("a.py", sample.code().encode()), File("b.py", other.encode()))
    assert states(results) == ALL_PASSED
    assert results["double"].remarks == ("Taken from b.py; it is also answered in a.py.",)


def test_copies_are_judged_within_the_time_of_one_submission(mark: Any, sample: Any) -> None:
    endless = "def double(x):\n    n = {}\n    while True: pass"
    results = mark(*(File(f"{n}.py", sample.code(double=endless.format(n)).encode()) for n in range(9)))
    assert states(results) == ALL_PASSED | {"double": "stopped"}
    assert results["double"].remarks[0].count(".py") == 4  # of which the last four were looked at


def test_an_endless_answer_costs_itself_alone(mark: Any, sample: Any) -> None:
    results = mark(sample.code(double="def double(x):\n    while True: pass"))
    assert states(results) == ALL_PASSED | {"double": "stopped"}
    late = "Your code did not end in the time that it is given: 4 s of processor time, or 16 s by the clock."
    assert late in results["double"].message
    assert "It was looked at on three numbers." in results["double"].message


def test_credit_for_what_was_right_before_the_stop(mark: Any, sample: Any) -> None:
    answer = "def double(x):\n    if x.dim() > 1:\n        import os; os._exit(3)\n    return 2 * x"
    results = mark(sample.code(double=answer))
    assert states(results) == ALL_PASSED | {"double": "stopped"}
    assert (results["double"].score, results["double"].probes_passed) == (0.5, 1)
    assert "Your code ended its own process" in results["double"].message


def test_a_constant_that_never_comes_costs_what_needs_it(mark: Any, sample: Any) -> None:
    answer = "def forever():\n    while True: pass\nTWO = forever()\ndef double(x):\n    return x * TWO"
    results = mark(sample.code(double=answer, shifted="def shifted(x):\n    return 2 * x + 1"))
    assert states(results) == ALL_PASSED | {"double": "stopped"}
    assert "It had not been called yet." in results["double"].message


def test_a_submission_that_always_runs_out_of_time_does_not_hold_up_the_class(mark: Any, sample: Any) -> None:
    loop = "def {}(x):\n    while True: pass"
    results = mark("\n".join(loop.format(name) for name in sample.RIGHT))
    assert states(results) == dict.fromkeys(ALL_PASSED, "stopped")
    assert "This was not tried" in results["share"].message  # which forbids something: it runs last


def test_a_forbidden_call_and_one_that_hides(mark: Any, sample: Any) -> None:
    results = mark(sample.code(share="def share(x):\n    return torch.softmax(x.flatten(), 0).view_as(x)"))
    assert results["share"].score == 0
    assert "You call torch's own softmax" in results["share"].message
    hidden = """
import threading
def share(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.softmax(x.flatten(), 0).view_as(x)))
    thread.start(); thread.join()
    return found[0]
"""
    results = mark(sample.code(share=hidden))
    assert results["share"].score == 0
    mentioned = "def share(x):\n    # not torch.softmax(x)\n    if x is None: return torch.softmax(x, 0)\n"
    results = mark(sample.code(share=mentioned + "    return x.exp() / x.exp().sum()"))
    assert results["share"].state == "passed"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("double = 3", "`double` is not something that can be called."),
        ("@nonsense\ndef double(x): return 2 * x", "Your code raised NameError while double was being defined."),
        ("def double(x):\n    return x +", "has a syntax error in line 2: invalid syntax."),
        ("def double(x):\n    return missing(x)", "Your code raised NameError"),
    ],
)
def test_what_cannot_be_used_is_said_in_words(mark: Any, answer: str, said: str) -> None:
    results = mark(answer)
    assert results["double"].state == "stopped"
    assert results["double"].score == 0
    assert said in results["double"].message


def test_where_an_exception_was_raised(mark: Any) -> None:
    results = mark("\nimport torch\n\n\ndef double(x):\n    y = torch.add(x, x)\n    return y[99]\n")
    assert "work.py (double), line 7: `return y[99]`" in results["double"].message


@pytest.mark.parametrize(
    ("file", "note"),
    [
        (File("a.py", problem="a.py is empty."), "a.py is empty."),
        (File("a.ipynb", b"\0\1\2"), "a.ipynb could not be read: it is not a notebook (not valid JSON)."),
    ],
)
def test_a_file_that_cannot_be_read_is_told_once(mark: Any, file: File, note: str) -> None:
    results = mark(file)
    assert states(results) == dict.fromkeys(ALL_PASSED, "not_started")
    assert mark.notes == [note]
    assert note not in results["share"].message


def test_an_archive_that_cannot_be_read_is_told_on_every_card_that_it_may_concern(mark: Any, sample: Any) -> None:
    told = "work.zip is not a zip file that can be read."
    results = mark(File("answers.py", sample.RIGHT["bump"].encode()), File("work.zip", problem=told))
    assert results["bump"].state == "passed"
    assert results["double"].state == "not_started"  # it counts as that, and nobody knows
    assert results["double"].message.startswith(f"double: not read\n{told}\nNobody knows what you answered there.")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "class Helper:\n    raise RuntimeError('no')\ndef double(x):\n    return Helper(x)\n",
            "NameError: name 'Helper' is not defined\n  RuntimeError: no (work.py, line 2",
        ),
        (
            "LIMIT = int('many')\ndouble = [LIMIT]\n",
            "NameError: name 'LIMIT' is not defined (work.py (double), line 2: `double = [LIMIT]`)\n  ValueError",
        ),
    ],
)
def test_what_failed_while_loading_is_shown_with_what_it_led_to(mark: Any, code: str, said: str) -> None:
    message = mark(code)["double"].message
    assert "Before that, while your file was loaded, it raised" in message
    assert said in message


@pytest.mark.parametrize(
    ("code", "where"),
    [
        ("for name in ['double']:\n    def double(x):\n        return 2 * x\n", "line 2 of work.py: `def double(x):`"),
        ("exec('def double(x): return 2 * x')\n", "line 1 of work.py: `exec('def double(x): return 2 * x')`"),
        ("print(double := max)\n", "line 1 of work.py: `print(double := max)`"),
        (
            "x = 1\nfor i in range(1):\n    globals()['double'] = max\n",
            "line 3 of work.py: `globals()['double'] = max`",
        ),
        (
            "if __name__ == '__main__':\n    def double(x):\n        return 2 * x\n",
            "line 2 of work.py: `def double(x):`",
        ),
    ],
)
def test_a_definition_that_is_not_taken_is_told(mark: Any, code: str, where: str) -> None:
    message = mark(code)["double"].message
    assert f"`double` is defined inside of other code, in {where}." in message
    assert "definitions at the left margin are taken" in message


def test_an_error_that_only_our_part_raises_is_not_shown(mark: Any, sample: Any) -> None:
    own = "def double(x, times=3):\n    return times * x"  # wrong, and called in its own way
    later = "def shifted(x):\n    return double(x, times=5) + 7"
    result = mark(sample.code(double=own, shifted=later))["shifted"]
    assert (result.state, result.score) == ("not_yet", 0.0)
    assert "TypeError" not in result.message


@pytest.mark.parametrize("code", ["hint('double')\n", "for i in range(3):\n    double(i)\n", "print(double)\n"])
def test_a_name_that_is_only_used_is_not_started(mark: Any, code: str) -> None:
    assert mark(code)["double"].state == "not_started"


def test_times_are_coarse_so_that_two_runs_agree(mark: Any, sample: Any) -> None:
    assert [in_steps(s, 30.0) for s in (0.0, 2.9, 7.6, 29.9, 30.0, 31.2)] == [0.0, 0.0, 7.5, 22.5, 30.0, 30.0]
    results = mark(sample.code(double="def double(x):\n    while True: pass"))
    assert (results["double"].seconds, results["shifted"].seconds) == (4.0, 0.0)


def test_nothing_at_all(mark: Any) -> None:
    assert states(mark()) == dict.fromkeys(ALL_PASSED, "not_started")
    assert mark.notes == ["There is no notebook and no .py file in this submission."]


def test_all_time_counts_however_it_is_spent(mark: Any, sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sleeping until just before the limit and leaving is no way to use up a worker, exercise by exercise."""
    clock = iter(range(0, 10_000, 30))  # every run seems to take 30 s by the clock: 5 × 4 × 4 s are given to all
    monkeypatch.setattr("proctor.marking.submission_marker.monotonic", lambda: float(next(clock)))
    leave = "    import os\n    os._exit(0)\n"
    names = ["double", "shifted", "square", "share", "bump"]
    results = mark("\n".join(f"def {name}(x):\n{leave}" for name in names))
    assert states(results) == dict.fromkeys(names, "stopped")
    tried = [name for name in names if "ended its own process" in results[name].message]
    assert tried == ["double", "shifted", "square"]
    assert "This was not tried: other answers of this submission used up its time." in results["bump"].message


GLOBAL = {
    "gradients": "torch.set_grad_enabled(False)",
    "default dtype": "torch.set_default_dtype(torch.float64)",
    "default device": "torch.set_default_device('meta')",
    "random numbers": "torch.manual_seed(7)",
    "recursion": "import sys; sys.setrecursionlimit(40)",
    "warnings": "import warnings; warnings.simplefilter('error')",
    "determinism": "torch.use_deterministic_algorithms(True)",
}


@pytest.mark.parametrize("what", GLOBAL)
def test_what_one_answer_sets_globally_costs_no_other(what: str, mark: Any, sample: Any) -> None:
    results = mark("import torch\n" + sample.code(double=f"def double(x):\n    {GLOBAL[what]}\n    return 3 * x"))
    assert states(results) == ALL_PASSED | {"double": "not_yet"}


@pytest.mark.parametrize(
    "answer",
    [
        "import torch\nKERNEL = torch.library.get_kernel('aten::_soft' + 'max', 'CPU')\n"
        "def share(x):\n    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)\n"
        "    return KERNEL.call_boxed(keys, x.flatten(), 0, False).reshape(x.shape)",
        "from torch._decomp.decompositions import _softmax\n"
        "def share(x):\n    return _softmax(x.flatten(), 0, False).reshape(x.shape)",
        "import torch._refs as refs\ndef share(x):\n    return refs.softmax(x.flatten(), 0).reshape(x.shape)",
        "import torch\ndef share(x):\n    s = x.flatten()[None, None, None, :]\n    n = s.shape[-1]\n"
        "    eye = torch.eye(n)[None, None]\n    f = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu\n"
        "    return f(s, eye, eye, scale=1.0)[0].flatten().reshape(x.shape)",
        "import torch\nTABLE = torch.softmax(torch.ones(3), 0)\ndef share(x):\n    TABLE\n"
        "    return x.exp() / x.exp().sum()",
    ],
)
def test_forbidden_from_the_first_cell_on_by_any_way(answer: str, mark: Any, sample: Any) -> None:
    results = mark(sample.code(share=answer))
    assert states(results) == ALL_PASSED | {"share": results["share"].state}
    assert results["share"].state != "passed"
    assert results["share"].score == 0


def test_a_constant_of_one_answer_may_call_what_another_may_not(mark: Any, sample: Any) -> None:
    square = "import torch\nONE = torch.softmax(torch.ones(1), 0)\ndef square(x):\n    return x * x * ONE"
    assert states(mark(sample.code(square=square))) == ALL_PASSED


def test_nobody_is_accused_who_did_not_call_it(mark: Any, sample: Any) -> None:
    share = (
        "import inspect, gc, torch\ndef share(x):\n    inspect.signature(share), gc.collect(), torch.nn.Softmax\n"
        "    exp = getattr(torch, 'exp')\n    return exp(x.T).T / exp(x).sum()"
    )
    assert states(mark(sample.code(share=share))) == ALL_PASSED


def test_a_part_of_the_same_sheet_may_be_imported_by_what_builds_on_it(mark: Any, sample: Any) -> None:
    results = mark("from sample_parts.lines import double\ndef shifted(x):\n    return double(x) + 1")
    assert results["shifted"].state == "passed"
    assert results["double"].state == "stopped"  # not made, only imported
