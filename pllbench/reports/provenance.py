"""Where the runs of a table come from: candidate sets, machines, versions; what is missing."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from urllib.parse import quote

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.grid.plan import PlannedRun
from pllbench.reports.report import TextTable, plain_headers, plain_row
from pllbench.reports.table import Column, Table, data_title, format_q
from pllbench.results.metrics import DEFAULT_METRIC
from pllbench.results.records import Record, record_path
from pllbench.spec import RunSpec


def tabulate_audits(table: Table, records: Iterable[Record]) -> TextTable:
    """What the candidate sets of each column look like: means over their draws."""
    by_id = {record.run_id: record for record in records}
    runs: dict[Column, dict[str, Record]] = defaultdict(dict)
    for row, cell in table.cells:
        for run_id in () if row.reference else cell.run_ids:
            record = by_id[run_id]
            column = replace(cell.column, metric=DEFAULT_METRIC)  # those of all metrics are equal
            runs[column].setdefault(record.provenance.audit.digest, record)
    shown = (replace(c, metric=DEFAULT_METRIC) for block in table.blocks for c in block.columns)
    columns = [column for column in dict.fromkeys(shown) if column in runs]
    annotated = any(r.provenance.annotator for draws in runs.values() for r in draws.values())
    headers = ["Data set", "Candidates", "q", "Draws", "Rows", "Classes", "Mean size"]
    headers += ["Smallest", "Largest", "Single (%)", "Full (%)", "Without true (%)"]
    headers += ["Annotator right (%)"] * annotated
    return TextTable(
        title="Candidate sets of the training rows",
        headers=plain_headers(headers),
        rows=tuple(
            plain_row(_audit_texts(column, list(runs[column].values()))[: len(headers)])
            for column in columns
        ),
        num_labels=2,
        notes=(
            "Means over the draws that methods were trained on; smallest and largest over all.",
            "Single: rows with one candidate. Full: rows in which every class is one.",
            "Without true: rows whose true label is no candidate, where true labels are known.",
        ),
    )


def _audit_texts(column: Column, draws: Sequence[Record]) -> list[str]:
    audits = [record.provenance.audit for record in draws]
    annotators = [a.train_accuracy for r in draws if (a := r.provenance.annotator)]
    shares = [
        [share for audit in audits if (share := getattr(audit, name)) is not None]
        for name in ("singletons", "full", "without_true")
    ]
    return [
        column.data_title,
        column.candidates or "",
        format_q(column.q),
        str(len(draws)),
        f"{max(audit.num_rows for audit in audits)}",
        f"{max(audit.num_classes for audit in audits)}",
        f"{fmean(audit.mean for audit in audits):.2f}",
        str(min(audit.min for audit in audits)),
        str(max(audit.max for audit in audits)),
        *(f"{100 * fmean(known):.1f}" if known else "" for known in shares),
        f"{100 * fmean(annotators):.1f}" if annotators else "",
    ]


def tabulate_machines(records: Iterable[Record]) -> TextTable:
    """Devices, systems and versions that the runs were made with, and their commits."""
    machines: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        origin = record.provenance
        versions = ", ".join(f"{name} {version}" for name, version in origin.versions.items())
        machines[origin.device, origin.host or "unknown", versions or "unknown"].append(record)
    return TextTable(
        title="Machines and versions",
        headers=plain_headers(("Device", "System", "Versions", "Commits (runs)", "Runs", "Hours")),
        rows=tuple(
            plain_row((*machine, list_commits(runs), f"{len(runs)}", f"{_hours(runs):,.1f}"))
            for machine, runs in sorted(machines.items())
        ),
        num_labels=4,
    )


def _hours(runs: Iterable[Record]) -> float:
    return math.fsum(run.provenance.seconds for run in runs) / 3600  # the same in any order


def list_commits(records: Iterable[Record]) -> str:
    """The commits that runs were made with, and the number of runs of each."""
    commits = Counter(_short_commit(record.provenance.commit) for record in records)
    return ", ".join(f"{commit} ({commits[commit]})" for commit in sorted(commits))


def _short_commit(commit: str | None) -> str:
    """The first digits of a commit, with `+dirty` where it had changes."""
    if commit is None:
        return "unknown"
    digits, plus, dirty = commit.partition("+")
    return digits[:12] + plus + dirty


def record_addresses(stored: Iterable[tuple[RunSpec, Path]], start: Path) -> dict[str, str]:
    """Addresses of the folders that records are in, seen from the folder `start`, by run_id.

    Args:
        stored: runs, each with its results folder.
        start: the folder of the page.
    """
    known: dict[tuple[Path, str, str], str] = {}
    addresses = {}
    for spec, folder in stored:
        key = (folder, spec.dataset, spec.method)
        if key not in known:  # of thousands of runs
            path = record_path(folder.resolve(), spec).parent
            known[key] = quote(Path(os.path.relpath(path, start.resolve())).as_posix())
        addresses[spec.run_id] = known[key]
    return addresses


def tabulate_missing(
    planned: Sequence[PlannedRun] | None,
    records: Iterable[Record],
    failures: Mapping[str, tuple[str, str]],
    uncounted: Sequence[str],
) -> list[TextTable]:
    """What is not in the tables, and why; empty where nothing is missing.

    Args:
        planned: the runs of the selection; None where it does not say which there ought to be.
        records: the runs that are there.
        failures: titles and reasons of runs whose last try failed, by run_id.
        uncounted: why files of the results are not counted.
    """
    tables = [
        _reasons("Failed runs", "Run", sorted(failures.values())),
        _reasons("Files that are not counted", "", [(reason,) for reason in uncounted]),
    ]
    done = {record.run_id for record in records}
    cells: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for run in planned or ():
        if run.spec.run_id not in done:
            state = "failed" if run.spec.run_id in failures else "not run"
            title = data_title(run.spec.dataset, run.spec.imbalance)
            sets = "" if run.spec.labels == "true" else SetsSpec.of(run.spec).text
            where = (title, sets, format_q(run.spec.q))
            cells[run.label, *where, state].append(str(run.spec.seed))
    rows = [(*cell[:-1], ", ".join(seeds), cell[-1]) for cell, seeds in cells.items()]
    headers = ("Method", "Data set", "Candidates", "q", "Seeds", "State")
    tables.append(TextTable("Missing runs", plain_headers(headers), tuple(map(plain_row, rows)), 6))
    return [table for table in tables if table.rows]


def _reasons(title: str, what: str, rows: Sequence[tuple[str, ...]]) -> TextTable:
    headers = filter(None, (what, "Reason"))
    return TextTable(title, plain_headers(headers), tuple(map(plain_row, rows)), 2)
