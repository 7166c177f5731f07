"""The union of results folders."""

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from pllbench.results.curves import read_curves
from pllbench.results.kept import kept_path
from pllbench.results.merge import Merged, merge_folders
from pllbench.results.records import (
    Provenance,
    Record,
    read_record,
    read_records,
    record_path,
    write_record,
)
from pllbench.results.sources import equal_sources, join_sources
from tests.commands import contents
from tests.factories import AUDIT, CURVES, make_record, make_spec

CC, RC = make_spec("cc", train={"epochs": 3}), make_spec("rc", train={"epochs": 3})
OTHER = {name: column * 0.5 for name, column in CURVES.items()}


def on_day(record: Record, day: int) -> Record:
    """The same run, begun on a day of a month."""
    provenance = Provenance(audit=AUDIT, started=f"2026-01-{day:02}T00:00:00+00:00")
    return record.model_copy(update={"provenance": provenance})


def relative(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): data for path, data in contents(folder).items()}


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Folders that share runs: the same numbers on other days, other numbers, and one of its own.

    Of `cc` the second folder has other curves and the third another result.
    """
    folders = [tmp_path / name for name in "abc"]
    cc, rc = make_record(CC, 80.0), make_record(RC, 70.0)
    write_record(folders[0], on_day(cc, 2), CURVES)
    write_record(folders[1], on_day(cc, 1), OTHER)
    write_record(folders[2], on_day(make_record(CC, 81.0), 3), CURVES)
    write_record(folders[1], on_day(rc, 9), CURVES)
    write_record(folders[2], on_day(rc, 8), CURVES)
    write_record(folders[0], make_record(make_spec("proden"), 60.0), CURVES)
    kept_path(record_path(folders[1], RC), "predictions").write_bytes(b"scores")
    kept_path(record_path(folders[0], CC), "model").write_bytes(b"weights")
    return folders


def test_runs_of_all_folders_are_in_the_union_once(tmp_path: Path) -> None:
    for name, records in (("a", [CC]), ("b", [CC, RC])):
        for spec in records:
            write_record(tmp_path / name, make_record(spec, 80.0), CURVES)
    merged = merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    assert merged == Merged(runs=2, new=2, conflicts=(), uncounted=())
    assert read_records(tmp_path / "c") == ([make_record(CC, 80.0), make_record(RC, 80.0)], [])
    assert relative(tmp_path / "c") == relative(tmp_path / "b")
    assert merge_folders([tmp_path / "a"], tmp_path / "c").new == 0


def test_runs_that_disagree_are_named_and_neither_is_lost(three: list[Path]) -> None:
    output = three[0].parent / "out"
    merged = merge_folders(three, output)
    assert (merged.runs, merged.new) == (3, 3)
    first, second = sorted(merged.conflicts, key=lambda conflict: conflict.other)
    kept = record_path(three[1], CC)  # begun first
    assert {first.run_id, second.run_id} == {CC.run_id}
    assert (first.kept, first.other) == (kept, record_path(three[0], CC))
    assert (second.kept, second.other) == (kept, record_path(three[2], CC))
    assert first.difference == "column accuracy differs from epoch 0 on"
    assert second.difference == "result accuracy.last is 0.8, not 0.81"
    found, unreadable = read_records(output)
    assert [record.spec.method for record in found] == ["cc", "proden", "rc"]
    assert {file.path for file in unreadable} == {first.beside, second.beside}
    assert all("another outcome of its run" in file.reason for file in unreadable)
    for conflict in merged.conflicts:
        assert read_record(conflict.beside) == read_record(conflict.other)
        stored, aside = read_curves(conflict.other), read_curves(conflict.beside)
        assert all(np.array_equal(stored[n], aside[n], equal_nan=True) for n in CURVES)
    assert kept_path(first.beside, "model").read_bytes() == b"weights"
    assert not kept_path(record_path(output, CC), "model").exists()


def test_of_equal_numbers_the_older_copy_stands_with_what_either_has_kept(
    three: list[Path],
) -> None:
    output = three[0].parent / "out"
    merge_folders(three, output)
    path = record_path(output, RC)
    assert read_record(path).provenance.started.startswith("2026-01-08")
    assert kept_path(path, "predictions").read_bytes() == b"scores"


def test_the_order_of_folders_and_the_way_to_the_union_do_not_matter(three: list[Path]) -> None:
    root = three[0].parent
    merge_folders(three, root / "out")
    expected = relative(root / "out")
    for number, order in enumerate(itertools.permutations(three)):
        merge_folders(order, root / f"at once {number}")
        assert relative(root / f"at once {number}") == expected
        for folder in order:
            merge_folders([folder], root / f"one by one {number}")
        assert relative(root / f"one by one {number}") == expected
    merge_folders([three[0], three[1]], root / "two")
    merge_folders([root / "two", three[2]], root / "nested")
    assert relative(root / "nested") == expected


def test_merging_again_writes_nothing(three: list[Path]) -> None:
    output = three[0].parent / "out"
    merged = merge_folders(three, output)
    before = {path: path.stat().st_mtime_ns for path in contents(output)}
    again = merge_folders(three, output)
    assert again.new == 0
    assert again.conflicts == merged.conflicts
    assert {path: path.stat().st_mtime_ns for path in contents(output)} == before


def test_sources_that_give_the_same_numbers_are_joined(tmp_path: Path) -> None:
    for name, pair in (("a", ("1", "2")), ("b", ("2", "3"))):
        write_record(tmp_path / name, make_record(CC, 80.0), CURVES)
        join_sources(tmp_path / name, "cc", 1, *pair)
    for order in ("ab", "ba"):
        merge_folders([tmp_path / name for name in order], tmp_path / order)
        assert equal_sources(tmp_path / order, "cc", 1, "1") == {"1", "2", "3"}
    assert relative(tmp_path / "ab") == relative(tmp_path / "ba")


def test_damaged_records_are_named_and_not_taken(tmp_path: Path) -> None:
    path = write_record(tmp_path / "a", make_record(CC, 80.0), CURVES)
    write_record(tmp_path / "a", make_record(RC, 80.0), CURVES)
    whole = path.with_suffix(".npz").read_bytes()
    path.with_suffix(".npz").write_bytes(whole[:100] + b"\0" + whole[101:])  # in a column
    merged = merge_folders([tmp_path / "a"], tmp_path / "b")
    assert merged.runs == 1
    [reason] = merged.uncounted
    assert reason.startswith(str(path.with_suffix(".npz")))
    assert [record.spec.method for record in read_records(tmp_path / "b")[0]] == ["rc"]


def test_folders_that_are_none_and_names_that_clash_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: no such folder"):
        merge_folders([tmp_path / "nowhere"], tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty: no records there"):
        merge_folders([tmp_path / "empty"], tmp_path / "out")
    for name in ("birds", "Birds"):
        spec = CC.model_copy(update={"dataset": name, "digest": "abc", "kind": "tabular"})
        write_record(tmp_path / name[0], make_record(spec, 80.0), CURVES)
    with pytest.raises(ValueError, match="data set birds and data set Birds differ in case alone"):
        merge_folders([tmp_path / "b", tmp_path / "B"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_plain_copy_of_folders_is_a_union_too(tmp_path: Path) -> None:
    for name, spec in (("a", CC), ("b", RC)):
        write_record(tmp_path / name, make_record(spec, 80.0), CURVES)
    for name in "ab":
        shutil.copytree(tmp_path / name, tmp_path / "c", dirs_exist_ok=True)
    merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "d")
    assert relative(tmp_path / "c") == relative(tmp_path / "d")
    assert len(read_records(tmp_path / "c")[0]) == 2


def test_other_defaults_under_one_id_are_another_spec(tmp_path: Path) -> None:
    for name, tau in (("a", 5.0), ("b", 10.0)):
        spec = CC.model_copy(update={"hparams": {"tau": tau}})
        write_record(tmp_path / name, make_record(spec, 80.0), CURVES)
    merged = merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    [conflict] = merged.conflicts
    assert conflict.difference in (
        "spec hparams.tau is 5.0, not 10.0",
        "spec hparams.tau is 10.0, not 5.0",
    )
    aside = json.loads(conflict.beside.read_text())["spec"]["hparams"]
    [counted] = read_records(tmp_path / "c")[0]
    assert {aside["tau"], counted.spec.hparams["tau"]} == {5.0, 10.0}
