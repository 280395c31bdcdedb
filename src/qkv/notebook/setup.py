"""The start of a notebook session: device and seeds, warm-up, `skip` and `reset`, banner, link to the book."""

from __future__ import annotations

import os
from html import escape

import torch

from proctor.forbid.replace import look_up
from qkv.notebook import kernel, machine, places, progress, skipping

NOTEBOOK = "JPY_SESSION_NAME"  # where Jupyter tells a kernel which notebook it serves
# Our figures are drawn in dark ink on no ground, and say so. JupyterLab's dark theme then puts a white box behind them;
# as on the book's pages, their lightness is turned round instead, and hues stay what they are.
DARK = (
    "[data-jp-theme-light=false] .jp-needs-light-background"
    "{background:none!important;filter:invert(1) hue-rotate(180deg)}"
)


def welcome() -> None:
    """A notebook computes where it is told; where progress is kept, `skip` and `reset` are there, and so is a place on
    top for what is missing.

    What is shown is shown again when the cell is run again, which clears it.
    """
    shell = kernel.interactive()
    if shell is not None:
        machine.settle()
    if shell is None or progress.location() is None:
        return
    if skipping.track_missing not in kernel.listeners:
        kernel.listeners.append(skipping.track_missing)
        warm_up()
        shell.user_ns.setdefault("skip", skipping.skip)
        shell.user_ns.setdefault("reset", skipping.reset)
    shell.display_pub.publish({"text/html": "", "text/plain": ""}, transient={"display_id": kernel.BANNER})
    address = places.page_of_notebook(os.environ.get(NOTEBOOK, ""))
    link = f'<a href="{escape(address)}" target="_blank">This chapter in the book</a>' if address else ""
    shell.display_pub.publish({"text/html": f"<style>{DARK}</style>{link}", "text/plain": address})
    if skipping.missing:
        kernel.tell(skipping.missing)


def warm_up() -> None:
    """Do before a check what takes a second: torch loads what the first operation on its `meta` device needs, and all
    of it is looked through for what exercises may forbid. Not in a thread: a cell of the student's that imports parts
    of torch meanwhile would meet a lock."""
    torch.empty(1, device="meta").sub(1)
    look_up(())
