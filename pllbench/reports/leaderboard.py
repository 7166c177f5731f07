"""The leaderboard: the lines of a table by average rank, and what is said of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pllbench.registry import MethodFacts
from pllbench.reports.ranks import (
    Place,
    RankedLines,
    datasets_to_rank,
    line_label,
    places,
    rank_lines,
    rank_notes,
)
from pllbench.reports.report import TextCell, TextRow, TextTable
from pllbench.reports.table import MISSING, Cell, Column, Row, Table
from pllbench.results.records import Record


@dataclass(frozen=True, slots=True)
class Line:
    """A method, variant or further row of one, over all data sets.

    Attributes:
        key: as `Table.lines` calls it.
        name: the method or variant, as --methods takes it.
        label: printed.
        reference: it learns from true labels: outside the competition.
        facts: of its method.
        rows: its rows, by `Block.key`.
        place: where it stands; None where it is not ranked.
        seconds: mean wall time of a run, the mean over the ranked data sets; None where it has no
            runs on one of them.
    """

    key: str
    name: str
    label: str
    reference: bool
    facts: MethodFacts
    rows: Mapping[str, Row]
    place: Place | None
    seconds: float | None

    def cell(self, column: Column) -> Cell | None:
        """Its runs in a column; a reference has the same in all columns of a data set."""
        row = self.rows.get(column.block_key)
        cells = [cell for cell in row.cells if cell] if row else []
        own = (cell for cell in cells if self.reference or cell.column == column)
        return next(own, None)

    def cells(self, columns: Sequence[Column]) -> list[tuple[int, Cell]]:
        """Its cells once, each with the place of its column; a reference's with the first."""
        found = [(j, cell) for j, column in enumerate(columns) if (cell := self.cell(column))]
        places = {(c.run_ids or j, c.column.metric): (j, c) for j, c in reversed(found)}
        return list(reversed(places.values()))


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Lines of a table, best first.

    Attributes:
        table: with the rows.
        lines: those ranked by their average rank; the others, then references, as printed.
        ranked: the ranks; None where fewer than two lines are complete.
        notes: how to read it, a sentence each.
    """

    table: Table
    lines: tuple[Line, ...]
    ranked: RankedLines | None
    notes: tuple[str, ...]

    @property
    def columns(self) -> list[Column]:
        """Columns of all data sets; where only references have run, one that is theirs."""
        return [
            column
            for block in self.table.blocks
            for column in block.columns or (Column(block.dataset, None, None, block.imbalance),)
        ]


def build_leaderboard(
    table: Table, records: Iterable[Record], facts: Mapping[str, MethodFacts]
) -> Leaderboard:
    """The leaderboard of a table.

    Args:
        table: any.
        records: its runs, for their seconds.
        facts: of the methods, by the registered name; may lack some.
    """
    seconds = {record.run_id: record.provenance.seconds for record in records}
    methods = {record.run_id: record.spec.method for record in records}
    budget = min(table.budgets, default="")  # that of default settings, where some row has them
    datasets = datasets_to_rank(table, budget)
    try:
        ranked = rank_lines(table, datasets, budget)
    except ValueError:  # too few lines are complete
        ranked = None
    placed = places(ranked.ranks) if ranked else {}
    lines = []
    for key, rows in table.lines().items():
        first = next(iter(rows.values()))
        leader = ranked.shared.get(key, key) if ranked else key
        timed = [row for row in map(rows.get, datasets) if row]
        timed = [row for row in timed if row.reference or row.budget == budget]
        runs = (run_id for row in rows.values() for c in row.cells if c for run_id in c.run_ids)
        method = next((methods[run_id] for run_id in runs), "")
        lines.append(
            Line(
                key=key,
                name=first.name,
                label=line_label(rows),
                reference=first.reference,
                facts=facts.get(method, MethodFacts()),
                rows=rows,
                place=placed.get(leader),
                seconds=_seconds(timed, seconds) if len(timed) == len(datasets) else None,
            )
        )

    def order(line: Line) -> tuple[bool, float]:
        return line.reference, line.place.average if line.place else float("inf")

    ordered = tuple(sorted(lines, key=order))
    titles = {block.key: block.title for block in table.blocks}
    notes = _notes(ranked, ordered, titles)
    if len(table.budgets) > 1:
        which = f"tuned, {budget}" if budget else "with default settings"
        notes += (f"Ranked here: rows {which}; pllbench table --tests ranks every budget.",)
    return Leaderboard(table, ordered, ranked, notes)


def _seconds(rows: Sequence[Row], seconds: Mapping[str, float]) -> float | None:
    """Mean over data sets, a row each, of the mean over runs; None where one has none."""
    runs = [[i for c in row.cells if c for i in c.run_ids] for row in rows]
    if not runs or not all(runs):
        return None
    return fmean(fmean(seconds[run_id] for run_id in ids) for ids in runs)


def _notes(
    ranked: RankedLines | None, lines: Sequence[Line], titles: Mapping[str, str]
) -> tuple[str, ...]:
    if ranked is None:
        reason = "ranks need two methods with all their runs on one data set, on equal sets"
        return (f"Not ranked: {reason}.",)
    listed = "; ".join(titles[key] for key in ranked.datasets)
    number = len(ranked.datasets)
    count = "one data set" if number == 1 else f"{number} data sets"
    notes = [f"Ranked over {count}: {listed}.", *rank_notes(ranked)]
    notes += ["Places: those that Nemenyi's test leaves open to a method."]
    notes += ["Methods that share a letter of the tie group cannot be told apart by it."]
    others = sum(not line.reference and line.place is None for line in lines)
    if others:
        rows = "one row that lacks" if others == 1 else f"{others} rows that lack"
        notes += [f"No rank: {rows} runs there, or with other candidate sets."]
    notes += ["Seconds: mean wall time of a run, over the ranked data sets."]
    return tuple(notes)


def leaderboard_table(board: Leaderboard) -> TextTable:
    """The leaderboard as a text table: a row a line."""
    columns = board.columns
    blocks = {block.key: block for block in board.table.blocks}
    headers: list[tuple[str, ...]] = [("Method",), ("Average rank",), ("Places",), ("Tie group",)]
    headers += [("Seconds",), ("Family",), ("Year",)]
    for column in columns:
        block = blocks[column.block_key]
        header = block.header(column) if column.candidates else ()
        headers.append((block.title, *(header or ("accuracy",))))
    rows = []
    for line in board.lines:
        place, year = line.place, line.facts.year
        start = (f"{place.average:.2f}", _interval(place), place.groups) if place else ("", "", "")
        cells = (line.cell(column) for column in columns)
        rows.append(
            TextRow(
                (
                    *map(TextCell, (line.label, *start)),
                    TextCell(MISSING if line.seconds is None else f"{line.seconds:,.1f}"),
                    *map(TextCell, (line.facts.family, "" if year is None else str(year))),
                    *(TextCell(c.number, c.mark, c.note) if c else TextCell("") for c in cells),
                )
            )
        )
    return TextTable("Leaderboard", tuple(headers), tuple(rows), notes=board.notes)


def _interval(place: Place) -> str:
    return str(place.low) if place.low == place.high else f"{place.low} to {place.high}"
