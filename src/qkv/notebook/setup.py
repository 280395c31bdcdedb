"""The start of a notebook session: device and seeds, warm-up, `skip` and `reset`, banner, link to the book."""

from __future__ import annotations

import os
from html import escape

import torch

from proctor.forbid.replace import prepare_families
from proctor.inside.warmup import stub_compiler
from qkv.notebook import kernel, machine, places, progress, skipping
from qkv.notebook.clock import Clock

NOTEBOOK = "JPY_SESSION_NAME"  # set by Jupyter: the notebook that this kernel serves
# Our figures are drawn in dark ink on no ground, and say so. JupyterLab's dark theme then puts a white box behind them;
# as on the book's pages, their lightness is turned round instead, and hues stay what they are.
DARK = (
    "[data-jp-theme-light=false] .jp-needs-light-background"
    "{background:none!important;filter:invert(1) hue-rotate(180deg)}"
)
WHOLE_WORDS = ".jp-OutputArea .jp-RenderedText pre{word-break:normal;overflow-wrap:anywhere}"  # JupyterLab breaks them
_shown_in: tuple[object, int] | None = None  # the shell, and its cell that showed the link and the banner last


def setup_notebook() -> None:
    """Set up a notebook session: device and seeds; where progress is stored also `skip`, `reset` and the banner of
    missing exercises.

    What is shown is shown again when the cell is run again, which clears it, and once in a run: `from qkv import check`
    asks the package for `check` twice.
    """
    global _shown_in
    shell = kernel.interactive()
    if shell is not None:
        machine.apply_settings()
    if shell is None or progress.location() is None:
        return
    if skipping.track_missing not in kernel.callbacks:
        kernel.callbacks.append(skipping.track_missing)
        warm_up()
        shell.set_custom_exc((NotImplementedError,), skipping.one_line)
        shell.user_ns.setdefault("skip", skipping.skip)
        shell.user_ns.setdefault("reset", skipping.reset)
        if NOTEBOOK in os.environ:  # somebody looks at a page, and no test or build stores what it shows
            Clock(shell).install()
    if _shown_in == (shell, shell.execution_count):
        return
    _shown_in = shell, shell.execution_count
    shell.display_pub.publish({"text/html": "", "text/plain": ""}, transient={"display_id": kernel.BANNER})
    address = places.page_of_notebook(os.environ.get(NOTEBOOK, ""))
    link = f'<a href="{escape(address)}" target="_blank">This chapter in the book</a>' if address else ""
    shell.display_pub.publish({"text/html": f"<style>{DARK}{WHOLE_WORDS}</style>{link}", "text/plain": address})
    if skipping.missing:
        kernel.show_missing(skipping.missing)


def warm_up() -> None:
    """Do slow first-time work before a check: torch's first operation on `meta`, and the scan for forbidden functions.
    Not in a thread: a student's cell that imports parts of torch meanwhile would block on a lock."""
    stub_compiler.leave_out()
    torch.empty(1, device="meta").sub(1)
    prepare_families(())
