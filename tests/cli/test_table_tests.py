"""`pllbench table --tests` and `--select all`: paired tests, and selection rules side by side."""

import csv
import io
import json
from pathlib import Path

import pytest
from scipy import stats

from tests.commands import pllbench
from tests.factories import make_record, make_records, make_spec, store


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three methods on digits over five seeds; of one the oracle is better."""
    records = make_records([90, 91, 92.5, 93, 94], method="cc")
    records += make_records([89, 90.5, 92.7, 92, 93.1], method="rc")
    records += [
        make_record(make_spec("proden", seed=seed), 90 + seed, {"oracle": 95 + seed})
        for seed in range(5)
    ]
    return store(tmp_path_factory.mktemp("methods"), records)


def test_json_and_csv_of_paired_tests(results: Path) -> None:
    ask = ["table", "--tests", "cc", "--results", results, "--format"]
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
def test_paired_tests_for_readers(results: Path, form: str, line: str) -> None:
    answer = pllbench("table", "--tests", "cc", "--format", form, "--results", results)
    text = " ".join(answer.out.split())
    assert line in text
    assert "n is too small for Wilcoxon's signed-rank test" in text


def test_json_and_csv_of_rules_side_by_side(results: Path) -> None:
    ask = ["table", "--select", "all", "--results", results, "--format"]
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
def test_rules_side_by_side_for_readers(results: Path, form: str, heads: str, line: str) -> None:
    answer = pllbench("table", "--select", "all", "--format", form, "--results", results)
    text = " ".join(answer.out.split())
    assert heads in text
    assert line in text
    assert "no run has a hold-out: covering rate, approximated accuracy." in text
