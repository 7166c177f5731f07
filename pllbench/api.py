"""What `table` and `plot` show: the records of a selection, as tables and reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pllbench.cli import console
from pllbench.cli.selection import SelectionFlags
from pllbench.grid.plan import PlannedRun, Selection, known_variants, plan
from pllbench.grid.protocol import Protocol, load_benchmark
from pllbench.reports import (
    aggregate as tables,
)
from pllbench.reports import (
    comparison,
    layout,
    published,
    reproduction,
)
from pllbench.reports import (
    paired_tests as significance,
)
from pllbench.reports import (
    selection_rules as rules,
)
from pllbench.reports.published import Published
from pllbench.reports.report import Report
from pllbench.reports.table import Table
from pllbench.results import records
from pllbench.results.curves import Curves, read_curves
from pllbench.results.records import Record, Select

REPRODUCTION: tuple[Select, ...] = ("last10", "last")
"""Rules under which the paper's numbers are compared: our headline, and what its digits fit."""


@dataclass(frozen=True)
class Content:
    """A selection, and the records to show it from.

    Attributes:
        selection: what the flags ask for.
        planned: its runs; None for all records of the folder.
        records: all of the folder.
        folder: named in errors.
    """

    selection: Selection
    planned: Sequence[PlannedRun] | None
    records: Sequence[Record]
    folder: Path

    @cached_property
    def protocol(self) -> Protocol:
        """The protocol, with the variants of the benchmark among its own."""
        variants = known_variants(self.selection)
        return self.selection.protocol.model_copy(update={"variants": variants})

    @property
    def finished(self) -> list[Record]:
        """The records of its runs."""
        if self.planned is None:
            return list(self.records)
        return records.with_ids(self.records, (run.spec.run_id for run in self.planned))

    def curves(self) -> dict[str, Curves]:
        """Per-epoch columns of its runs, by run_id.

        Raises:
            ValueError: the file of a run is damaged, or of another length.
        """
        found: dict[str, Curves] = {}
        for record in self.finished:
            path = records.record_path(self.folder, record.spec)
            found[record.run_id] = read_curves(path)
            length, epochs = len(found[record.run_id]["accuracy"]), record.spec.train.epochs
            if length != epochs:
                raise ValueError(f"{path.with_suffix('.npz')}: {length} of {epochs} epochs")
        return found

    def table(self, select: Select = "last10") -> Table:
        """The table under a selection rule.

        Raises:
            ValueError: there is nothing to show.
        """
        found = tables.build(self.records, self.protocol, select, self.planned, str(self.folder))
        return layout.laid_out(found, self.selection.benchmark)


def load(flags: SelectionFlags, folder: Path) -> Content:
    """The finished runs of what the flags select, of the whole folder without flags.

    Raises:
        ValueError: the selection is wrong, or there is no such folder.
    """
    found = read(folder)
    selection, planned = flags.planned() if flags.given else (flags.selection(), None)
    return Content(selection, planned, found, folder)


def read(folder: Path) -> list[Record]:
    """All records of a results folder; files that are none are named on standard error.

    Raises:
        ValueError: there is no such folder.
    """
    if not folder.is_dir():
        raise ValueError(f"--results {folder}: no such folder")
    found, unreadable = records.query(folder)
    console.warn_uncounted(file.reason for file in unreadable)
    return found


def show(content: Content, select: Select | Literal["all"], tests: str | None) -> Table | Report:
    """The table of a selection; tests of one method; or the rules side by side.

    Raises:
        ValueError: there is nothing to show.
    """
    if select == "all":
        if tests is not None:
            raise ValueError("--tests: needs one rule, so not with --select all")
        known = {rule for record in content.finished for rule in record.result.accuracy}
        shown: list[Select] = [rule for rule in rules.ORDER if rule in known] or ["last10"]
        return rules.side_by_side({rule: content.table(rule) for rule in shown})
    table = content.table(select)
    if tests is None:
        return table
    return significance.to_report(significance.paired_tests(table, tests), table)


def scored(flags: SelectionFlags, folder: Path, rules: Sequence[Select] = REPRODUCTION) -> Report:
    """Our numbers beside the paper's: of what the flags select, of all its tables without flags.

    Raises:
        ValueError: nothing is selected that the paper has a number for, or none of it has run.
    """
    if not flags.given:
        return _all_scored(folder, rules)
    content = load(flags, folder)
    benchmark = content.selection.benchmark
    one = reproduction.Scored(
        title=benchmark.title if benchmark else "Compared with the AsyCo paper",
        compared=comparison.compare(
            [content.table(rule) for rule in rules], _published(flags.benchmark)
        ),
        records=content.finished,
        note=benchmark.note if benchmark else "",
    )
    return reproduction.to_report([one])


def _published(benchmark: str | None) -> list[Published]:
    """The numbers of the table that a benchmark regenerates; else all of the paper."""
    if benchmark in published.table_names():
        return published.load_table(benchmark)
    return published.load_all()


def _all_scored(folder: Path, rules: Sequence[Select]) -> Report:
    found = read(folder)
    parts = []
    for name in published.table_names():
        benchmark = load_benchmark(name)
        selection = Selection(benchmark=benchmark)
        content = Content(selection, plan(selection), found, folder)
        entries = published.load_table(name)
        if content.finished:
            compared = comparison.compare([content.table(rule) for rule in rules], entries)
        else:
            compared = comparison.not_run(entries, rules, content.protocol)
        parts.append(
            reproduction.Scored(benchmark.title, compared, content.finished, name, benchmark.note)
        )
    return reproduction.to_report(parts, title="Reproduction of the AsyCo paper")
