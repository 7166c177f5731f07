"""`pllbench table --compare SOURCE`."""

import csv
import io
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.commands import pllbench
from tests.factories import of_benchmark, store

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
    assert "| All | 200 | 198 | 0 | 1 | 1 | 1 | 1 |" in page
    assert page.count("## ") == 2, "the counts, and the one table of which something has run"
    assert page.count(r"uniform\_images") == 1
    for rule in ("max", r"mean\_rate"):
        assert rf"| instance\_dependent, {rule} | 14 | 14 | 0 | 0 | 0 | 0 | 0 |" in page
    assert "10 runs on cpu" in page


def test_tables_of_another_source(tmp_path: Path) -> None:
    """VALEN has CC at 62.21 +- 1.77 of five folds on Lost, and far from it on the other two."""
    ours = [62.0, 63.0, 61.0, 62.5, 61.5]
    folder = store(tmp_path / "valen", of_benchmark("valen_real", {("cc", None): ours}))
    page = pllbench("table", "--compare", "valen", "--format", "markdown", "--results", folder).out
    assert page.startswith("# Reproduction of the VALEN paper\n")
    assert page.count("last10: 1 agree, 0 differ, 0 too few, 8 not run.") == 1
    assert page.count("last10: 0 agree, 1 differ, 0 too few, 8 not run.") == 2
    assert "Published: VALEN paper (NeurIPS 2021), table 5" in page
    assert "| CC |  | 62.21 ± 1.77 | 5/5 | 62.00 ± 0.79 |" in page
    shared = r"epochs=500, batch\_size=100, lr=0.01, milestones=(1.0,), folds=5"
    assert f"Shared settings: {shared}." in page
    both = pllbench("table", "--compare", "all", "--format", "json", "--results", folder).out
    run = [entry for entry in json.loads(both) if entry["n"]]
    assert {(entry["method"], entry["source"], entry["published_n"]) for entry in run} == {
        ("cc", "Table 5", 5)
    }


def test_a_selection_without_numbers_of_a_source(cnae9: Path) -> None:
    answer = pllbench("table", "--benchmark", "cnae9", "--compare", "valen", "--results", cnae9)
    assert answer.code == 2
    assert "--compare valen: it has no number for any cell here" in answer.err


def test_a_table_of_two_grids_is_compared_with_each_and_says_which(tmp_path: Path) -> None:
    """RC on SVHN, printed as 96.899 +- .087: with the rule of the text alone, then with both."""
    command = ("table", "--benchmark", "instance_dependent", "--compare", "paper", "--format")
    runs = of_benchmark("instance_dependent", {("rc", None): [96.8, 96.9, 97.0]})
    store(tmp_path, [run for run in runs if run.spec.dataset == "svhn"])
    page = pllbench(*command, "markdown", "--results", tmp_path).out
    title = "Instance-dependent candidate sets, max: SVHN"
    assert title in page
    assert "mean\\_rate: SVHN" not in page
    assert "| instance\\_dependent, max | 14 | 13 | 0 | 1 | 0 | 1 | 0 |" in page
    assert "| instance\\_dependent, mean\\_rate | 14 | 14 | 0 | 0 | 0 | 0 | 0 |" in page
    runs = of_benchmark("instance_dependent", {("rc", 0.4): [70.0, 71.0, 72.0]})
    store(tmp_path, [run for run in runs if run.spec.dataset == "svhn"])
    entries = json.loads(pllbench(*command, "json", "--results", tmp_path).out)
    found = {
        (entry["candidates"], entry["q"]): (entry["verdict"], entry["published_mean"])
        for entry in entries
        if entry["n"] and entry["select"] == "last10"
    }
    assert found == {
        ("instance:rule=max", None): ("agrees", 96.899),
        ("instance", 0.4): ("differs", 96.899),
    }
