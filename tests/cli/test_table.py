"""`pllbench table` and `status`: what they say of stored runs."""

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pllbench.results import records
from tests.commands import GRID, Answer, pllbench
from tests.records_factory import make_record, make_records, make_spec, of_benchmark, store


def test_status_counts_a_selection(grid: Path) -> None:
    answer = pllbench("status", *GRID, "--seeds", 3, "--results", grid, "--json")
    assert json.loads(answer.out) == {"done": 8, "failed": 0, "running": 0, "missing": 4}
    assert pllbench("status", "--results", grid).out == "8 done, 0 failed, 0 running, 0 missing\n"


def test_tables_and_states_of_records_need_no_torch(grid: Path) -> None:
    program = (
        "import sys\nfrom pllbench.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('heavy:', *{'torch', 'scipy.stats', 'pandas'} & set(sys.modules))"
    )
    for command in ("table", "status"):
        arguments = [sys.executable, "-c", program, command, "--results", str(grid)]
        output = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        assert output.endswith("heavy:\n"), command


def test_records_that_cannot_be_read_are_named_and_not_counted(grid: Path, tmp_path: Path) -> None:
    path = tmp_path / "records" / "digits" / "cc" / f"{'0' * 16}.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    answer = pllbench("status", "--results", tmp_path)
    assert answer.out == "0 done, 0 failed, 0 running, 0 missing\n"
    assert answer.err.startswith(f"pllbench: not counted: {path}: ")


CELL_KEYS = [
    *("method", "label", "dataset", "candidates", "q", "network", "epochs"),
    *("n", "mean", "std", "select", "run_ids"),
]


def test_json_of_a_table(grid: Path) -> None:
    answer = pllbench("table", "--format", "json", "--results", grid)
    cells = json.loads(answer.out)
    assert [(cell["method"], cell["q"]) for cell in cells] == [
        ("cc", 0.1),
        ("cc", 0.3),
        ("rc", 0.1),
        ("rc", 0.3),
    ]
    accuracies = {
        record.run_id: 100 * record.result.accuracy["last10"] for record in records.query(grid)[0]
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
    alone = json.loads(
        pllbench("table", *GRID, "--seeds", "1,", "--format", "json", "--results", grid).out
    )
    assert {(cell["n"], cell["std"]) for cell in alone} == {(1, None)}


@pytest.mark.parametrize("form", ["rich", "latex", "markdown", "csv", "json"])
def test_a_table_in_a_file_is_the_table_on_the_screen(
    grid: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    path = tmp_path / "new" / "table"
    answer = pllbench("table", "--format", form, "--output", path, "--results", grid)
    assert answer == Answer(0, "", "")
    screen = pllbench("table", "--format", form, "--results", grid).out
    assert path.read_text() == screen


def test_a_table_of_the_best_epochs_says_so(grid: Path) -> None:
    assert "oracle" in pllbench("table", "--select", "oracle", "--results", grid).out


# Compared with the paper.

CC = [93.0, 94.0, 93.4, 92.8, 94.4]
"""Ours on CNAE-9 at q = 0.1, where the paper has 93.673 +- .218 of 3 runs."""


@pytest.fixture(scope="module")
def cnae9(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cells of CNAE-9's table: CC agrees with the paper, AsyCo (86.728 +- .787) does not."""
    runs = of_benchmark("cnae9", {("cc", 0.1): CC, ("asyco", 0.7): [70, 71, 72, 73, 74]})
    return store(tmp_path_factory.mktemp("cnae9"), runs)


COMPARE = ["table", "--benchmark", "cnae9", "--compare", "paper", "--results"]


def test_json_and_csv_of_a_comparison(cnae9: Path) -> None:
    entries = json.loads(pllbench(*COMPARE, cnae9, "--format", "json").out)
    assert len(entries) == 2 * 29, "every number of the table, under last10 and last"
    counts = Counter((entry["select"], entry["verdict"]) for entry in entries)
    for rule in ("last10", "last"):
        assert [counts[rule, v] for v in ("agrees", "differs", "not run")] == [1, 1, 27]
    [cc, *_] = [entry for entry in entries if entry["verdict"] == "agrees"]
    theirs = np.array([202, 202, 203]) / 216 * 100  # what the paper's digits are made of
    interval = stats.ttest_ind(CC, theirs, equal_var=False).confidence_interval(0.95)
    assert (cc["method"], cc["q"], cc["n"], cc["published_n"]) == ("cc", 0.1, 5, 3)
    assert cc["published_std"] == pytest.approx(0.218 * (3 / 2) ** 0.5)
    assert cc["mean"] == pytest.approx(np.mean(CC))
    assert cc["difference"] == pytest.approx(np.mean(CC) - 93.673)
    assert (cc["low"], cc["high"]) == pytest.approx(tuple(interval), abs=0.005)
    lines = list(csv.DictReader(io.StringIO(pllbench(*COMPARE, cnae9, "--format", "csv").out)))
    assert [line["verdict"] for line in lines] == [entry["verdict"] for entry in entries]
    assert [line["run_ids"].split() for line in lines] == [entry["run_ids"] for entry in entries]


@pytest.mark.parametrize(
    ("form", "cc", "asyco"),
    [
        (
            "rich",
            "CC 0.1 93.67 ± 0.27 5/3 93.52 ± 0.67 -0.15 [-0.99, +0.69] agrees",
            "AsyCo 0.7 86.73 ± 0.96 5/3 72.00 ± 1.58 -14.73 [-16.94, -12.52] differs",
        ),
        (
            "markdown",
            r"| CC | 0.1 | 93.67 ± 0.27 | 5/3 | 93.52 ± 0.67 | -0.15 \[-0.99, +0.69\] | agrees |",
            r"| 72.00 ± 1.58 | -14.73 \[-16.94, -12.52\] | differs |",
        ),
        (
            "latex",
            r"& 93.67 $\pm$ 0.27 & 5/3 & 93.52 $\pm$ 0.67 & $-$0.15 [$-$0.99, +0.69] & agrees",
            r"& 72.00 $\pm$ 1.58 & $-$14.73 [$-$16.94, $-$12.52] & differs",
        ),
    ],
)
def test_a_comparison_for_readers(
    cnae9: Path, form: str, cc: str, asyco: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = " ".join(pllbench(*COMPARE, cnae9, "--format", form).out.split())
    assert cc in text
    assert asyco in text
    assert "last10: 1 agree, 1 differ, 0 too few, 27 not run." in text
    assert "found by comparing with the published test numbers" in text


def test_a_comparison_under_one_rule(cnae9: Path) -> None:
    entries = json.loads(pllbench(*COMPARE, cnae9, "--select", "oracle", "--format", "json").out)
    assert {entry["select"] for entry in entries} == {"oracle"}


def test_all_tables_of_the_paper(cnae9: Path) -> None:
    page = pllbench("table", "--compare", "paper", "--format", "markdown", "--results", cnae9).out
    assert "| cnae9 | 29 | 27 | 0 | 1 | 1 | 1 | 1 |" in page
    assert "| All | 186 | 184 | 0 | 1 | 1 | 1 | 1 |" in page
    assert page.count("## ") == 2, "the counts, and the one table of which something has run"
    assert page.count(r"uniform\_images") == 1
    assert "10 runs on cpu" in page


# Tests, and rules side by side.


@pytest.fixture(scope="module")
def methods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three methods on digits over five seeds; of one the oracle is better."""
    records = make_records([90, 91, 92.5, 93, 94], method="cc")
    records += make_records([89, 90.5, 92.7, 92, 93.1], method="rc")
    records += [
        make_record(make_spec("proden", seed=seed), 90 + seed, {"oracle": 95 + seed})
        for seed in range(5)
    ]
    return store(tmp_path_factory.mktemp("methods"), records)


def test_json_and_csv_of_paired_tests(methods: Path) -> None:
    ask = ["table", "--tests", "cc", "--results", methods, "--format"]
    rc, proden = json.loads(pllbench(*ask, "json").out)
    expected = stats.ttest_rel([90, 91, 92.5, 93, 94], [89, 90.5, 92.7, 92, 93.1])
    assert (rc["method"], rc["against"], rc["n"], rc["note"]) == ("cc", "rc", 5, "")
    assert rc["difference"] == pytest.approx(0.64)
    assert rc["t_p"] == pytest.approx(expected.pvalue)
    assert rc["t_holm"] == pytest.approx(2 * expected.pvalue)
    assert (rc["low"], rc["high"]) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert (rc["wilcoxon_p"], proden["against"]) == (None, "proden")
    lines = list(csv.DictReader(io.StringIO(pllbench(*ask, "csv").out)))
    assert [float(line["t_p"]) for line in lines] == pytest.approx([rc["t_p"], proden["t_p"]])


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("rich", "RC 0.3 5 +0.64 [+0.00, +1.28] .049 .099"),
        ("markdown", r"| RC | 0.3 | 5 | +0.64 \[+0.00, +1.28\] | .049 | .099 |"),
        ("latex", r"RC & 0.3 & 5 & +0.64 [+0.00, +1.28] & .049 & .099 \\"),
    ],
)
def test_paired_tests_for_readers(methods: Path, form: str, line: str) -> None:
    answer = pllbench("table", "--tests", "cc", "--format", form, "--results", methods)
    text = " ".join(answer.out.split())
    assert line in text
    assert "n is too small for Wilcoxon's signed-rank test" in text


def test_json_and_csv_of_rules_side_by_side(methods: Path) -> None:
    ask = ["table", "--select", "all", "--results", methods, "--format"]
    entries = json.loads(pllbench(*ask, "json").out)
    assert [(e["method"], e["select"]) for e in entries] == [
        (method, rule) for rule in ("last", "last10", "oracle") for method in ("cc", "rc", "proden")
    ]
    assert [e["mean"] for e in entries[-3:]] == pytest.approx([92.1, 91.46, 97.0])
    lines = list(csv.DictReader(io.StringIO(pllbench(*ask, "csv").out)))
    assert [line["select"] for line in lines] == [entry["select"] for entry in entries]


@pytest.mark.parametrize(
    ("form", "heads", "line"),
    [
        (
            "rich",
            "Method q last last10 Oracle (diagnostic)",
            "PRODEN 0.3 92.00 ± 1.58 92.00 ± 1.58 97.00 ± 1.58",
        ),
        (
            "markdown",
            "| Method | q | last | last10 | Oracle (diagnostic) |",
            "| PRODEN | 0.3 | 92.00 ± 1.58 | 92.00 ± 1.58 | 97.00 ± 1.58 |",
        ),
        (
            "latex",
            r"Method & $q$ & last & last10 & Oracle (diagnostic) \\",
            r"PRODEN & 0.3 & 92.00 $\pm$ 1.58 & 92.00 $\pm$ 1.58 & 97.00 $\pm$ 1.58 \\",
        ),
    ],
)
def test_rules_side_by_side_for_readers(methods: Path, form: str, heads: str, line: str) -> None:
    answer = pllbench("table", "--select", "all", "--format", form, "--results", methods)
    text = " ".join(answer.out.split())
    assert heads in text
    assert line in text
    assert "no run has a hold-out: covering rate, approximated accuracy." in text
