"""A method whose default changes between two commands: what `run`, `status` and `table` say."""

import json
from pathlib import Path

import pytest

from tests.average import SHARPER, Write, install_average
from tests.commands import pllbench, refused


@pytest.fixture
def average(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    return install_average(tmp_path / "plugin", monkeypatch)


def test_a_changed_default_is_never_mixed_with_old_records(average: Write, tmp_path: Path) -> None:
    selection: list[object] = ["--methods", "average", "--q", 0.3, "--epochs", 1]
    selection += ["--results", tmp_path / "results"]
    four = [*selection, "--seeds", 4]
    assert pllbench("run", *selection, "--seeds", 2, "--jobs", 1).code == 0
    average(SHARPER)
    assert refused("run", *four) == (
        "--stale refuse: average (epochs=1) · digits q=0.3 · seed 0: its record has sharpness = "
        "1.0, now it is 5.0, both under version 1 of average: raise that, or choose rerun or keep"
    )
    assert pllbench("run", *four, "--dry-run").out.endswith("4 runs, 0 done\n")
    counts = json.loads(pllbench("status", *four, "--json").out)
    assert counts == {"done": 0, "failed": 0, "running": 0, "missing": 4}

    kept = pllbench("run", *four, "--stale", "keep", "--jobs", 1)
    assert kept.code == 0
    assert kept.err.endswith("2 done, 2 were done before, 0 failed\n")
    for command in (("table", *four), ("table", "--results", tmp_path / "results")):
        rows = pllbench(*command, "--format", "csv").out.splitlines()[1:]
        assert len(rows) == 2
        assert sum("sharpness=1.0" in row for row in rows) == 1
        assert sum("sharpness=5.0" in row for row in rows) == 1

    rerun = pllbench("run", *four, "--stale", "rerun", "--jobs", 1)
    assert rerun.code == 0
    assert rerun.err.count(": done again, the old one is ") == 2
    assert rerun.err.endswith("2 done, 2 were done before, 0 failed\n")
    records = tmp_path / "results" / "records" / "digits" / "average"
    assert len(list(records.glob("*.json"))) == 4
    assert len(list(records.glob("*.stale"))) == 4
    [row] = pllbench("table", *four, "--format", "csv").out.splitlines()[1:]
    assert row.startswith("average,average (epochs=1),")


def test_what_becomes_of_stale_records_is_one_of_three(tmp_path: Path) -> None:
    line = refused("run", "--methods", "cc", "--stale", "ignore", "--results", tmp_path)
    assert "'ignore' is not one of 'refuse', 'rerun', 'keep'" in line
