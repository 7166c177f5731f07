"""Storage that fails: full and read-only disks, and files that are cut or overwritten anywhere.

Every damaged file is named with its path and never counted; no damage ends `table` or `status`.
"""

import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rich.console import Console

from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.results import records
from pllbench.results.curves import read_curves
from pllbench.results.records import query, read, write
from pllbench.runner.local_engine import LocalEngine
from pllbench.runner.run_grid import Options, run_grid
from pllbench.training.checkpoints import Checkpoints, State
from tests import plugins
from tests.commands import pllbench
from tests.damage import ANYWHERE, overwritten
from tests.records_factory import make_record, make_spec
from tests.results.test_records import CURVES

often = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


# Records.


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with two records; the tests damage that of `rc` and mend it again."""
    root = tmp_path_factory.mktemp("stored")
    write(root, make_record(make_spec("cc"), 50.0), CURVES)
    write(root, make_record(make_spec("rc"), 60.0), CURVES)
    return root


@pytest.fixture
def victim(stored: Path) -> Iterator[Path]:
    path = records.record_path(stored, make_spec("rc"))
    whole = {file: file.read_bytes() for file in (path, path.with_suffix(".npz"))}
    yield path
    for file, content in whole.items():
        file.write_bytes(content)


RECORD = make_record(make_spec("rc"), 60.0)
buffer = io.BytesIO()
np.savez_compressed(buffer, **CURVES)  # type: ignore[arg-type]
COLUMNS = buffer.getvalue()
TEXT = (RECORD.model_dump_json(indent=1, by_alias=True) + "\n").encode()


def is_named(stored: Path, victim: Path, suffix: str = ".json") -> None:
    """The record is refused by the path of its damaged file, and the other one still counts."""
    found, [unreadable] = query(stored)
    assert [record.spec.method for record in found] == ["cc"]
    assert unreadable.path == victim
    assert unreadable.reason.startswith(f"{victim.with_suffix(suffix)}: ")
    assert "\n" not in unreadable.reason
    assert not records.is_done(stored, RECORD.spec)


def is_named_or_whole(stored: Path, victim: Path) -> None:
    try:
        record = read(victim)
    except ValueError:
        is_named(stored, victim)
    else:  # nothing but hyperparameters at their default can change without the id
        update = {"hparams": {**record.spec.hparams, **RECORD.spec.hparams}}
        assert record.spec == RECORD.spec.model_copy(update=update)


@often
@given(length=st.integers(0, len(TEXT) - 2))
def test_a_record_cut_at_any_byte_is_named(stored: Path, victim: Path, length: int) -> None:
    victim.write_bytes(TEXT[:length])
    is_named(stored, victim)


@often
@given(place=ANYWHERE, length=st.integers(1, 600))
def test_a_record_with_nul_bytes_is_named(
    stored: Path, victim: Path, place: float, length: int
) -> None:
    victim.write_bytes(overwritten(TEXT, place, b"\0" * length))
    is_named(stored, victim)


@often
@given(place=ANYWHERE, by=st.binary(min_size=1, max_size=8))
def test_a_record_with_other_bytes_is_named_or_whole(
    stored: Path, victim: Path, place: float, by: bytes
) -> None:
    victim.write_bytes(overwritten(TEXT, place, by))
    is_named_or_whole(stored, victim)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
PATHS = [
    (part, key)
    for part in ("spec", "result", "provenance")
    for key in json.loads(TEXT)[part]
    if (part, key) != ("result", "extra")
]


@often
@given(where=st.sampled_from([("schema",), ("spec",), ("result",), *PATHS]), value=JSON)
def test_a_record_with_another_value_is_named_or_whole(
    stored: Path, victim: Path, where: tuple[str, ...], value: Any
) -> None:
    fields = json.loads(TEXT)
    *outer, key = where
    inner = fields
    for part in outer:
        inner = inner[part]
    inner[key] = value
    victim.write_text(json.dumps(fields))
    is_named_or_whole(stored, victim)


JUNK: dict[str, bytes] = {
    "empty": b"",
    "a NUL": b"\0",
    "deep": b"[" * 200_000,
    "a huge number": b'{"schema": 1' + b"0" * 5000 + b"}",
    "a surrogate": b'{"schema": 1, "spec": {"method": "\\ud800"}}',
    "UTF-16": '{"schema": 1}'.encode("utf-16"),
    "another schema": TEXT.replace(b'"schema": 1', b'"schema": 2').replace(
        b'"schema":1', b'"schema":2'
    ),
    "a pickle": b"\x80\x04N.",
}


@pytest.mark.parametrize("kind", JUNK)
@pytest.mark.parametrize("command", ["table", "status"])
def test_junk_ends_no_command(stored: Path, victim: Path, kind: str, command: str) -> None:
    victim.write_bytes(JUNK[kind])
    answer = pllbench(command, "--results", stored)
    assert answer.code == 0
    assert answer.err.startswith(f"pllbench: not counted: {victim}: ")
    assert answer.err.count("\n") == 1


def test_folders_and_files_where_others_should_be_end_no_command(tmp_path: Path) -> None:
    write(tmp_path, make_record(make_spec("cc"), 50.0), CURVES)
    place = records.record_path(tmp_path, make_spec("rc"))
    place.mkdir(parents=True)
    work = tmp_path / "work"
    (work / "0000000000000001" / "lock").mkdir(parents=True)
    (work / "0000000000000002" / "error.txt").mkdir(parents=True)
    (work / "0000000000000002" / "lock").touch()
    (work / "0000000000000003").touch()
    for command in ("status", "table"):
        answer = pllbench(command, "--results", tmp_path)
        assert answer.code == 0
        assert answer.err.startswith(f"pllbench: not counted: {place}: ")
    selected = ["--methods", "cc,rc", "--datasets", "digits", "--q", "0.3", "--seeds", "0,"]
    answer = pllbench("status", *selected, "--results", tmp_path)
    assert answer.out == "1 done, 0 failed, 0 running, 1 missing\n"


# Curves.


def test_curves_cut_at_any_byte_are_named(stored: Path, victim: Path) -> None:
    file = victim.with_suffix(".npz")
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        is_named(stored, victim, ".npz")
        with pytest.raises(ValueError, match=f"^{re.escape(str(file))}: not readable"):
            read_curves(victim)


DAMAGED_CURVES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "NUL bytes": lambda whole: b"\0" * len(whole),
    "NUL bytes from the middle": lambda whole: whole[: len(whole) // 2].ljust(len(whole), b"\0"),
    "NUL bytes in the end": lambda whole: whole[:-12] + b"\0" * 12,
    "more NUL bytes": lambda whole: whole + b"\0" * 4096,
    "a begin that is lost": lambda whole: whole[1:],
    "no columns": lambda whole: b"PK\5\6" + b"\0" * 18,
}


@pytest.mark.parametrize("kind", DAMAGED_CURVES)
def test_damaged_curves_are_named(stored: Path, victim: Path, kind: str) -> None:
    file = victim.with_suffix(".npz")
    file.write_bytes(DAMAGED_CURVES[kind](file.read_bytes()))
    is_named(stored, victim, ".npz")


@pytest.mark.parametrize("command", ["table", "status", "status --methods cc,rc"])
def test_missing_curves_end_no_command(stored: Path, victim: Path, command: str) -> None:
    file = victim.with_suffix(".npz")
    file.unlink()
    answer = pllbench(*command.split(), "--results", stored)
    assert (answer.code, answer.err) == (
        0,
        f"pllbench: not counted: {file}: not readable (No such file or directory)\n",
    )


def is_seen_or_harmless(stored: Path, victim: Path) -> None:
    """A run whose curves are damaged is done again; one that counts has the curves it wrote."""
    if records.is_done(stored, RECORD.spec):
        found = read_curves(victim)
        assert {name: column.tobytes() for name, column in found.items()} == {
            name: column.tobytes() for name, column in CURVES.items()
        }
    else:
        with pytest.raises(ValueError, match=f"^{re.escape(str(victim.with_suffix('.npz')))}: "):
            records.verify(victim)


@often
@given(place=ANYWHERE, bit=st.integers(0, 7))
def test_a_flipped_bit_of_curves_is_seen_or_harmless(
    stored: Path, victim: Path, place: float, bit: int
) -> None:
    at = int(place * len(COLUMNS))
    flipped = bytes([COLUMNS[at] ^ (1 << bit)])
    victim.with_suffix(".npz").write_bytes(overwritten(COLUMNS, place, flipped))
    is_seen_or_harmless(stored, victim)


@often
@given(place=ANYWHERE, length=st.integers(1, 600))
def test_nul_bytes_in_curves_are_seen_or_harmless(
    stored: Path, victim: Path, place: float, length: int
) -> None:
    damaged = overwritten(COLUMNS, place, b"\0" * length)
    victim.with_suffix(".npz").write_bytes(damaged)
    is_seen_or_harmless(stored, victim)


def test_a_column_that_differs_in_a_byte_is_seen_before_a_run_is_skipped(
    stored: Path, victim: Path
) -> None:
    file = victim.with_suffix(".npz")
    with ZipFile(file) as columns:
        member = columns.infolist()[0]
    at = member.header_offset + 30 + len(member.filename) + 40  # within its data
    whole = file.read_bytes()
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert not records.is_done(stored, RECORD.spec)


# Checkpoints.


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A checkpoint."""
    path = tmp_path_factory.mktemp("whole") / "checkpoint.pt"
    method = {"weight": torch.arange(6.0)}
    Checkpoints(path, "run-1").save(State(3, method, {"state": {}}, {"accuracy": [0.5]}, [], 1.5))
    return path.read_bytes()


def is_set_aside(tmp_path: Path, content: bytes) -> None:
    """The checkpoint is refused by its path, and kept under another name."""
    found = Checkpoints(tmp_path / "checkpoint.pt", "run-1")
    found.path.write_bytes(content)
    line = found.set_aside()
    assert line is not None
    assert line.startswith(f"{found.path}: not a checkpoint of this run (")
    assert line.endswith(", the run starts anew")
    assert "\n" not in line
    assert not found.path.exists()
    [moved] = tmp_path.iterdir()
    assert moved.read_bytes() == content
    moved.unlink()


@often
@given(place=ANYWHERE, nul=st.booleans())
def test_a_checkpoint_cut_at_any_byte_is_named_and_moved_aside(
    whole: bytes, tmp_path: Path, place: float, nul: bool
) -> None:
    length = int(place * len(whole))
    content = whole[:length] + b"\0" * (len(whole) - length) * nul
    assume(content != whole)  # its last bytes may be NUL
    is_set_aside(tmp_path, content)


@often
@given(place=ANYWHERE, bit=st.integers(0, 7))
def test_a_checkpoint_with_one_wrong_bit_is_named_and_moved_aside(
    whole: bytes, tmp_path: Path, place: float, bit: int
) -> None:
    at = int(place * len(whole))
    is_set_aside(tmp_path, whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :])


# Disks.


def planned(epochs: int = 3) -> list[PlannedRun]:
    flags = (Setting(reason="--epochs", train={"epochs": epochs, "batch_size": 16}),)
    return plan(Selection(methods=("cc", "rc"), datasets=("lost",), seeds=(0,), flags=flags))


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
    disk: Path, tmp_path: Path, engine: LocalEngine
) -> None:
    plugins.write_lost(tmp_path)
    options = Options(disk / "results", tmp_path, "cpu", checkpoint_every=1)
    options.results.mkdir()
    filler = fill(disk)
    summary = run_grid(planned(), engine, options, Console(file=io.StringIO()))
    assert (summary.done, len(summary.failed)) == (0, 2)
    for _, reason in summary.failed:
        assert f"No space left on device: '{options.results}/work/" in reason
    answer = pllbench("status", "--results", options.results, "--json")
    assert (answer.code, json.loads(answer.out)["done"]) == (0, 0)
    assert not list(options.results.rglob("*.json"))
    filler.unlink()
    summary = run_grid(planned(), engine, options, Console(file=io.StringIO()))
    assert (summary.done, summary.failed) == (2, [])
    assert query(options.results)[1] == []


def test_a_disk_that_gets_full_loses_no_finished_run(
    disk: Path, tmp_path: Path, engine: LocalEngine
) -> None:
    plugins.write_lost(tmp_path)
    options = Options(disk / "results", tmp_path, "cpu", checkpoint_every=1)
    assert run_grid(planned(), engine, options, Console(file=io.StringIO())).done == 2
    before = {path: path.read_bytes() for path in options.results.rglob("*") if path.is_file()}
    fill(disk)
    summary = run_grid([*planned(), *planned(4)], engine, options, Console(file=io.StringIO()))
    assert (summary.skipped, summary.done, len(summary.failed)) == (2, 0, 2)
    for path, content in before.items():
        assert path.read_bytes() == content
    assert len(query(options.results)[0]) == 2


def test_a_read_only_folder_is_refused_before_anything_runs(disk: Path, tmp_path: Path) -> None:
    plugins.write_lost(tmp_path)
    write(disk, make_record(make_spec("cc"), 50.0), CURVES)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    command = ["run", "--methods", "cc", "--datasets", "lost", "--epochs", 1]
    answer = pllbench(*command, "--data-dir", tmp_path, "--results", disk)
    assert answer.code == 2
    assert answer.err.startswith(f"pllbench: --results {disk}: not writable (Read-only file system")
    assert pllbench("status", "--results", disk).out.startswith("1 done")
    assert pllbench("table", "--results", disk).code == 0
