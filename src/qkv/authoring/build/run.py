"""Run a solved edition once, and refuse outputs that a reader could not use or that nbval could not compare."""

from __future__ import annotations

import os
import platform
import re
from datetime import date
from pathlib import Path

import nbformat
import torch
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from qkv.authoring.build.editions import METADATA
from qkv.course import AuthoringError, Chapter

CELL_SECONDS = 600
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
UNSTABLE = {
    r"\b0x[0-9a-f]{6,}\b": "prints a memory address, which changes from run to run",
    r"<Figure size|<matplotlib\.|<Axes": "prints the repr of a figure; end the cell with figures.show(fig, alt=...)",
    r"\d+%\|": "prints a progress bar",
}


def run_solved_edition(notebook: nbformat.NotebookNode, chapter: Chapter) -> nbformat.NotebookNode:
    """Execute all cells in a fresh kernel; tidy and check the outputs."""
    _refuse(chapter, "code that cannot be published", source_faults(notebook))
    execute(notebook, chapter)
    tidy_outputs(notebook)
    _refuse(chapter, "outputs that cannot be published", output_faults(notebook))
    return notebook


def execute(notebook: nbformat.NotebookNode, chapter: Chapter, **settings: str) -> None:
    """Run all cells in a fresh kernel, with further settings in its environment."""
    chapter.solved.parent.mkdir(parents=True, exist_ok=True)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--IPKernelApp.log_level=40"],  # errors only; this terminal is the author's
        resources={"metadata": {"path": str(chapter.solved.parent)}},  # where nbval runs it, too
    )
    try:
        client.execute(env=environment(chapter) | settings)
    except CellExecutionError as error:
        raise AuthoringError(f"{chapter.where()}: a cell failed.\n{ANSI.sub('', str(error)).strip()}") from None
    except CellTimeoutError as error:
        raise AuthoringError(f"{chapter.where()}: a cell took more than {CELL_SECONDS} s.\n{error}") from None
    except DeadKernelError:
        raise AuthoringError(f"{chapter.where()}: the kernel died while it ran the chapter.") from None


def _refuse(chapter: Chapter, what: str, faults: list[str]) -> None:
    if faults:
        listed = "\n".join(f"  - {fault}" for fault in faults)
        raise AuthoringError(f"{chapter.where()}: {what}:\n{listed}")


def made_here() -> dict[str, str]:
    """On what an edition was made, for its page: other processors print other last digits."""
    return {
        "processor": f"{_processor()} ({torch.backends.cpu.get_cpu_capability()})",
        "torch": torch.__version__.partition("+")[0],
        "date": date.today().isoformat(),
    }


def _processor() -> str:
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        cpuinfo = ""
    named = re.search(r"^model name\s*: (.+)$", cpuinfo, re.MULTILINE)
    return named[1].strip() if named else platform.processor() or platform.machine()


def environment(chapter: Chapter) -> dict[str, str]:
    """One thread, no progress file, figures for phones too, and the course's own packages first on the path."""
    paths = [str(chapter.root / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "QKV_PROGRESS": "off",
        "QKV_PHONE": "on",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }


def tidy_outputs(notebook: nbformat.NotebookNode) -> None:
    """Keep what a reader needs: one text per stream, no times, no versions."""
    notebook.metadata["language_info"] = METADATA["language_info"]  # the kernel has put its version there
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        outputs: list[nbformat.NotebookNode] = []
        for output in cell.get("outputs", []):
            last = outputs[-1] if outputs else None
            if last and output.output_type == last.output_type == "stream" and output.name == last.name:
                last.text += output.text
            else:
                outputs.append(output)
        if cell.cell_type == "code":
            cell.outputs = outputs


def source_faults(notebook: nbformat.NotebookNode) -> list[str]:
    """Faults of the code that show without running it, one sentence each."""
    return [
        f"cell {_first_line(cell.source)!r} ends with `;`, which hides a result here but not in nbval; write `_ = ...`"
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.source.rstrip().endswith(";")
    ]


def output_faults(notebook: nbformat.NotebookNode) -> list[str]:
    """Faults of the outputs, one sentence each."""
    faults = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        where = f"cell {_first_line(cell.source)!r}"
        tags = cell.metadata.get("tags", [])
        for output in cell.outputs:
            text = output.get("text", "") or output.get("data", {}).get("text/plain", "")
            if output.output_type == "stream" and output.name == "stderr":
                faults.append(f"{where} writes to stderr: {_first_line(text)!r}")
            if output.output_type == "error" and "raises-exception" not in tags:
                faults.append(f"{where} raises {output.ename}")
            if "nbval-ignore-output" not in tags:
                faults += [f"{where} {why}" for pattern, why in UNSTABLE.items() if re.search(pattern, text)]
            for kind in ("image/png", "image/jpeg", "image/svg+xml"):
                if kind in output.get("data", {}) and not output.metadata.get(kind, {}).get("alt"):
                    faults.append(f"{where} shows a figure without alt text; use figures.show(fig, alt=...)")
        if "check" in tags:
            texts = [output.get("data", {}).get("text/plain", output.get("text", "")) for output in cell.outputs]
            if not any(re.match(r"\w+: passed", text) for text in texts):
                shown = _first_line(texts[0]) if texts else "no output"
                faults.append(f"{where}: the reference does not pass its own check ({shown})")
    return faults


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else ""
