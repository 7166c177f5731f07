"""`table --metric`: columns of long-tailed runs, filters, what is refused."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.commands import pllbench, refused

GRID = ("--methods", "cc,supervised", "--datasets", "digits", "--q", "0.3", "--seeds", "2")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs on the rows as they are, and on long-tailed ones."""
    folder = tmp_path_factory.mktemp("tailed")
    flags = ("--epochs", "2", "--jobs", "1", "--results", folder)
    answer = pllbench("run", *GRID, *flags, "--imbalance", "1,10")
    assert answer.code == 0, answer.err
    assert "Digits, imbalance 10" in answer.out
    return folder


def test_metrics_are_columns(results: Path) -> None:
    flags = ("--imbalance", "10", "--metric", "accuracy,balanced,many,medium,few")
    answer = pllbench("table", *flags, "--format", "csv", "--results", results)
    lines = list(csv.DictReader(io.StringIO(answer.out)))
    assert [line["metric"] for line in lines if line["method"] == "cc"] == [
        *("accuracy", "balanced", "many", "medium", "few")
    ]
    assert {line["imbalance"] for line in lines} == {"10.0"}
    means = {line["metric"]: float(line["mean"]) for line in lines if line["method"] == "cc"}
    thirds = 0.3 * means["many"] + 0.4 * means["medium"] + 0.3 * means["few"]
    assert means["balanced"] == pytest.approx(thirds)


def test_one_metric_serves_rules_and_tests(results: Path) -> None:
    flags = ("--imbalance", "10", "--metric", "few", "--results", results)
    rules = json.loads(pllbench("table", "--select", "all", *flags, "--format", "json").out)
    assert {entry["metric"] for entry in rules} == {"few"}
    assert {entry["select"] for entry in rules} == {"last", "last10", "oracle"}


def test_all_records_show_each_imbalance_apart(results: Path) -> None:
    answer = pllbench("table", "--format", "markdown", "--results", results)
    assert "| Digits | q = 0.3 |" in answer.out
    assert "| Digits, imbalance 10 | q = 0.3 |" in answer.out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--metric", "fev"), "--metric fev: did you mean few?"),
        (("--metric", "few,"), "--metric few,: an entry is empty"),
        (
            ("--metric", "few,many", "--tests", "cc"),
            "--metric few,many: one metric with --tests or --select all",
        ),
        (("--metric", "few", "--compare", "paper"), "--metric few: not with --compare paper"),
        (
            ("--metric", "few", "--imbalance", "1"),
            "--metric few: no run here has a value of it; it needs long-tailed training rows",
        ),
    ],
)
def test_impossible_metrics_are_refused(
    results: Path, flags: tuple[str, ...], message: str
) -> None:
    assert refused("table", *flags, "--results", results) == message
