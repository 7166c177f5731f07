"""Files that a reader sees old or whole, and those that are moved aside."""

import os
from pathlib import Path

import pytest

from pllbench.results.files import quarantine, write_atomic


class Crash(BaseException):
    """As if the process were killed."""


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file = tmp_path / "file"
    write_atomic(file, b"old")

    def crash(*arguments: object) -> None:
        raise Crash

    monkeypatch.setattr({"fsync": os, "replace": Path}[call], call, crash)
    with pytest.raises(Crash):
        write_atomic(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_data_is_on_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(handle: int) -> None:
        done.append("fsync")
        fsync(handle)

    def note_replace(self: Path, target: Path) -> Path:
        done.append("replace")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", note_replace)
    write_atomic(tmp_path / "file", b"data")
    assert done == ["fsync", "replace"]


def test_a_file_that_is_moved_aside_replaces_none(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    for number, name in enumerate(("unreadable", "unreadable-2", "unreadable-3")):
        file.write_text(str(number))
        moved = quarantine(file)
        assert moved == tmp_path / f"checkpoint.pt.{name}"
        assert not file.exists()
    kept = sorted((path.name, path.read_text()) for path in tmp_path.iterdir())
    assert kept == [
        ("checkpoint.pt.unreadable", "0"),
        ("checkpoint.pt.unreadable-2", "1"),
        ("checkpoint.pt.unreadable-3", "2"),
    ]
