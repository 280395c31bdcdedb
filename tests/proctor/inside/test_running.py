"""How cells run: in order, in one namespace, and as forgiving as a notebook of a student needs it."""

from __future__ import annotations

import sys

import pytest
import torch

from proctor.inside.memory_importer import MemoryImporter
from proctor.inside.running import Cell, Output, replaced, run_cells, submission_namespace, uncompiled
from proctor.inside.stub_modules import Inert, InertModules, Missing


def run(*sources: str):
    names: dict[str, object] = {"__name__": "submission"}
    errors, notes = run_cells([Cell(f"cell {i}", source) for i, source in enumerate(sources, 1)], names)
    return names, errors, notes


def test_cells_share_a_namespace_and_run_in_order():
    names, errors, _ = run("x = 2", "def double(): return 2 * x", "x = 5")
    assert names["double"]() == 10
    assert errors == {}


def test_a_failing_cell_spoils_only_itself():
    names, errors, _ = run("a = 1", "b = 1 / 0\nc = 3", "d = a + 1", "def broken(:\n")
    assert names["d"] == 2
    assert "c" not in names
    assert (errors["cell 2"].kind, errors["cell 2"].where) == ("ZeroDivisionError", "cell 2, line 1: `b = 1 / 0`")
    assert errors["cell 4"].kind == "SyntaxError"


def test_leaving_is_an_error_like_any_other():
    names, errors, _ = run("import sys; sys.exit(3)", "raise KeyboardInterrupt", "x = 1")
    assert [error.kind for error in errors.values()] == ["SystemExit", "KeyboardInterrupt"]
    assert names["x"] == 1


def test_a_missing_package_costs_only_what_uses_it():
    names, errors, notes = run(
        "import no_such_package as nsp\nfrom also_missing.deep import one, two as zwei\nimport third.part",
        "import fourth\ndef f(): return 1",
    )
    assert errors == {}
    assert names["f"]() == 1
    assert notes[0] == "import no_such_package as nsp: No module named 'no_such_package'"
    assert all(isinstance(names[name], Missing) for name in ("nsp", "one", "zwei", "third"))
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_package' where submissions run$"):
        names["nsp"].anything(3)


def test_a_failed_import_does_not_take_a_name_that_is_there():
    names, _, _ = run("def softmax(): return 'own'", "from no_such_package import softmax")
    assert names["softmax"]() == "own"


def test_imports_inside_functions_fail_where_they_are_used():
    names, errors, notes = run("def f():\n    import no_such_package")
    assert (errors, notes) == ({}, [])
    with pytest.raises(ModuleNotFoundError):
        names["f"]()


def test_future_imports_stay_on_as_in_a_notebook():
    names, errors, _ = run("from __future__ import annotations", "def f(x: not_defined_anywhere): return x")
    assert errors == {}
    assert names["f"].__annotations__ == {"x": "not_defined_anywhere"}


def test_the_source_of_a_cell_can_be_found():
    import inspect

    names, _, _ = run("x = 1\n\ndef f():\n    return 7\n")
    assert inspect.getsource(names["f"]) == "def f():\n    return 7\n"


@pytest.fixture
def stand_ins(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    kept = dict(sys.modules)
    for name in [name for name in kept if name.partition(".")[0] in ("matplotlib", "IPython", "ipywidgets", "tqdm")]:
        del sys.modules[name]
    InertModules().install()
    yield
    sys.modules.clear()
    sys.modules.update(kept)


@pytest.mark.usefixtures("stand_ins")
def test_plots_and_widgets_do_nothing():
    names, errors, notes = run(
        "import matplotlib.pyplot as plt\nfrom IPython.display import display, HTML\nimport ipywidgets as widgets",
        "fig, ax = plt.subplots(2, 3, figsize=(4, 4))\nax[0].plot([1, 2])\nplt.show()\ndisplay(HTML('x'))",
        "@widgets.interact\ndef f(x=1):\n    return x + 1",
        "with plt.style.context('dark'):\n    plt.rcParams['figure.dpi'] = 100",
        "class Box(widgets.VBox):\n    size = 3",
        "from tqdm.auto import tqdm, trange\ntotal = sum(i for i in tqdm(range(4)))",
    )
    assert (errors, notes) == ({}, [])
    assert names["f"](2) == 3
    assert names["total"] == 6
    assert isinstance(names["ax"], Inert)


def test_modules_from_text_are_run_when_they_are_imported(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    sources = {"sandbox_test_package.part.one": "value = 4", "sandbox_test_package.two": "1 / 0"}
    MemoryImporter(sources).install()
    names, errors, _ = run("from sandbox_test_package.part.one import value", "import sandbox_test_package.two")
    assert names["value"] == 4
    assert errors["cell 2"].kind == "ZeroDivisionError"


def test_output_keeps_the_beginning_and_stops_a_flood():
    class LimitReached(Exception):
        pass

    def flood():
        raise LimitReached

    output = Output(keep=7, limit=20, on_limit=flood)
    print("hello", "world", file=output)
    output.buffer.write(b"\xffx")
    assert output.text() == "hello w"
    assert not output.isatty()
    with pytest.raises(LimitReached):
        print("x" * 10, file=output)


def test_a_module_that_holds_answers_is_withheld_by_name():
    names: dict[str, object] = {}
    cells = [Cell("cell 1", "from course.model.blocks import Layer\ndef f(): return Layer(3)")]
    with submission_namespace(Output(9, 9, lambda: None), {"course.model.heads": "x = 1"}):
        run_cells(cells, names, withheld=["course"])
    with pytest.raises(ModuleNotFoundError, match=r"^course\.model\.blocks cannot be imported for this"):
        names["f"]()


def test_a_room_leaves_everything_as_it_was():
    import builtins

    before = dict(sys.modules), list(sys.meta_path), sys.stdout, sys.argv, builtins.input
    with submission_namespace(Output(9, 99, lambda: None), {"sandbox_test_package.one": "value = 4"}) as names:
        run_cells([Cell("cell 1", "import matplotlib, sandbox_test_package.one as m; print(m.value)")], names)
        assert names["m"].value == 4
        assert sys.argv == ["submission"]
    after = dict(sys.modules), list(sys.meta_path), sys.stdout, sys.argv, builtins.input
    assert after == before


def test_nothing_is_compiled_while_answers_run():
    before = torch.compile
    with uncompiled():
        assert torch.compile(len) is len
        assert torch.compile(dynamic=True)(len) is len
    assert torch.compile is before


def test_what_is_replaced_in_a_namespace_is_put_back():
    names = {"kept": 1, "other": 2}
    with replaced(names, {"other": 3, "new": 4}):
        assert names == {"kept": 1, "other": 3, "new": 4}
    assert names == {"kept": 1, "other": 2}


def test_of_what_is_printed_the_beginning_since_a_moment_is_kept():
    output = Output(keep=5, limit=100)
    output.write("before it")
    output.begin()
    output.write("behind it")
    assert (output.text(), output.count) == ("behin", 18)
