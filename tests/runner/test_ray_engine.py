"""Runs on a Ray cluster: those of a node that dies are begun again, and all records are as here."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from pllbench.results import records
from pllbench.results.curves import read_curves
from pllbench.runner.job import execute
from tests import plugins

pytest.importorskip("ray", reason="Ray is not installed: pip install 'pllbench[ray]'")

from tests.commands import pllbench
from tests.factories import make_jobs
from tests.ray_cluster import CUSTOM, planned

ALONE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # it listens on 127.0.0.1 only, on Linux too
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Environment in which Ray neither serves nor calls anybody outside of this machine."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What `tests.ray_cluster` leaves."""
    folder = tmp_path_factory.mktemp("ray")
    root = Path(__file__).parents[2]
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    np.savez(folder / CUSTOM, x=np.eye(3)[y] + rng.normal(size=(120, 3)), y=y)
    # Ray's sockets, whose paths must be short, and the address of its last cluster.
    with plugins.installed(folder), TemporaryDirectory(prefix="ray-", dir="/tmp") as scratch:
        (folder / "broken").touch()
        plugins.write_lost(folder)
        environment = os.environ | ALONE | {"RAY_TMPDIR": scratch}
        environment.pop("RAY_ADDRESS", None)
        done = subprocess.run(
            [sys.executable, "-m", "tests.ray_cluster", str(folder)],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        yield folder


@pytest.fixture(scope="module")
def facts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "facts.json").read_text())
    return found


@pytest.mark.slow
def test_every_run_of_a_cluster_that_lost_a_node_has_the_record_of_a_local_one(
    folder: Path, facts: dict[str, Any]
) -> None:
    lost = facts["lose_a_node"]
    assert (lost["done"], lost["failed"]) == (40, [])
    assert lost["tasks"] > 40  # some were begun twice
    found, unreadable = records.read_records(folder / "results")
    assert (len(found), unreadable) == (40, [])
    by_id = {record.run_id: record for record in found}
    for job in make_jobs(folder, planned(folder / CUSTOM)):
        record, curves = execute(job)
        there = by_id[job.spec.run_id]
        assert (there.spec, there.result) == (record.spec, record.result)
        columns = read_curves(records.record_path(folder / "results", job.spec))
        assert columns.keys() == curves.keys()
        for name, column in curves.items():
            np.testing.assert_array_equal(columns[name], column)


@pytest.mark.slow
def test_custom_data_comes_to_nodes_that_lack_its_file(folder: Path, facts: dict[str, Any]) -> None:
    assert facts["lose_a_node"]["custom_is_on_nodes"] == [False, False]
    found = records.read_records(folder / "results")[0]
    assert Counter(record.spec.dataset for record in found) == {"digits": 20, CUSTOM.stem: 20}


@pytest.mark.slow
def test_a_run_that_goes_wrong_fails_alone(facts: dict[str, Any]) -> None:
    assert facts["fail"] == {
        "raising": "RuntimeError: a line,\nand [another] one",
        "killed": "lost 3 times with its node or worker (out of memory?)",
        "hanging": "took longer than its timeout of 5 s",
        "steady": "Finished",
    }


@pytest.mark.slow
def test_a_run_that_is_stopped_brings_its_checkpoint_back(facts: dict[str, Any]) -> None:
    stop = facts["stop"]
    assert stop["last_event"] == "Stopped"
    [epoch] = stop["resumed_from"]
    assert 0 < epoch < 300
    assert stop["equal"]


@pytest.mark.slow
def test_trials_that_pause_on_a_cluster_end_as_those_that_pause_here(facts: dict[str, Any]) -> None:
    assert facts["stop"]["searched"] is True


@pytest.mark.slow
def test_what_no_node_has_is_refused(facts: dict[str, Any]) -> None:
    expected = "engine ray: no node of this cluster has 1 CPU and 0.5 GPU for a run"
    assert facts["refuse"] == expected


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--address 127.0.0.1:1", "--address 127.0.0.1:1: no Ray cluster there ("),
        ("--address nonsense", "--address nonsense: no Ray cluster there ("),
        ("--device cpu --gpus-per-run 0.5", "--gpus-per-run 0.5: not with device cpu"),
        ("--device cuda --gpus-per-run 0", "--gpus-per-run 0: not with device cuda"),
    ],
)
def test_wrong_requests_are_answered_at_once(line: str, complaint: str) -> None:
    answer = pllbench("run", "--methods", "cc", "--engine", "ray", *line.split())
    assert answer.err.startswith(f"pllbench: {complaint}")
    assert answer.err.count("\n") == 1
    assert (answer.code, answer.out) == (2, "")
