"""What tuning is worth: rows with tuned settings beside the same rows with default settings."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pllbench.reports.paired_tests import compare_cells
from pllbench.reports.ranks import rank_rows
from pllbench.reports.report import Entry, Report, TextRow, TextTable, plain_headers, plain_row
from pllbench.reports.table import (
    MISSING,
    Block,
    Cell,
    Row,
    Table,
    format_difference,
    format_q,
    section_titles,
)

_NOTES = (
    "Difference: tuned - default, the mean over seeds with its 95 % t-interval.",
    "Runs at one seed share split and candidate sets: differences are paired over seeds.",
    "The seeds resample one data set and their splits overlap, so intervals are rather narrow.",
)
"""How to read the differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningWorth(Entry):
    """A tuned cell against the same one with default settings; numbers in percentage points.

    `label` is that of the row with default settings, `run_ids` are those of the tuned runs.

    Attributes:
        budget: what the search was given, in words.
        default: mean accuracy with default settings.
        tuned: mean accuracy with the tuned ones.
        difference: mean of tuned - default over seeds; None where it cannot be taken.
        low: lower end of its 95 % t-interval.
        high: upper end.
        note: why there is no difference, or no interval: as in paired tests.
    """

    budget: str
    default: float | None
    tuned: float | None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""

    header = (
        "method,label,dataset,candidates,q,imbalance,metric,select,n,budget,default,tuned,"
        "difference,low,high,note,run_ids"
    )


def tuning_worth(table: Table) -> list[TuningWorth]:
    """Every tuned cell of a table whose row is there with default settings, too.

    Raises:
        ValueError: there is none.
    """
    if not has_tuning_worth(table):
        raise ValueError("no row here is there both with tuned settings and with default ones")
    return [worth for block in table.blocks for worth in _in_block(block, table)]


def has_tuning_worth(table: Table) -> bool:
    """Whether some row of a table is there both with tuned and with default settings."""
    return any(True for block in table.blocks for _ in _in_block(block, table))


def _in_block(block: Block, table: Table) -> Iterator[TuningWorth]:
    stated = {row.label: row for row in block.rows if not (row.reference or row.budget)}
    for row in block.rows:
        partner = stated.get(row.untuned_label)
        if row.budget and partner:
            for tuned, plain in zip(row.cells, partner.cells, strict=True):
                if tuned:
                    yield _worth(row, tuned, plain, table)


def _worth(row: Row, tuned: Cell | None, plain: Cell | None, table: Table) -> TuningWorth:
    test = compare_cells(row.name, row, tuned, plain, table.select)
    return TuningWorth(
        method=row.name,
        label=row.untuned_label,
        dataset=test.dataset,
        candidates=test.candidates,
        q=test.q,
        imbalance=test.imbalance,
        metric=test.metric,
        select=test.select,
        n=test.n,
        budget=row.budget,
        default=_mean(plain),
        tuned=_mean(tuned),
        difference=test.difference,
        low=test.low,
        high=test.high,
        note=test.note,
        run_ids=tuned.run_ids if tuned else (),
    )


def _mean(cell: Cell | None) -> float | None:
    return cell.mean_std.mean if cell and cell.mean_std else None


def report_tuning(table: Table) -> Report:
    """A text table a data set and process, and average ranks before and after tuning.

    Raises:
        ValueError: as `tuning_worth`.
    """
    found = tuning_worth(table)
    budgets = list(dict.fromkeys(worth.budget for worth in found))
    titles = section_titles((worth.data_title, worth.candidates) for worth in found)
    sections: dict[str, list[TextRow]] = defaultdict(list)
    for worth in found:
        title = titles[worth.data_title, worth.candidates]
        sections[title].append(plain_row(_texts(worth, several=len(budgets) > 1)))
    headers = plain_headers(("Method", "q", "n", "Default", "Tuned", "Difference"))
    tables = [
        TextTable(title, headers, tuple(rows), num_labels=2) for title, rows in sections.items()
    ]
    notes = [*table.title_note, *table.notes, *_NOTES]
    notes += [f"Tuned: {budget}." for budget in budgets]
    if len([block for block in table.blocks if block.columns]) > 1:
        try:
            tables.append(_ranks(table, budgets))
        except ValueError as error:  # the differences stand without ranks
            notes += [f"No average ranks: {error}."]
    return Report("", tuple(tables), tuple(notes), found)


def _texts(worth: TuningWorth, *, several: bool) -> tuple[str, ...]:
    label = f"{worth.label} ({worth.budget})" if several else worth.label
    means = (MISSING if m is None else f"{m:.2f}" for m in (worth.default, worth.tuned))
    difference = worth.note
    if worth.difference is not None and worth.note != "identical":
        difference = format_difference(worth.difference, worth.low, worth.high)
    return (label, format_q(worth.q), str(worth.n), *means, difference)


def _ranks(table: Table, budgets: Sequence[str]) -> TextTable:
    """Average ranks over data sets, those of default settings and of each budget side by side."""
    found = {budget: rank_rows(table, budget) for budget in ("", *budgets)}
    headers = ["Method", "Default", *(["Tuned"] if len(budgets) == 1 else budgets)]
    said = [notes for _, notes in found.values()]
    shared = [note for note in said[0] if all(note in notes for notes in said)]
    own = [
        f"{header}: {note}"
        for header, notes in zip(headers[1:], said, strict=True)
        for note in notes
        if note not in shared
    ]
    averages = [ranks.average for ranks, _ in found.values()]
    labels = sorted(averages[0], key=averages[0].__getitem__)
    labels += [label for ranks in averages for label in ranks if label not in averages[0]]
    rows = (
        plain_row((label, *(f"{a[label]:.2f}" if label in a else MISSING for a in averages)))
        for label in dict.fromkeys(labels)
    )
    return TextTable(
        "Average ranks over data sets", plain_headers(headers), tuple(rows), notes=(*shared, *own)
    )
