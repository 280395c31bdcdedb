"""Outputs that a reader could not use, or that nbval could not compare, are refused."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from qkv.authoring.build.run import output_faults, source_faults, tidy_outputs


def faults(*outputs: nbformat.NotebookNode, tags: tuple[str, ...] = (), source: str = "x\ny") -> list[str]:
    return output_faults(
        new_notebook(cells=[new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})])
    )


def printed(text: str, name: str = "stdout") -> nbformat.NotebookNode:
    return new_output("stream", text=text, name=name)


def shown(metadata: dict | None = None, **data: str) -> nbformat.NotebookNode:
    return new_output("display_data", data={k.replace("_", "/"): v for k, v in data.items()}, metadata=metadata or {})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<object at 0x7f00aabbcc>", "prints a memory address, which changes from run to run"),
        (
            "<Figure size 640x480 with 1 Axes>",
            "prints the repr of a figure; end the cell with figures.show(fig, alt=...)",
        ),
        (
            "[<matplotlib.lines.Line2D ...>]",
            "prints the repr of a figure; end the cell with figures.show(fig, alt=...)",
        ),
        (" 12%|##        | 12/100", "prints a progress bar"),
    ],
)
def test_unstable_text(text: str, why: str) -> None:
    assert faults(printed(text)) == [f"cell 'x' {why}"]
    assert faults(shown(text_plain=text)) == [f"cell 'x' {why}"]
    assert faults(printed(text), tags=("nbval-ignore-output",)) == []


def test_stderr_and_errors() -> None:
    assert faults(printed("UserWarning: no\nmore", "stderr")) == ["cell 'x' writes to stderr: 'UserWarning: no'"]
    error = new_output("error", ename="ValueError", evalue="v", traceback=[])
    assert faults(error) == ["cell 'x' raises ValueError"]
    assert faults(error, tags=("raises-exception",)) == []


def test_a_figure_needs_words() -> None:
    assert faults(shown(image_png="AAAA")) == [
        "cell 'x' shows a figure without alt text; use figures.show(fig, alt=...)"
    ]
    assert faults(shown({"image/png": {"alt": "A line."}}, image_png="AAAA")) == []


def test_the_reference_passes_its_own_check() -> None:
    assert faults(shown(text_plain="mean: passed (2 of 2 checks pass)"), tags=("check",)) == []
    assert faults(shown(text_plain="mean: not yet (0 of 2)"), tags=("check",), source="check(mean)") == [
        "cell 'check(mean)': the reference does not pass its own check (mean: not yet (0 of 2))"
    ]
    assert faults(tags=("check",), source="check(mean)") == [
        "cell 'check(mean)': the reference does not pass its own check (no output)"
    ]


def test_a_semicolon_hides_nothing_from_nbval() -> None:
    cells = [new_code_cell("x = 1\ntorch.manual_seed(0);"), new_code_cell("print(';')")]
    assert source_faults(new_notebook(cells=cells)) == [
        "cell 'x = 1' ends with `;`, which hides a result here but not in nbval; write `_ = ...`"
    ]


def test_plain_results_are_fine() -> None:
    assert faults(printed("0.4870 ± 0.0012"), shown(text_plain="tensor([1., 2.])")) == []


def test_pieces_of_one_stream_become_one() -> None:
    cell = new_code_cell("x", outputs=[printed("a"), printed("b"), printed("c", "stderr"), printed("d")])
    cell.metadata["execution"] = {"iopub.status.busy": "now"}
    notebook = new_notebook(cells=[cell], metadata={"language_info": {"name": "python", "version": "3.11.9"}})
    tidy_outputs(notebook)
    assert [(o.name, o.text) for o in cell.outputs] == [("stdout", "ab"), ("stderr", "c"), ("stdout", "d")]
    assert "execution" not in cell.metadata
    assert "version" not in notebook.metadata.language_info
