"""`pllbench report`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pllbench.results.workspace import Workspace
from tests.commands import Answer, pllbench, refused
from tests.factories import make_records, make_spec, store
from tests.reports.test_metrics import tailed


def data(path: Path) -> Any:
    [found] = re.findall(r'id="data">(.*?)</script>', path.read_text("utf-8"), re.S)
    return json.loads(found)


def test_a_page_is_written(grid_results: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    answer = pllbench("report", "--results", grid_results, "--output", path)
    assert answer == Answer(0, f"{path}\n", "")
    labels = {line["label"] for line in data(path)["lines"]}
    assert labels == {"CC (epochs=2)", "RC (epochs=2)"}
    assert data(path)["curves"]["epochs"] == {"2": [1, 2]}


def test_curves_are_left_out_on_demand(grid_results: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    arguments = ("report", "--results", grid_results, "--output", path)
    assert pllbench(*arguments, "--no-curves").code == 0
    assert data(path)["curves"] is None
    assert "Over epochs" not in path.read_text()


def test_a_selection_is_shown_with_what_it_lacks(tmp_path: Path) -> None:
    results = store(tmp_path / "results", make_records([90, 91]))
    path = tmp_path / "page.html"
    wanted = ("--methods", "cc,rc", "--datasets", "digits", "--q", "0.3", "--seeds", "3")
    answer = pllbench("report", *wanted, "--results", results, "--output", path)
    assert answer.code == 0, answer.err
    text = path.read_text("utf-8")
    assert "Missing runs" in text
    assert 'href="results/records/digits/cc"' in text


def test_long_tailed_data_are_shown_by_classes_too(tmp_path: Path) -> None:
    runs = [tailed(70), tailed(60, method="rc"), *make_records([90, 91], q=0.5)]
    path = tmp_path / "page.html"
    answer = pllbench("report", "--results", store(tmp_path / "results", runs), "--output", path)
    assert answer.code == 0, answer.err
    assert path.read_text("utf-8").count("<h3>By classes</h3>") == 1
    [table] = re.findall(
        r'aria-label="Accuracy by classes on Digits, imbalance 10">(.*?)</table>',
        path.read_text("utf-8"),
        re.S,
    )
    rows = [re.sub("<[^>]*>", " ", row).split() for row in re.findall("<tr.*?</tr>", table, re.S)]
    assert [row for row in rows if row[0] in ("CC", "RC")] == [
        ["CC", "70.00", "80.00", "70.00", "40.00"],
        ["RC", "60.00", "70.00", "60.00", "30.00"],
    ]


@pytest.mark.parametrize(
    ("selection", "shown"),
    [
        ((), {"rc-9", "lost-9"}),
        (("--methods", "rc"), {"rc-9", "lost-9"}),
        (("--datasets", "digits"), {"rc-9"}),
        (("--methods", "cc,rc", "--datasets", "digits", "--q", "0.3", "--seeds", "9,0"), {"rc-9"}),
    ],
)
def test_runs_that_failed_are_named_where_the_selection_asks_for_them(
    tmp_path: Path, selection: tuple[str, ...], shown: set[str]
) -> None:
    results = store(tmp_path / "results", [*make_records([90]), *make_records([80], method="rc")])
    failed = {"rc-9": make_spec("rc", seed=9), "lost-9": make_spec("rc", "lost", None, 9)}
    for reason, spec in failed.items():
        workspace = Workspace.for_run(results, spec.run_id)
        assert workspace.acquire()
        workspace.describe(f"{spec.method} on {spec.dataset}", spec)
        workspace.fail(f"OSError: {reason}")
    path = tmp_path / "page.html"
    answer = pllbench("report", *selection, "--results", results, "--output", path)
    assert answer.code == 0, answer.err
    text = path.read_text("utf-8")
    assert {reason for reason in failed if f"OSError: {reason}" in text} == shown


def test_a_file_that_cannot_be_written_is_named(grid_results: Path, tmp_path: Path) -> None:
    reason = refused("report", "--results", grid_results, "--output", tmp_path)
    assert reason == f"--output {tmp_path}: not writable (Is a directory)"
