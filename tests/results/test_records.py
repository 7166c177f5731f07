"""Records: written whole or not at all, and never trusted when something about them is wrong."""

import gc
import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllbench.results import files, records
from pllbench.results.curves import read_curves
from pllbench.results.records import (
    Record,
    is_done,
    read_record,
    read_records,
    record_path,
    write_record,
)
from tests.factories import CURVES, make_record, make_spec

SPEC = make_spec("rc", seed=3)
RECORD = make_record(SPEC, 75.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A stored record."""
    return write_record(tmp_path, RECORD, CURVES)


def files_below(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_record_comes_back_as_it_was_written(tmp_path: Path, path: Path) -> None:
    folder = f"records/digits/rc/{SPEC.run_id}"
    assert path == tmp_path / f"{folder}.json"
    assert files_below(tmp_path) == {f"{folder}.json", f"{folder}.npz"}
    assert read_record(path) == RECORD
    assert json.loads(path.read_text())["schema"] == records.SCHEMA
    curves = read_curves(path)
    assert set(curves) == set(CURVES)
    for name, values in CURVES.items():
        np.testing.assert_array_equal(curves[name], values)
    assert is_done(tmp_path, SPEC)
    assert read_records(tmp_path) == ([RECORD], [])


def test_writing_twice_changes_no_byte(tmp_path: Path, path: Path) -> None:
    both = (path, path.with_suffix(".npz"))
    before = [file.read_bytes() for file in both]
    os.utime(path, (0, 0))
    assert write_record(tmp_path, read_record(path), read_curves(path)) == path
    assert [file.read_bytes() for file in both] == before
    assert len(files_below(tmp_path)) == 2


def test_files_are_as_readable_as_the_users_mask_allows(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        path = write_record(tmp_path, RECORD, CURVES)
    finally:
        os.umask(before)
    for file in (path, path.with_suffix(".npz")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o644


class Crash(BaseException):
    """As if the process were killed."""


def test_a_crash_between_the_two_files_leaves_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = files.write_atomic

    def killed_before_json(path: Path, data: bytes) -> None:
        if path.suffix == ".json":
            raise Crash
        whole(path, data)

    monkeypatch.setattr(records, "write_atomic", killed_before_json)
    with pytest.raises(Crash):
        write_record(tmp_path, RECORD, CURVES)
    assert [Path(name).suffix for name in files_below(tmp_path)] == [".npz"]
    assert not is_done(tmp_path, SPEC)
    assert read_records(tmp_path) == ([], [])


def test_what_a_killed_writer_leaves_is_not_counted(tmp_path: Path, path: Path) -> None:
    (path.parent / f".{path.name}.123-abcd").write_text("{")
    (path.parent / f".{path.name}").write_text("{")
    assert read_records(tmp_path) == ([RECORD], [])


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def edit(content: bytes) -> bytes:
        fields = json.loads(content)
        change(fields)
        return json.dumps(fields).encode()

    return edit


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda content: b"", "not readable as JSON"),
    "cut": (lambda content: content[: len(content) // 2], "not readable as JSON"),
    "NUL bytes": (lambda content: b"\0" * len(content), "not readable as JSON"),
    "NUL at the end": (lambda content: content + b"\0\0", "not readable as JSON"),
    "not text": (lambda content: b"\x80\x81", "not readable as JSON"),
    "no object": (lambda content: b"[1]", "schema None, this version reads 1"),
    "no schema": (edited(lambda f: f.pop("schema")), "schema None, this version reads 1"),
    "no result": (edited(lambda f: f.pop("result")), "result: Field required"),
    "unknown key": (edited(lambda f: f["result"].update(x=1)), "result: unknown key 'x'"),
    "edited changed": (
        edited(lambda f: f["spec"].update(changed=["x"])),
        "spec: changed names 'x', which is no hyperparameter",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_record_is_refused_by_path_and_does_not_count_as_done(
    tmp_path: Path, path: Path, kind: str
) -> None:
    other = write_record(tmp_path, make_record(make_spec("cc"), 50.0), CURVES)
    damage, problem = DAMAGE[kind]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {problem}')}") as error:
        read_record(path)
    assert "\n" not in str(error.value)
    assert not is_done(tmp_path, SPEC)
    found, [unreadable] = read_records(tmp_path)
    assert [record.run_id for record in found] == [other.stem]
    assert (unreadable.path, unreadable.reason) == (path, str(error.value))


def test_a_copied_record_is_not_counted_twice(tmp_path: Path, path: Path) -> None:
    copy = tmp_path / "records" / "digits" / "rc (copy)" / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    found, [unreadable] = read_records(tmp_path)
    assert found == [RECORD]
    assert unreadable.path == copy
    assert unreadable.reason == f"{copy}: its place is {path}"


def test_a_missing_record_is_not_done(tmp_path: Path) -> None:
    assert not is_done(tmp_path, SPEC)
    assert read_records(tmp_path / "nowhere") == ([], [])
    with pytest.raises(ValueError, match=r"\.json: not readable"):
        read_record(record_path(tmp_path, SPEC))


def test_records_are_found_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for method in ("rc", "cc", "proden"):
        write_record(tmp_path, make_record(make_spec(method), 50.0), CURVES)
    found, _ = read_records(tmp_path)
    assert [record.spec.method for record in found] == ["cc", "proden", "rc"]
    assert records.with_ids(found, [found[1].run_id, "unknown"]) == [found[1]]


def test_reading_leaves_the_search_for_garbage_as_it_was(tmp_path: Path, path: Path) -> None:
    path.write_text("{")
    read_records(tmp_path)
    assert gc.isenabled()
    gc.disable()
    try:
        read_records(tmp_path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_record_knows_its_id() -> None:
    again = Record.model_validate_json(RECORD.model_dump_json(by_alias=True))
    assert again.run_id == RECORD.run_id == SPEC.run_id


def test_folders_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    write_record(tmp_path, make_record(make_spec("cc"), 50.0), CURVES)
    records.require_own_folders(tmp_path, [make_spec("cc"), make_spec("rc")])
    folder = tmp_path / "records" / "digits"
    (folder / "RC").mkdir()
    with pytest.raises(ValueError, match="/digits/RC: its name differs from 'rc' in case alone"):
        records.require_own_folders(tmp_path, [make_spec("cc"), make_spec("rc")])
    folder.rename(tmp_path / "records" / "Digits")
    with pytest.raises(ValueError, match="/Digits: its name differs from 'digits' in case alone"):
        records.require_own_folders(tmp_path, [make_spec("cc")])


def test_committed_records_have_paths_of_their_own_in_lower_case() -> None:
    root = Path(__file__).parents[2] / "results" / "records"
    paths = [str(path.relative_to(root)) for path in root.rglob("*")]
    assert len(paths) > 1500
    assert len({path.casefold() for path in paths}) == len(paths)
