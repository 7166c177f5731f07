"""The parts of a page about one data set, or one line of the leaderboard."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pllbench.data.catalogue import DATASETS
from pllbench.reports.figure_data import anchors
from pllbench.reports.leaderboard import Leaderboard, Line
from pllbench.reports.report import TextCell, TextRow, TextTable, plain_headers, report_table
from pllbench.reports.row_labels import settings_in
from pllbench.reports.settings import tabulate_settings
from pllbench.reports.table import MISSING, Cell, Column, Row, Table, format_q
from pllbench.reports.wins import PairedOutcome, format_wins
from pllbench.results.metrics import CLASS_METRICS, METRICS, quantity_of
from pllbench.results.records import Record

_SPLITS = {
    "random": "20 % of the rows at random",
    "stratified": "20 % of every class",
    "fixed": "those that come as such",
}


@dataclass(frozen=True, slots=True)
class Chapter:
    """The part of a page about a data set or a line.

    Attributes:
        anchor: id of its element.
        title: its heading.
        quantity: what its accuracies are, as titles begin.
        facts: names and values.
        tables: its text tables; the first has the accuracies, the second the settings of a line, or
            accuracies by classes of long-tailed data.
        links: addresses, by row and column of cells of the first table.
        columns: places of its columns in the data of the figures.
        place: its own place there, among the data sets or the lines.
        sweeps: whether accuracies are drawn against several rates q.
    """

    anchor: str
    title: str
    quantity: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[TextTable, ...]
    links: Mapping[tuple[int, int], str]
    columns: tuple[int, ...]
    place: int
    sweeps: bool


class Chapters:
    """Writes the chapters of a leaderboard."""

    def __init__(
        self,
        board: Leaderboard,
        records: Sequence[Record],
        addresses: Mapping[str, str],
        found: Sequence[PairedOutcome],
        classes: Table | None = None,
    ) -> None:
        """`addresses` are those of the records by run_id, `found` the outcomes of all pairs.

        `classes` has the accuracies by classes of long-tailed data.
        """
        self.board, self.columns, self.addresses = board, board.columns, addresses
        self.records = {record.run_id: record for record in records}
        self.lines = anchors("method", (line.key for line in board.lines))
        self.datasets = anchors("dataset", (block.key for block in board.table.blocks))
        self.signs: dict[tuple[str, Column], Counter[int]] = defaultdict(Counter)
        for outcome in found:
            self.signs[outcome.key, outcome.column][outcome.sign] += 1
        self.classes = _class_tables(classes) if classes else {}
        self.means: dict[tuple[Column, str], list[float]] = defaultdict(list)
        for row, cell in board.table.cells:
            if cell.competes and not row.reference and cell.printed_mean is not None:
                self.means[cell.column, row.budget].append(cell.printed_mean)

    def of_datasets(self) -> tuple[Chapter, ...]:
        """A chapter for each data set."""
        tables = report_table(self.board.table).tables
        return tuple(self._dataset(i, table) for i, table in enumerate(tables))

    def of_lines(self) -> tuple[Chapter, ...]:
        """A chapter for each line."""
        return tuple(self._line(i, line) for i, line in enumerate(self.board.lines))

    def _dataset(self, place: int, table: TextTable) -> Chapter:
        block, keys = self.board.table.blocks[place], self.board.table.keys
        runs = (i for row in block.rows for c in row.cells if c for i in c.run_ids)
        columns = [j for j, column in enumerate(self.columns) if column.block_key == block.key]
        anchors_of_rows = (self.lines[keys[row.name, row.label]] for row in block.rows)
        return Chapter(
            anchor=self.datasets[block.key],
            title=block.title,
            quantity=quantity_of([self.columns[j].metric for j in columns]),
            facts=_dataset_facts(block.dataset, [self.records[run_id] for run_id in runs]),
            tables=(table, *filter(None, [self.classes.get(block.key)])),
            links={(i, 0): f"#{anchor}" for i, anchor in enumerate(anchors_of_rows)},
            columns=tuple(columns),
            place=place,
            sweeps=self._sweeps(columns),
        )

    def _line(self, place: int, line: Line) -> Chapter:
        shown = line.cells(self.columns)
        runs = [cell.run_ids[0] for _, cell in shown if cell.run_ids]  # seeds have equal settings
        quantity = quantity_of([self.columns[j].metric for j, _ in shown])
        headers = ["Data set", "Candidates", "q", "Differs from the protocol", quantity]
        headers += ["Rank here", "Wins / ties / losses", "Seconds", "Runs"]
        links = {}
        for i, (j, cell) in enumerate(shown):
            links[i, 0] = f"#{self.datasets[self.columns[j].block_key]}"
            if cell.run_ids and cell.run_ids[0] in self.addresses:
                links[i, len(headers) - 1] = self.addresses[cell.run_ids[0]]
        rows = tuple(self._result(line, self.columns[j], cell) for j, cell in shown)
        return Chapter(
            anchor=self.lines[line.key],
            title=line.label,
            quantity=quantity,
            facts=self._line_facts(line),
            tables=(
                TextTable("Results", plain_headers(headers), rows, 4),
                tabulate_settings(self.records[run_id].spec for run_id in runs),
            ),
            links=links,
            columns=tuple(j for j, _ in shown),
            place=place,
            sweeps=self._sweeps(j for j, _ in shown),
        )

    def _sweeps(self, places: Iterable[int]) -> bool:
        """Whether some columns differ in the rate alone."""
        columns = [self.columns[j] for j in places]
        rated = [(c.block_key, c.candidates, c.metric) for c in columns if c.q is not None]
        return len(rated) > len(set(rated))

    def _result(self, line: Line, column: Column, cell: Cell) -> TextRow:
        seconds = [self.records[run_id].provenance.seconds for run_id in cell.run_ids]
        row, rank = line.rows[column.block_key], ""
        means = self.means[column, row.budget]
        if cell.competes and not line.reference and cell.printed_mean is not None:
            rank = f"{1 + sum(mean > cell.printed_mean for mean in means)} of {len(means)}"
        texts = (
            rank,
            format_wins(self.signs[line.key, column]),
            f"{sum(seconds) / len(seconds):,.1f}" if seconds else MISSING,
            str(len(cell.run_ids)),
        )
        return TextRow(
            (
                TextCell(column.data_title),
                TextCell("" if line.reference else column.candidates or ""),
                TextCell("" if line.reference else format_q(column.q)),
                TextCell(_differences(row)),
                TextCell(cell.number, cell.mark, cell.note),
                *map(TextCell, texts),
            )
        )

    def _line_facts(self, line: Line) -> tuple[tuple[str, str], ...]:
        facts = [("Name", line.name), ("Family", line.facts.family)]
        source = ", ".join(filter(None, (line.facts.venue, str(line.facts.year or ""))))
        if source:
            facts.append(("Published", source))
        if line.reference:
            facts.append(("Learns from", "true labels, so it is outside the competition"))
        if line.place and self.board.ranked:
            facts.append(("Average rank", f"{line.place.average:.2f}"))
            ranks, groups = self.board.ranked.ranks, set(line.place.groups)
            rivals = [other for other in self.board.lines if other.place and other is not line]
            same = [one.label for one in rivals if one.place and groups & {*one.place.groups}]
            test = (
                f"(Nemenyi, 5 %, {len(ranks.average)} methods, data sets: N = {ranks.num_blocks})"
            )
            facts.append(("Not told apart from", f"{', '.join(same) or 'none'} {test}"))
        return tuple(facts)


def _class_tables(classes: Table) -> dict[str, TextTable]:
    """Text tables of accuracies by classes, by `Block.key`, each with what its metrics are."""
    notes = tuple(f"{metric}: {METRICS[metric]}." for metric in CLASS_METRICS)
    tables = report_table(classes).tables
    return {
        block.key: replace(table, notes=(*table.notes, *notes))
        for block, table in zip(classes.blocks, tables, strict=True)
    }


def _differences(row: Row) -> str:
    """What differs from the protocol; of settings that were searched, that they were."""
    settings = settings_in(row.untuned_label or row.label)[1]
    return ", ".join([*settings, *(["tuned"] if row.budget else [])])


def _dataset_facts(name: str, runs: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    facts = [("Name", name)]
    if name in DATASETS:
        info = DATASETS[name]
        facts += [("Kind", info.kind), ("Test rows", _SPLITS[info.split])]
        facts += [("Source", info.source or "scikit-learn")]
    if runs:
        result, audit = runs[0].result, runs[0].provenance.audit
        counts = {"training": result.num_train, "test": result.num_test}
        if result.num_holdout:
            counts["hold-out"] = result.num_holdout
        rows = ", ".join(f"{number:,} {part}" for part, number in counts.items())
        facts += [("Rows", rows), ("Classes", str(audit.num_classes))]
    return tuple(facts)
