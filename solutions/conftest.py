"""`pytest --nbval solutions/` runs every cell again, as `qkv build` ran it and in nobody's name, on any machine.

nbval compares; what a number may differ by is settled before (`qkv.authoring.build.measured`). The claims of a cell are
then held against what it has shown here: each verdict has to be the book's. On another device (`QKV_DEVICE`) or with
other seeds (`QKV_SEEDS`) other numbers are drawn: there the verdicts alone are compared, by their margins.

`QKV_EDITIONS=avx2` runs them as on another processor, imitated on this one, `QKV_EDITIONS=seeds` with second seeds, and
`QKV_EDITIONS=turns` each in the mode whose turn it is today (`qkv.authoring.write.rotation` has them all).
"""

import os
from unittest import mock

import nbformat
import nbval.plugin
import pytest

from qkv.authoring.build.claims import Claim
from qkv.authoring.build.measured import PICTURES, comparable
from qkv.authoring.build.printed import Printed
from qkv.authoring.write import rotation
from qkv.notebook import machine

os.environ["QKV_PROGRESS"] = "off"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

PATIENCE = 120  # seconds that a kernel may keep its output back: other work may have the processor


class Cell(nbval.plugin.IPyNbCell):
    """A cell whose numbers are measurements and whose claims are asserted."""

    def compare_outputs(self, test, ref, skip_compare=None):
        if machine.device().type != "cpu" or machine.seed_offset() != 0:
            return True
        skip = tuple(kind for kind in skip_compare or self.parent.skip_compare if kind not in PICTURES)
        stored, shown = comparable(ref, test, self.cell.metadata.get("tags", ()))
        return super().compare_outputs(*(list(map(nbformat.from_dict, outputs)) for outputs in (shown, stored)), skip)

    def runtest(self):
        super().runtest()
        printed = Printed.by(self.test_outputs)
        for name, asserted in self.cell.metadata.get("asserts", {}).items():
            if contradiction := Claim(name, asserted=tuple(asserted)).contradiction(printed):
                self.raise_cell_error("A claim does not come out as the book says", contradiction)
        if "setup" in self.cell.metadata.get("tags", ()) and "QKV_THREADS" in os.environ:
            again = f"torch.set_num_threads({int(os.environ['QKV_THREADS'])})"
            self.parent.kernel.await_reply(self.parent.kernel.execute_cell_input(again, allow_stdin=False))


def pytest_itemcollected(item):
    if isinstance(item, nbval.plugin.IPyNbCell):
        item.__class__, item.output_timeout = Cell, PATIENCE


def pytest_ignore_collect(collection_path):
    """Leave out what runs on the stand-in for a GPU today: tests/editions/test_devices.py does that."""
    return (collection_path.suffix == ".ipynb" and rotation.mode_of(collection_path) == rotation.STAND_IN) or None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Run a cell in the environment of its edition's mode, with which the first one starts the kernel."""
    if not isinstance(item, Cell):  # other tests come here, too; what their fixtures set is theirs
        return (yield)
    with mock.patch.dict(os.environ, rotation.SETTINGS[rotation.mode_of(item.path)]):
        return (yield)


def pytest_exception_interact(node, call, report):
    """Say in which mode a cell failed, and how to see it again."""
    if isinstance(node, Cell):
        mode, name = rotation.mode_of(node.path), node.path.name
        again = f"QKV_EDITIONS={mode} .venv/bin/pytest --nbval --nbval-current-env solutions/{name}"
        report.sections.append(("again", again))
