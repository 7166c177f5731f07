"""Union of results folders: every run once, and of those that disagree, every outcome.

The union does not depend on the order of the folders, and merging again changes nothing: which of
several copies stands in a record's place follows from what they hold. Copies with other numbers lie
beside it, in `conflicts/<digest>/`, and do not count. Unfinished runs are not merged.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pllbench.results.equality import first_difference, read_numbers
from pllbench.results.files import remove_empty, write_atomic
from pllbench.results.kept import conflict_paths, conflicts_folder, record_files
from pllbench.results.records import (
    Record,
    read_records,
    record_path,
    require_own_folders,
)
from pllbench.results.sources import union_of_sources, write_sources
from pllbench.validation import folded_name


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two outcomes of one run.

    Attributes:
        run_id: of the run.
        kept: where the one that counts comes from.
        other: where the other one comes from.
        beside: where the other one lies now.
        difference: what differs first, in words.
    """

    run_id: str
    kept: Path
    other: Path
    beside: Path
    difference: str


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge has done.

    Attributes:
        runs: number of runs in the output folder.
        new: how many of them it did not have.
        conflicts: runs that the folders disagree on.
        uncounted: why files of the folders were not taken, a line each.
    """

    runs: int
    new: int
    conflicts: tuple[Conflict, ...]
    uncounted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Copy:
    """A stored outcome of a run: its JSON, what that holds, and the digest of its numbers."""

    path: Path
    record: Record
    digest: str

    @property
    def order(self) -> tuple[str, str, bytes]:
        """The first of a run's copies stands in its place: the oldest, by its own word."""
        return self.record.provenance.started, self.digest, self.path.read_bytes()


def merge_folders(folders: Sequence[Path], output: Path) -> Merged:
    """Write the union of results folders, and of what `output` already holds, into `output`.

    Raises:
        ValueError: a folder is not there or holds no records, a file of equal sources is damaged,
            or names of data sets or methods differ in case alone.
        OSError: `output` cannot be written.
    """
    everything = [*folders, *([output] if output.is_dir() else [])]
    copies: dict[str, list[_Copy]] = defaultdict(list)
    uncounted: list[str] = []
    for folder in everything:
        if not folder.is_dir():
            raise ValueError(f"{folder}: no such folder")
        found, reasons = _copies(folder)
        if not (found or reasons) and folder in folders:
            raise ValueError(f"{folder}: no records there; is it another folder?")
        uncounted += reasons
        for copy in found:
            copies[copy.record.run_id].append(copy)
    runs = [found[0].record for found in copies.values()]
    _require_distinct_names(runs)
    require_own_folders(output, [record.spec for record in runs])
    sources = union_of_sources(everything)
    new = sum(not record_path(output, record.spec).exists() for record in runs)
    conflicts: list[Conflict] = []
    for found in copies.values():
        conflicts += _merge_run(found, output)
    if sources:
        write_sources(output, sources)
    return Merged(len(runs), new, tuple(conflicts), tuple(dict.fromkeys(uncounted)))


def _require_distinct_names(records: Iterable[Record]) -> None:
    """Raise ValueError where two data sets or methods would share a folder on some systems."""
    named: dict[str, str] = {}
    for record in records:
        for name in (f"data set {record.spec.dataset}", f"method {record.spec.method}"):
            if (first := named.setdefault(folded_name(name), name)) != name:
                raise ValueError(f"{first} and {name} differ in case alone: merge them apart")


def _copies(folder: Path) -> tuple[list[_Copy], list[str]]:
    """All outcomes in a results folder, those set aside too, and why others are none."""
    stored, unreadable = read_records(folder)
    aside = conflict_paths(folder)
    reasons = [file.reason for file in unreadable if file.path not in aside]
    found: list[_Copy] = []
    for path in (*(record_path(folder, record.spec) for record in stored), *aside):
        try:
            numbers = read_numbers(path)
        except ValueError as error:
            reasons.append(str(error))
        else:
            found.append(_Copy(path, numbers.record, numbers.digest))
    return found, reasons


def _merge_run(copies: Iterable[_Copy], output: Path) -> list[Conflict]:
    """Put the outcomes of one run into their places; gives those that do not count."""
    by_digest: dict[str, list[_Copy]] = defaultdict(list)
    for copy in sorted(copies, key=lambda copy: copy.order):
        by_digest[copy.digest].append(copy)
    first, *others = by_digest.values()
    kept = read_numbers(first[0].path)
    place = record_path(output, kept.record.spec)
    conflicts = []
    for other in others:  # before the first one: what makes way for it is safe then
        words = first_difference(kept, read_numbers(other[0].path))
        assert words is not None, "their digests differ"
        beside = conflicts_folder(place, other[0].digest) / place.name
        conflicts.append(Conflict(place.stem, first[0].path, other[0].path, beside, words))
        _write(other, beside)
    _write(first, place)
    former = conflicts_folder(place, first[0].digest)
    for file in record_files(former / place.name):
        file.unlink()
    remove_empty(former, place.parent)
    return conflicts


def _write(copies: Sequence[_Copy], target: Path) -> None:
    """Store the first of equal outcomes at `target`, with what any of them has kept."""
    files: dict[str, Path] = {}
    for copy in copies:
        for file in record_files(copy.path):
            files.setdefault(file.name, file)
    contents = {target.with_name(name): file.read_bytes() for name, file in files.items()}
    there = record_files(target)
    if {path: path.read_bytes() for path in there} == contents:
        return
    for path in there:  # its JSON first: half of another outcome is no record
        if path == target or path not in contents:
            path.unlink()
    for path, content in sorted(contents.items(), key=lambda pair: pair[0] == target):
        write_atomic(path, content)
