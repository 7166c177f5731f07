"""`pllbench table`: what it says of stored runs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pllbench.results import records
from tests.commands import GRID, Answer, pllbench


def test_tables_and_states_of_records_need_no_torch(grid_results: Path) -> None:
    program = (
        "import sys\nfrom pllbench.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('heavy:', *{'torch', 'scipy.stats', 'pandas'} & set(sys.modules))"
    )
    for command in ("table", "status"):
        arguments = [sys.executable, "-c", program, command, "--results", str(grid_results)]
        output = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        assert output.endswith("heavy:\n"), command


CELL_KEYS = [
    *("method", "label", "dataset", "candidates", "q", "imbalance", "network", "epochs"),
    *("n", "mean", "std", "metric", "select", "run_ids"),
]


def test_json_of_a_table(grid_results: Path) -> None:
    answer = pllbench("table", "--format", "json", "--results", grid_results)
    cells = json.loads(answer.out)
    assert [(cell["method"], cell["q"]) for cell in cells] == [
        ("cc", 0.1),
        ("cc", 0.3),
        ("rc", 0.1),
        ("rc", 0.3),
    ]
    accuracies = {
        record.run_id: 100 * record.result.accuracy["last10"]
        for record in records.read_records(grid_results)[0]
    }
    for cell in cells:
        assert list(cell) == CELL_KEYS
        assert cell["label"] == f"{cell['method'].upper()} (epochs=2)"
        assert (cell["dataset"], cell["candidates"], cell["network"]) == (
            "digits",
            "uniform",
            "linear",
        )
        assert (cell["epochs"], cell["n"], cell["select"]) == (2, 2, "last10")
        assert len(set(cell["run_ids"])) == 2
        values = [accuracies.pop(run_id) for run_id in cell["run_ids"]]
        assert cell["mean"] == pytest.approx(np.mean(values))
        assert cell["std"] == pytest.approx(np.std(values, ddof=1))
    assert not accuracies, "every run is in one cell"
    seeds = GRID.index("--seeds") + 1
    seed = [*GRID[:seeds], "1,", *GRID[seeds + 1 :]]
    alone = json.loads(pllbench("table", *seed, "--format", "json", "--results", grid_results).out)
    assert {(cell["n"], cell["std"]) for cell in alone} == {(1, None)}


@pytest.mark.parametrize("form", ["rich", "latex", "markdown", "csv", "json"])
def test_a_table_in_a_file_is_the_table_on_the_screen(
    grid_results: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    path = tmp_path / "new" / "table"
    answer = pllbench("table", "--format", form, "--output", path, "--results", grid_results)
    assert answer == Answer(0, "", "")
    screen = pllbench("table", "--format", form, "--results", grid_results).out
    assert path.read_text() == screen


def test_a_table_of_the_best_epochs_says_so(grid_results: Path) -> None:
    assert "oracle" in pllbench("table", "--select", "oracle", "--results", grid_results).out


@pytest.mark.parametrize(
    ("name", "start"),
    [("t.tex", "% A fragment"), ("t.md", "| Digits"), ("t.csv", "method,"), ("t.json", "[")],
)
def test_a_file_is_written_in_the_format_of_its_suffix(
    grid_results: Path, tmp_path: Path, name: str, start: str
) -> None:
    file = tmp_path / name
    assert pllbench("table", "--results", grid_results, "--output", file).code == 0
    assert file.read_text("utf-8").startswith(start)
