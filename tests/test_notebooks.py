"""Notebooks: those of docs/ show what they say, and a class of a notebook is what its cell says."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools.notebooks import ROOT, executed

NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
assert NOTEBOOKS


def shown(notebook: nbformat.NotebookNode) -> list[list[tuple[str, list[str], str]]]:
    """What each cell shows: kind, formats, and text without digits and marks."""
    found = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        texts = [
            (
                output.output_type,
                sorted(output.get("data", [])),
                masked(output.get("data", {}).get("text/plain", "") or output.get("text", "")),
            )
            for output in outputs
        ]
        found.append(texts)
    return found


def masked(text: str) -> str:
    """Text without digits, marks and spaces: what is trained here may differ elsewhere."""
    return re.sub(r"[*+] +(?=\d)|\d+|\s+", "", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_stored(path: Path, tmp_path: Path) -> None:
    """After a change: python tools/notebooks.py."""
    stored = nbformat.read(path, as_version=4)
    found = shown(executed(path, tmp_path))
    assert found == shown(stored)
    assert any("image/png" in formats for cell in found for _, formats, _ in cell)


CLASS = """
import numpy as np
import pllbench
from pllbench_methods.cc import CC

class Mine(CC):
    def predict(self, x):
        return super().predict(x) * 1.0
"""

RUN = """
data = pllbench.Arrays("rows", np.eye(3)[np.arange(60) % 3], np.arange(60) % 3)
results = pllbench.run(Mine, data, q=0.5, seeds=2, epochs=1, engine="{engine}")
print(results.summary.done, results.summary.skipped)
"""


@pytest.mark.parametrize("engine", ["local", "inline"])
def test_a_changed_cell_is_another_method(engine: str, tmp_path: Path) -> None:
    run = RUN.format(engine=engine)
    cells = [CLASS, run, run, "# the class again\n" + CLASS, run, CLASS.replace("1.0", "2.0"), run]
    path = tmp_path / "try.ipynb"
    nbformat.write(new_notebook(cells=list(map(new_code_cell, cells))), path)
    outputs = [cell.outputs for cell in executed(path, tmp_path).cells]
    said = ["".join(o.get("text", "") for o in cell) for cell in outputs]
    assert [said[i] for i in (1, 2, 4, 6)] == ["2 0\n", "0 2\n", "0 2\n", "2 0\n"]
    progress = [o.data["text/plain"] for o in outputs[1] if o.output_type == "display_data"]
    assert len(progress) == 1
    assert progress[0].startswith("2/2 runs ")


def test_results_and_errors_of_a_notebook(tmp_path: Path) -> None:
    cells = [CLASS, RUN.format(engine="inline"), "results", "results.plot()", "results.curves()"]
    path = tmp_path / "try.ipynb"
    nbformat.write(new_notebook(cells=list(map(new_code_cell, cells))), path)
    outputs = [cell.outputs for cell in executed(path, tmp_path).cells]
    assert "<td" in outputs[2][0].data["text/html"]
    assert "image/png" in outputs[3][0].data
    assert "quantity" in outputs[4][0].data["text/html"]
    assert [o for cell in outputs for o in cell if o.get("name") == "stderr"] == []
