"""A page about a table: which text tables and figures it shows, in which order. Plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from pllbench.grid.plan import PlannedRun
from pllbench.registry import MethodFacts
from pllbench.reports.chapters import Chapter, Chapters
from pllbench.reports.curves import CurvesById
from pllbench.reports.figure_data import figure_data
from pllbench.reports.leaderboard import Leaderboard, build_leaderboard, leaderboard_table
from pllbench.reports.provenance import tabulate_audits, tabulate_machines, tabulate_missing
from pllbench.reports.report import Report, TextTable
from pllbench.reports.table import Table
from pllbench.reports.tuning_worth import has_tuning_worth, report_tuning
from pllbench.reports.wins import outcomes, tabulate_wins
from pllbench.results.metrics import quantity_of
from pllbench.results.records import Record


@dataclass(frozen=True, slots=True)
class PageSource:
    """What a page is made from.

    Attributes:
        table: its accuracies.
        records: the runs of the table.
        facts: of methods, by registered name; may lack some.
        addresses: where the records of a run are, by run_id.
        curves: of the runs; None for a page without curves.
        classes: accuracies by classes of the long-tailed runs; None where there are none.
        compared: our numbers beside published ones; None where there are none.
        planned: the runs of the selection; None where it does not say which there ought to be.
        failures: titles and reasons of runs whose last try failed, by run_id.
        uncounted: why files of the results are not counted.
    """

    table: Table
    records: Sequence[Record]
    facts: Mapping[str, MethodFacts] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)
    curves: CurvesById | None = None
    classes: Table | None = None
    compared: Report | None = None
    planned: Sequence[PlannedRun] | None = None
    failures: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    uncounted: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """All that a page shows.

    Attributes:
        title: its heading.
        facts: of the whole, a sentence each.
        quantity: what its accuracies are, as titles begin.
        leaderboard: its first table, a row a chapter of `lines`.
        wins: the matrix of wins, ties and losses.
        datasets: a chapter each.
        lines: a chapter each, in the order of the leaderboard.
        tuning: tuned rows beside default ones; None where there are none of both.
        compared: our numbers beside published ones; None where there are none.
        provenance: candidate sets and machines.
        missing: what failed, is missing or not counted; empty where all is there.
        figures: numbers of the figures.
    """

    title: str
    facts: tuple[str, ...]
    quantity: str
    leaderboard: TextTable
    wins: TextTable
    datasets: tuple[Chapter, ...]
    lines: tuple[Chapter, ...]
    tuning: Report | None
    compared: Report | None
    provenance: tuple[TextTable, ...]
    missing: tuple[TextTable, ...]
    figures: Mapping[str, JsonValue]


def build_page(source: PageSource) -> Page:
    """The page about a table and its runs."""
    table, records = source.table, source.records
    board = build_leaderboard(table, records, source.facts)
    found = list(outcomes(table))
    chapters = Chapters(board, records, source.addresses, found, source.classes)
    rivals = {line.key: line.label for line in board.lines if not line.reference}
    seconds = {record.run_id: record.provenance.seconds for record in records}
    return Page(
        title=table.title or "Results",
        facts=(f"{_contents(board, len(records))}.", *table.notes),
        quantity=quantity_of([column.metric for column in board.columns]),
        leaderboard=leaderboard_table(board),
        wins=tabulate_wins(found, rivals),
        datasets=chapters.of_datasets(),
        lines=chapters.of_lines(),
        tuning=report_tuning(table) if has_tuning_worth(table) else None,
        compared=source.compared,
        provenance=(tabulate_audits(table, records), tabulate_machines(records)),
        missing=tuple(tabulate_missing(source.planned, records, source.failures, source.uncounted)),
        figures=figure_data(board, seconds, source.curves),
    )


def _contents(board: Leaderboard, num_runs: int) -> str:
    """`354 runs of 11 methods and variants on 5 data sets`."""
    lines, blocks = len(board.lines), len(board.table.blocks)
    methods = "1 method" if lines == 1 else f"{lines} methods and variants"
    runs, datasets = _counted(num_runs, "run"), _counted(blocks, "data set")
    return f"{runs} of {methods} on {datasets}"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")
