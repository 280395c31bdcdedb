"""`pytest --nbval solutions/` runs every cell again, as `qkv build` ran it and in nobody's name, on any machine.

nbval compares; what a number may differ by is settled before (`qkv.authoring.build.measured`). The claims of a cell are
then held against what it has shown here: each verdict has to be the book's. On another device (`QKV_DEVICE`) or with
other seeds (`QKV_SEEDS`) other numbers are drawn: there the verdicts alone are compared, by their margins.
"""

import os

import nbformat
import nbval.plugin

from qkv.authoring.build.claims import Claim
from qkv.authoring.build.measured import PICTURES, comparable
from qkv.notebook import machine

os.environ["QKV_PROGRESS"] = "off"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

OTHER_NUMBERS = machine.device().type != "cpu" or machine.shift() != 0
PATIENCE = 120  # seconds that a kernel may keep its output back: other work may have the processor


class Cell(nbval.plugin.IPyNbCell):
    """A cell whose numbers are measurements and whose claims are asserted."""

    def compare_outputs(self, test, ref, skip_compare=None):
        if OTHER_NUMBERS:
            return True
        skip = tuple(kind for kind in skip_compare or self.parent.skip_compare if kind not in PICTURES)
        stored, shown = comparable(ref, test, self.cell.metadata.get("tags", ()))
        return super().compare_outputs(*(list(map(nbformat.from_dict, outputs)) for outputs in (shown, stored)), skip)

    def runtest(self):
        super().runtest()
        printed = "".join(output.text for output in self.test_outputs if output.output_type == "stream")
        for name, asserted in self.cell.metadata.get("asserts", {}).items():
            if contradiction := Claim(name, asserted=tuple(asserted)).contradiction(printed):
                self.raise_cell_error("A claim does not come out as the book says", contradiction)
        if "setup" in self.cell.metadata.get("tags", ()) and "QKV_THREADS" in os.environ:
            again = f"torch.set_num_threads({int(os.environ['QKV_THREADS'])})"
            self.parent.kernel.await_reply(self.parent.kernel.execute_cell_input(again, allow_stdin=False))


def pytest_itemcollected(item):
    if isinstance(item, nbval.plugin.IPyNbCell):
        item.__class__, item.output_timeout = Cell, PATIENCE
