"""Whether differences in a table are real: paired tests over seeds, ranks over data sets."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from pllbench.reports.ranks import tabulate_ranks
from pllbench.reports.report import Entry, Report, TextRow, TextTable, plain_headers, plain_row
from pllbench.reports.row_labels import common_label
from pllbench.reports.shared_settings import without_settings
from pllbench.reports.statistics import holm, paired_difference, paired_t_p, wilcoxon_p
from pllbench.reports.table import (
    MISSING,
    Cell,
    Row,
    Table,
    format_difference,
    format_p,
    format_q,
    section_titles,
)
from pllbench.results.model_selection import Select
from pllbench.validation import FieldError

_NOTES = (
    "Runs at one seed share split and candidate sets: the tests are paired over seeds.",
    "Holm: adjusted over all tests of its kind here; rows that share their runs count once.",
    "The seeds resample one data set and their splits overlap, so p-values are somewhat too small.",
)
"""How to read the tests."""

_TOO_FEW = "cannot go below p = 2 / 2^n over n pairs that differ (.0625 for 5)"
"""Why few pairs have no Wilcoxon test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest(Entry):
    """One method against another in one column of a table; differences in percentage points.

    `label` and `run_ids` are those of the other method; `n` is the number of pairs, 0 where runs
    are missing.

    Attributes:
        against: the other method or variant, as --methods takes it.
        difference: mean of method - against; None without a test.
        low: lower end of its 95 % t-interval.
        high: upper end.
        t_p: p-value of the paired t test; None where the differences have no spread.
        t_holm: adjusted over all t tests of the table.
        wilcoxon_p: p-value of the Wilcoxon signed-rank test; None where n is too small for it.
        wilcoxon_holm: adjusted over all Wilcoxon tests of the table.
        note: why there is no test: `identical`, `no spread`, `n = 1`, `incomplete` (runs are
            missing), `not paired` (other seeds, or other candidate sets at one seed).
    """

    against: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    t_p: float | None = None
    t_holm: float | None = None
    wilcoxon_p: float | None = None
    wilcoxon_holm: float | None = None
    note: str = ""

    header = (
        "method,against,label,dataset,candidates,q,imbalance,metric,select,n,difference,low,high,"
        "t_p,t_holm,wilcoxon_p,wilcoxon_holm,note,run_ids"
    )


def paired_tests(table: Table, name: str) -> list[PairedTest]:
    """Tests of method or variant `name` against every other row of its budget, in every column.

    References learn from true labels and are not tested.

    Raises:
        ValueError: there is no such row, several, or no other one.
    """
    tests = []
    for block, budget in product(table.blocks, table.budgets):
        rows = [row for row in block.rows if not row.reference and row.budget == budget]
        named = [row for row in rows if row.name == name]
        if len(named) > 1:
            labels = ", ".join(row.label for row in named)
            reason = f"{len(named)} rows on {block.dataset} ({labels}); select one"
            raise FieldError("tests", reason, name)
        for other in rows if named else ():
            if other is not named[0]:
                pairs = zip(named[0].cells, other.cells, strict=True)
                tests += [
                    compare_cells(name, other, *pair, table.select) for pair in pairs if any(pair)
                ]
    if not tests:
        rows = [row for block in table.blocks for row in block.rows if not row.reference]
        names = ", ".join(dict.fromkeys(row.name for row in rows)) or "none"
        raise FieldError("tests", f"must be one of at least two rows here: {names}", name)
    return _adjusted(tests)


def report_tests(tests: Sequence[PairedTest], table: Table) -> Report:
    """A text table a data set and process; and ranks, where there are several data sets."""
    name = tests[0].method
    rows = [row for block in table.blocks for row in block.rows if row.name == name]
    method = without_settings(common_label(name, (row.label for row in rows)), table.shared)
    wilcoxon = any(test.wilcoxon_p is not None for test in tests)
    headers = ["Against", "q", "n", "Difference", "p (t)", "Holm"]
    headers += ["p (Wilcoxon)", "Holm"] * wilcoxon
    titles = section_titles((test.data_title, test.candidates) for test in tests)
    sections: dict[str, list[TextRow]] = defaultdict(list)
    for test in tests:
        label = without_settings(test.label, table.shared)
        row = plain_row((label, *_texts(test))[: len(headers)])
        sections[titles[test.data_title, test.candidates]].append(row)
    tables = [
        TextTable(
            title=f"{method} on {title}",
            headers=plain_headers(headers),
            rows=tuple(section),
            num_labels=2,
            breaks=(4, 6),
        )
        for title, section in sections.items()
    ]
    notes = list(table.title_note)
    if len([block for block in table.blocks if block.columns]) > 1:
        for budget in table.budgets:
            try:
                tables.append(tabulate_ranks(table, budget))
            except ValueError as error:  # the tests stand without ranks
                notes += [f"No average ranks: {error}."]
    notes += [
        *table.notes,
        f"Difference: {method} - the other, the mean over seeds with its 95 % t-interval.",
        *_NOTES,
        f"n too small: Wilcoxon's test {_TOO_FEW}."
        if wilcoxon
        else f"n is too small for Wilcoxon's signed-rank test: it {_TOO_FEW}.",
    ]
    return Report("", tuple(tables), tuple(notes), tests)


def compare_cells(
    name: str, other: Row, ours: Cell | None, theirs: Cell | None, select: Select
) -> PairedTest:
    """The test of a method's cell against that of another row; p-values are not yet adjusted."""
    column = (ours or theirs).column  # type: ignore[union-attr]  # one of them is a cell
    test = PairedTest(
        method=name,
        against=other.name,
        label=other.label,
        dataset=column.dataset,
        candidates=column.candidates,
        q=column.q,
        imbalance=column.imbalance,
        metric=column.metric,
        select=select,
        note="incomplete",
        run_ids=theirs.run_ids if theirs else (),
    )
    if not (ours and theirs and ours.complete and theirs.complete):
        return test
    if (ours.seeds, ours.digests) != (theirs.seeds, theirs.digests):
        return replace(test, note="not paired")
    a, b = (dict(zip(cell.seeds, cell.values, strict=True)) for cell in (ours, theirs))
    if len(a) < 2:
        return replace(test, n=1, note="n = 1")
    difference, p = paired_difference(a, b), paired_t_p(a, b)
    note = "" if p is not None else "no spread"
    if p is None and round(difference.mean, 9) == 0:
        note = "identical"
    return replace(
        test,
        n=difference.n,
        difference=difference.mean,
        low=difference.low,
        high=difference.high,
        t_p=p,
        wilcoxon_p=wilcoxon_p(a, b),
        note=note,
    )


def _adjusted(tests: Sequence[PairedTest]) -> list[PairedTest]:
    """The tests with their Holm-adjusted p-values, each kind a family of its own.

    Rows that share their runs are one hypothesis, which counts once.
    """
    t = _holm({test.run_ids: test.t_p for test in tests})
    wilcoxon = _holm({test.run_ids: test.wilcoxon_p for test in tests})
    return [
        replace(test, t_holm=t.get(test.run_ids), wilcoxon_holm=wilcoxon.get(test.run_ids))
        for test in tests
    ]


def _holm(p_values: Mapping[tuple[str, ...], float | None]) -> dict[tuple[str, ...], float]:
    """Adjusted p-values by the runs tested against; those of runs without a test are left out."""
    tested = {run_ids: p for run_ids, p in p_values.items() if p is not None}
    return dict(zip(tested, holm(list(tested.values())), strict=True))


def _texts(test: PairedTest) -> tuple[str, ...]:
    """A test in all columns but the first, those of Wilcoxon's included."""
    start = (format_q(test.q), str(test.n))
    if test.difference is None or test.note == "identical":
        return (*start, test.note, *(MISSING,) * 4)
    t = (format_p(test.t_p), format_p(test.t_holm))
    if test.t_p is None:
        t = (test.note, MISSING)
    wilcoxon = (format_p(test.wilcoxon_p), format_p(test.wilcoxon_holm))
    if test.wilcoxon_p is None:
        wilcoxon = ("n too small", MISSING)
    return (*start, format_difference(test.difference, test.low, test.high), *t, *wilcoxon)
