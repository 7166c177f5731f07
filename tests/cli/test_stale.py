"""A method whose default changes between two commands: what `run`, `status` and `table` say."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pllbench.runner.job import RunOptions
from pllbench.runner.same_numbers import to_repeat
from tests.average import RAISED, REWRITTEN, SHARPER, WEAKER, Write, install_average
from tests.commands import pllbench, refused
from tests.data.files import save_npz


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


def test_sources_are_averaged_only_after_they_have_given_the_same_numbers(
    average: Write, tmp_path: Path
) -> None:
    results = ["--results", tmp_path / "results"]
    run = ["run", "--methods", "average", "--q", 0.3, "--epochs", 1, "--jobs", 1, *results]
    run += ["--stale", "keep"]

    def rows() -> list[str]:
        return pllbench("table", *results, "--format", "csv").out.splitlines()[1:]

    assert pllbench(*run, "--seeds", 1).code == 0
    average(REWRITTEN)
    assert pllbench(*run, "--seeds", 2).code == 0
    assert ["average (epochs=1), source" in row for row in rows()] == [True, True]
    assert pllbench("check", "average", "--same-numbers", *results).code == 0
    [row] = rows()
    assert ", source" not in row


def test_what_becomes_of_stale_records_is_one_of_three(tmp_path: Path) -> None:
    line = refused("run", "--methods", "cc", "--stale", "ignore", "--results", tmp_path)
    assert "'ignore' is not one of 'refuse', 'rerun', 'keep'" in line


def test_the_numbers_of_another_source_are_compared_with_a_stored_run(
    average: Write, tmp_path: Path
) -> None:
    results = ["--results", tmp_path / "results"]
    run = ["run", "--methods", "average", "--q", 0.3, "--epochs", 2, "--seeds", 3, "--jobs", 1]
    check = ["check", "average", "--same-numbers", *results]
    assert refused(*check) == (
        f"--results {tmp_path}/results: no records of version 1 of average there"
    )
    assert pllbench(*run, *results).code == 0
    assert pllbench(*check).out == "average: its source is that of its records\n"

    average(WEAKER)
    assert "its record is of another source, both under version 1" in refused(*run, *results)
    worse = pllbench(*check)
    assert worse.code == 1
    first, last = worse.out.splitlines()
    assert re.fullmatch(
        r"FAILED  average \(epochs=2\) · digits q=0\.3 · seed \d: "
        r"result accuracy\.last is 0\.\d+, not 0\.\d+",
        first,
    )
    assert last == "average: not the stored numbers: raise its version"
    assert "its record is of another source" in refused(*run, *results)

    average(REWRITTEN)
    assert "its record is of another source" in refused(*run, *results)
    good = pllbench(*check)
    assert good.code == 0
    first, last = good.out.splitlines()
    assert re.fullmatch(r"ok      average .* · seed \d: bit for bit the stored run", first)
    assert last == "average: its source gives the stored numbers"
    assert pllbench(*run, *results).err == "pllbench: 0 done, 3 were done before, 0 failed\n"
    assert pllbench(*check).out == "average: its source is that of its records\n"

    average(REWRITTEN, RAISED)
    assert "no records of version 2 of average" in refused(*check)


def test_the_fastest_run_of_each_other_source_is_done_again(average: Write, tmp_path: Path) -> None:
    options = RunOptions(tmp_path / "results", tmp_path)
    run = ["run", "--methods", "average", "--q", 0.3, "--epochs", 1, "--jobs", 1]
    run += ["--results", tmp_path / "results", "--stale", "keep"]
    assert pllbench(*run, "--seeds", "0,1").code == 0
    average(WEAKER)
    assert pllbench(*run, "--seeds", "2,3").code == 0
    average(REWRITTEN)
    seconds = {0: 3.0, 1: 2.0, 2: 1.0, 3: 4.0}
    for path in (tmp_path / "results").glob("records/*/*/*.json"):
        content = json.loads(path.read_text())
        content["provenance"]["seconds"] = seconds[content["spec"]["seed"]]
        path.write_text(json.dumps(content))
    assert [found.run.spec.seed for found in to_repeat("average", options)] == [2, 1]


def test_runs_on_own_data_are_done_again_where_the_data_are_named(
    average: Write, tmp_path: Path
) -> None:
    path = save_npz(tmp_path, "birds")
    results = ["--results", tmp_path / "results"]
    run = ["run", "--methods", "average", "--datasets", path, "--q", 0.3, "--epochs", 1]
    assert pllbench(*run, "--seeds", "0,", "--jobs", 1, *results).code == 0
    average(REWRITTEN)
    check = ["check", "average", "--same-numbers", *results]
    assert re.match(
        r"--data-dir .*: the data of no run of source \w+ of average ar", refused(*check)
    )
    assert pllbench(*check, "--datasets", path).code == 0
    assert "only with --same-numbers" in refused("check", "average", "--datasets", path)


def test_runs_that_were_pruned_by_a_file_of_features_are_not_done_again_without_it(
    average: Write, tmp_path: Path
) -> None:
    path, features = save_npz(tmp_path, "birds"), tmp_path / "features.npz"
    np.savez(features, features=np.arange(40.0)[:, None])
    results = ["--results", tmp_path / "results"]
    run = ["run", "--methods", "average", "--datasets", path, "--q", 0.3, "--epochs", 1]
    pruning = ["--prune", f"tau=1.0,k=5,features={features}"]
    assert pllbench(*run, *pruning, "--seeds", "0,", "--jobs", 1, *results).code == 0
    average(REWRITTEN)
    assert re.match(
        r"--data-dir .*: the data of no run of source \w+ of average ar",
        refused("check", "average", "--same-numbers", *results, "--datasets", path),
    )
