"""Grids on full and read-only disks: runs fail alone, and no finished one is lost."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pllbench.grid.plan import PlannedRun
from pllbench.results.records import read_records
from pllbench.runner.job import RunOptions
from pllbench.runner.local_engine import LocalEngine
from pllbench.runner.progress import Observer
from pllbench.runner.run_grid import run_grid
from tests.commands import contents, pllbench
from tests.factories import make_record, make_spec, plan_lost, store


def planned(epochs: int = 3) -> list[PlannedRun]:
    return plan_lost("cc", "rc", epochs=epochs, batch_size=16)


@pytest.fixture
def options(disk: Path, data_dir: Path) -> RunOptions:
    """Results on the small disk."""
    return RunOptions(disk / "results", data_dir, "cpu", checkpoint_every=1)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> Path:
    """The file that takes all that is left of a disk."""
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 1024):
            pass
    assert shutil.disk_usage(disk).free == 0
    return filler


def test_a_full_disk_fails_runs_alone_and_they_are_done_when_there_is_room(
    disk: Path, options: RunOptions, engine: LocalEngine
) -> None:
    options.results.mkdir()
    filler = fill(disk)
    summary = run_grid(planned(), engine, options, Observer())
    assert (summary.done, len(summary.failed)) == (0, 2)
    for _, reason in summary.failed:
        assert f"No space left on device: '{options.results}/work/" in reason
    answer = pllbench("status", "--results", options.results, "--json")
    assert (answer.code, json.loads(answer.out)["done"]) == (0, 0)
    assert not list(options.results.rglob("*.json"))
    filler.unlink()
    summary = run_grid(planned(), engine, options, Observer())
    assert (summary.done, summary.failed) == (2, [])
    assert read_records(options.results)[1] == []


def test_a_disk_that_gets_full_loses_no_finished_run(
    disk: Path, options: RunOptions, engine: LocalEngine
) -> None:
    assert run_grid(planned(), engine, options, Observer()).done == 2
    before = contents(options.results)
    fill(disk)
    summary = run_grid([*planned(), *planned(4)], engine, options, Observer())
    assert (summary.skipped, summary.done, len(summary.failed)) == (2, 0, 2)
    for path, content in before.items():
        assert path.read_bytes() == content
    assert len(read_records(options.results)[0]) == 2


def test_a_read_only_folder_is_refused_before_anything_runs(disk: Path, data_dir: Path) -> None:
    store(disk, [make_record(make_spec("cc"), 50.0)])
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    command = ["run", "--methods", "cc", "--datasets", "lost", "--epochs", 1]
    answer = pllbench(*command, "--data-dir", data_dir, "--results", disk)
    assert answer.code == 2
    assert answer.err.startswith(f"pllbench: --results {disk}: not writable (Read-only file system")
    assert pllbench("status", "--results", disk).out.startswith("1 done")
    assert pllbench("table", "--results", disk).code == 0
