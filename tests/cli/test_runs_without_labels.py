"""`run` and what follows it on data without true labels."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from pllbench.results.records import read_records
from tests.commands import pllbench, refused

GRID = ("--methods", "cc,proden", "--seeds", "2", "--epochs", "3", "--jobs", "1")


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`birds.npz` without `y` and `known.npz` with it, and the results of runs on both."""
    folder = tmp_path_factory.mktemp("birds")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    x = np.eye(3)[y] + 0.3 * rng.normal(size=(60, 3))
    sets = np.eye(3, dtype=np.uint8)[y] | (rng.random((60, 3)) < 0.3)
    np.savez(folder / "birds.npz", x=x, candidates=sets)
    np.savez(folder / "known.npz", x=x, candidates=sets, y=y)
    data = ("--datasets", f"{folder / 'birds.npz'},{folder / 'known.npz'}")
    answer = pllbench("run", *GRID, *data, "--results", folder / "results")
    assert answer.code == 0, answer.err
    (folder / "answer.txt").write_text(answer.out)
    (folder / "progress.txt").write_text(answer.err)
    return folder


def test_the_table_of_the_run_says_that_there_are_no_true_labels(birds: Path) -> None:
    shown = " ".join((birds / "answer.txt").read_text().split())
    assert "birds covering rate approximated accuracy" in shown
    assert "known accuracy" in shown
    assert "on birds criteria of the hold-out (%), since true labels are not known" in shown
    assert "birds · seed 1: done in 0:00" in (birds / "progress.txt").read_text()


def test_the_runs_of_equal_data_train_alike(birds: Path) -> None:
    records, unreadable = read_records(birds / "results")
    assert not unreadable
    assert len(records) == 8
    audits = {record.provenance.audit.digest for record in records if record.spec.seed == 0}
    assert len(audits) == 1
    for record in records:
        without = record.spec.dataset == "birds"
        assert record.result.labelled is not without
        assert (record.result.num_test, record.result.num_holdout) == ((0, 12), (12, 0))[
            not without
        ]
        assert set(record.result.criteria) == (
            {"covering_rate", "approximated_accuracy"} if without else set()
        )


def test_tables_in_json_name_the_criterion(birds: Path) -> None:
    data = ("--datasets", birds / "birds.npz", "--results", birds / "results")
    rows = json.loads(pllbench("table", *data, "--format", "json").out)
    assert {(row["method"], row["metric"], row["n"]) for row in rows} == {
        (method, criterion, 2)
        for method in ("cc", "proden")
        for criterion in ("covering_rate", "approximated_accuracy")
    }
    best = json.loads(pllbench("table", *data, "--format", "json", "--select", "covering_rate").out)
    assert {row["select"] for row in best} == {"covering_rate"}
    assert all(a["mean"] >= b["mean"] - 1e-9 for a, b in zip(best, rows, strict=True))


def test_a_page_shows_criteria_beside_accuracies(birds: Path, tmp_path: Path) -> None:
    flags = ("--results", birds / "results", "--output", tmp_path / "page.html")
    assert pllbench("report", *flags).code == 0
    text = (tmp_path / "page.html").read_text("utf-8")
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text, re.S)[0])
    assert [(column["title"], column["quantity"]) for column in data["columns"]] == [
        ("covering rate", "Covering rate of the hold-out (%)"),
        ("approximated accuracy", "Approximated accuracy of the hold-out (%)"),
        ("", "Test accuracy (%)"),
    ]
    assert "Criteria of the hold-out on birds" in text
    assert "Test accuracy on known" in text
    assert "48 training, 0 test, 12 hold-out" in text


def test_one_run_is_shown_and_exported_with_its_criteria(birds: Path) -> None:
    records, _ = read_records(birds / "results")
    record = next(record for record in records if not record.result.labelled)
    shown = pllbench("show", record.run_id, "--results", birds / "results").out
    rate = record.result.criteria["covering_rate"]["last10"]
    assert f"last10={rate:.2%}" in shown
    assert "accuracy, last10" not in shown
    answer = pllbench("export", "--results", birds / "results", "--datasets", birds / "birds.npz")
    assert answer.code == 0, answer.err
    rows = {row["run_id"]: row for row in csv.DictReader(io.StringIO(answer.out))}
    assert rows[record.run_id]["last10"] == ""
    assert float(rows[record.run_id]["covering_rate_last10"]) == rate


def test_kept_predictions_without_test_rows_show_no_empty_section(
    birds: Path, tmp_path: Path
) -> None:
    for name, shown in (("birds", False), ("known", True)):
        words = ("--methods", "cc", "--seeds", 1, "--epochs", 1, "--jobs", 1)
        where = ("--datasets", birds / f"{name}.npz", "--results", tmp_path / name)
        assert pllbench("run", *words, *where, "--keep", "predictions").code == 0
        [record] = read_records(tmp_path / name)[0]
        answer = pllbench("show", record.run_id, "--results", tmp_path / name)
        assert answer.code == 0
        assert ("test accuracy by class" in answer.out) is shown


def test_settings_are_tuned_without_true_labels(birds: Path, tmp_path: Path) -> None:
    grid = ("--methods", "cc", "--datasets", birds / "birds.npz", "--epochs", "3")
    study = ("--trials", "3", "--jobs", "1", "--results", tmp_path / "tuned")
    answer = pllbench("tune", *grid, *study)
    assert answer.code == 0, answer.err
    assert list((tmp_path / "tuned").rglob("*.toml"))


@pytest.mark.parametrize("plot", ["accuracy", "curves"])
def test_plots_are_drawn(birds: Path, tmp_path: Path, plot: str) -> None:
    flags = ("--results", birds / "results", "--output", tmp_path / "plot.png")
    answer = pllbench("plot", plot, *flags)
    assert answer.code == 0, answer.err
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_what_needs_true_labels_is_refused(birds: Path) -> None:
    results = ("--results", birds / "results")
    data = ("--datasets", birds / "birds.npz")
    line = refused("run", "--methods", "cc,supervised", *data, *results)
    path = birds / "birds.npz"
    assert line == (
        f"--methods supervised: learns from true labels, and {path} has none: leave it out"
    )
    assert "it needs true labels" in refused("table", *data, *results, "--select", "oracle")
    assert "no noise rates" in refused("plot", "noise", *data, *results)
    assert "real candidate sets" in refused("data", path, "--q", "0.3")
