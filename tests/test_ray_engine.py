"""Runs on a Ray cluster: those of a node that dies are begun again, and all records are as here."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllbench import records
from pllbench.execution import Job, execute
from tests import plugins

pytest.importorskip("ray", reason="Ray is not installed: pip install 'pllbench[ray]'")

from tests.ray_cluster import planned

IN_OWN_NETWORK = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""Ray listens on the address of a network interface; in a network of its own, on 127.0.0.1."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What `tests.ray_cluster` leaves."""
    folder = tmp_path_factory.mktemp("ray")
    with plugins.installed(folder):
        (folder / "broken").touch()
        plugins.write_lost(folder)
        command = [sys.executable, "-m", "tests.ray_cluster", str(folder)]
        if _can_make_networks():
            command = [*IN_OWN_NETWORK, *command]
        quiet = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
        root = Path(__file__).parent.parent
        done = subprocess.run(
            command, cwd=root, env=quiet, capture_output=True, text=True, timeout=900, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        yield folder


def _can_make_networks() -> bool:
    if not (shutil.which("unshare") and shutil.which("ip")):
        return False
    probe = [*IN_OWN_NETWORK, "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


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
    found, unreadable = records.query(folder / "results")
    assert (len(found), unreadable) == (40, [])
    by_id = {record.run_id: record for record in found}
    for run in planned():
        record, curves = execute(Job(run.spec, folder, "cpu"))
        there = by_id[run.spec.run_id]
        assert (there.spec, there.result) == (record.spec, record.result)
        columns = records.read_curves(records.record_path(folder / "results", run.spec))
        assert columns.keys() == curves.keys()
        for name, column in curves.items():
            np.testing.assert_array_equal(columns[name], column)


@pytest.mark.slow
def test_a_run_that_goes_wrong_fails_alone(facts: dict[str, Any]) -> None:
    assert facts["fail"] == {
        "raising": "RuntimeError: a line,\nand [another] one",
        "killed": "lost 3 times with its node or worker (out of memory?)",
        "hanging": "took longer than --timeout 30 s",
        "steady": "Finished",
    }


@pytest.mark.slow
def test_a_run_that_is_stopped_brings_its_checkpoint_back(facts: dict[str, Any]) -> None:
    stop = facts["stop"]
    assert stop["last_event"] == "Stopped"
    [epoch] = stop["resumed_from"]
    assert 0 < epoch < 40
    assert stop["equal"]
