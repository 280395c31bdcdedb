"""Taking an answer out of a student's files: with all that it uses, and nothing else."""

from __future__ import annotations

import pytest

from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.submissions import File

pytestmark = pytest.mark.quick


def answers(**files: str) -> Answers:
    return Answers([extract(File(name.replace("_dot_", "."), text.encode())) for name, text in sorted(files.items())])


def run(found: Answers, name: str) -> dict[str, object]:
    """The namespace after what was taken out for `name` ran."""
    file = found.file_index(name)
    assert file is not None
    names: dict[str, object] = {}
    for cell in found.slice(file, [name]).cells():
        exec(cell.source, names)
    return names


MESS = """
import math
import matplotlib.pyplot as plt
x = train_for_hours()
SCALE = math.sqrt(4)
def helper(x):
    return x * SCALE
def other(x):
    return undefined(x)
def answer(x):
    y = helper(x)
    return y
plt.plot(answer(3))
"""


def test_an_answer_comes_with_what_it_uses_and_nothing_else() -> None:
    found = answers(a_dot_py=MESS)
    slice_ = found.slice(0, ["answer"])
    assert [sorted(d.binds) for d in slice_.definitions] == [["math"], ["SCALE"], ["helper"], ["answer"]]
    assert run(found, "answer")["answer"](3) == 6  # type: ignore[operator]


def test_lines_keep_their_numbers_and_cells_their_names() -> None:
    cells = answers(a_dot_py=MESS).slice(0, ["answer"]).cells()
    assert [cell.label for cell in cells] == ["a.py", "a.py (SCALE)", "a.py (helper)", "a.py (answer)"]
    assert cells[-1].source.split("\n")[9] == "def answer(x):"


def test_a_name_defined_twice_the_last_wins() -> None:
    found = answers(a_dot_py="def f(): return 1\ndef f(): return 2\n")
    assert run(found, "f")["f"]() == 2  # type: ignore[operator]
    assert len({cell.label for cell in found.slice(0, ["f"]).cells()}) == 2


def test_a_definition_that_builds_on_its_former_self() -> None:
    found = answers(a_dot_py="def f(): return 1\ng = f\nf = lambda: g() + 1\n")
    assert run(found, "f")["f"]() == 2  # type: ignore[operator]


def test_methods_that_are_added_later_belong_to_the_class() -> None:
    found = answers(a_dot_py="class C:\n    pass\ndef forward(self): return 7\nC.forward = forward\n")
    assert run(found, "C")["C"]().forward() == 7  # type: ignore[operator]


def test_the_file_that_does_more_than_the_stub_is_home() -> None:
    stub = 'def f(x):\n    """Do it."""\n    raise NotImplementedError\n'
    found = answers(a_dot_py="def f(x): return x", b_dot_py=stub, c_dot_py="from a import f")
    assert found.file_index("f") == 0
    assert found.file_index("g") is None
    assert answers(a_dot_py=stub, b_dot_py=stub).file_index("f") == 1
    methods = (
        "class C:\n    def __init__(self): self.a = 1\n    def forward(self, x):\n        raise NotImplementedError\n"
    )
    assert answers(a_dot_py="class C:\n    def forward(self, x): return x", b_dot_py=methods).file_index("C") == 0


def test_what_a_file_lacks_comes_from_the_students_other_files() -> None:
    found = answers(a_dot_py="import math\ndef helper(): return math.pi", b_dot_py="def f(): return helper()")
    assert run(found, "f")["f"]() > 3  # type: ignore[operator]


def test_each_file_is_a_world_of_its_own() -> None:
    found = answers(a_dot_py="def helper(): return 1\ndef f(): return helper()", b_dot_py="def helper(): return 2")
    assert run(found, "f")["f"]() == 1  # type: ignore[operator]


def test_python_files_can_be_imported_and_never_stand_for_torch() -> None:
    found = Answers(
        [
            extract(File("ps/helpers.py", b"def h(): return 1\nprint('no')")),
            extract(File("ps/torch.py", b"softmax = 1")),
            extract(
                File("ps/work.ipynb", b'{"cells":[{"cell_type":"code","source":"from helpers import h\\nf = h"}]}')
            ),
        ]
    )
    assert found.slice(2, ["f"]).modules == {"helpers": "def h(): return 1\n"}
    assert found.slice(0, ["h"]).modules == {}


def test_code_that_looks_names_up_gets_all_of_its_file() -> None:
    found = answers(a_dot_py="def helper(): return 1\ndef f(): return globals()['helper']()")
    assert run(found, "f")["f"]() == 1  # type: ignore[operator]


def test_a_star_import_is_kept_where_a_name_is_unknown() -> None:
    found = answers(a_dot_py="from math import *\ndef f(): return sqrt(4)\ndef g(): return 1")
    assert run(found, "f")["f"]() == 2  # type: ignore[operator]
    assert len(found.slice(0, ["g"]).definitions) == 1


def test_imports_of_the_future_are_always_kept() -> None:
    found = answers(a_dot_py="from __future__ import annotations\ndef f(x: Unknown): return x")
    assert found.slice(0, ["f"]).cells()[0].source == "from __future__ import annotations\n"
    assert found.slice(0, ["f"]).imports("__future__")
    assert not found.slice(0, ["f"]).imports("torch")
