"""Whether differences in a table are real: paired tests over seeds, ranks over data sets."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pllbench.reports.report import Report, Sheet
from pllbench.reports.statistics import Ranks, holm, paired_difference, paired_t_p, rank, wilcoxon_p
from pllbench.reports.table import (
    DECIMALS,
    MISSING,
    Block,
    Cell,
    Row,
    Table,
    sheet_titles,
    with_interval,
)
from pllbench.results.records import Select

NOTES = (
    "Runs at one seed share split and candidate sets: the tests are paired over seeds.",
    "Holm: adjusted over all tests of its kind here; rows that share their runs count once.",
    "The seeds resample one data set and their splits overlap, so p-values are somewhat too small.",
)
"""How to read the tests."""

SMALL = "cannot go below p = 2 / 2^n over n pairs that differ (.0625 for 5)"
"""Why few pairs have no Wilcoxon test."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """One method against another in one column of a table; differences in percentage points.

    Attributes:
        method: the method or variant, as --methods takes it.
        against: the other one.
        label: how the other one is printed.
        dataset: name of the data set.
        candidates: where candidate sets come from, as --candidates takes it.
        q: rate of the process; None where there is none.
        select: selection rule.
        n: number of pairs; 0 where runs are missing.
        difference: mean of method - against; None without a test.
        low: lower end of its 95 % t-interval.
        high: upper end.
        t_p: p-value of the paired t test; None where the differences have no spread.
        t_holm: adjusted over all t tests of the table.
        wilcoxon_p: p-value of the Wilcoxon signed-rank test; None where n is too small for it.
        wilcoxon_holm: adjusted over all Wilcoxon tests of the table.
        note: why there is no test: `identical`, `no spread`, `n = 1`, `incomplete` (runs are
            missing), `not paired` (other seeds, or other candidate sets at one seed).
        run_ids: ids of the other one's runs, by seed.
    """

    method: str
    against: str
    label: str
    dataset: str
    candidates: str | None
    q: float | None
    select: Select
    n: int = 0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    t_p: float | None = None
    t_holm: float | None = None
    wilcoxon_p: float | None = None
    wilcoxon_holm: float | None = None
    note: str = ""
    run_ids: tuple[str, ...] = ()


def paired_tests(table: Table, name: str) -> list[PairedTest]:
    """Tests of method or variant `name` against every other row, in every column.

    References learn from true labels and are not tested.

    Raises:
        ValueError: there is no such row, several, or no other one.
    """
    found = []
    for block in table.blocks:
        rows = [row for row in block.rows if not row.reference]
        named = [row for row in rows if row.name == name]
        if len(named) > 1:
            labels = ", ".join(row.label for row in named)
            raise ValueError(
                f"--tests {name}: {len(named)} rows on {block.dataset} ({labels}); select one"
            )
        for other in rows if named else ():
            if other is not named[0]:
                pairs = zip(named[0].cells, other.cells, strict=True)
                found += [_test(name, other, *pair, table.select) for pair in pairs if any(pair)]
    if not found:
        known = [row.name for block in table.blocks for row in block.rows if not row.reference]
        here = ", ".join(dict.fromkeys(known)) or "none"
        raise ValueError(f"--tests {name}: must be one of at least two rows here: {here}")
    return _adjusted(found)


def ranks(table: Table) -> tuple[Ranks, tuple[str, ...]]:
    """Ranks of the rows over the data sets of `table`, by label; and the notes they need.

    The columns of a data set are averaged first, since its noise rates are no independent blocks.
    Rows that lack a run anywhere, or have other candidate sets, are left out, and named. Rows that
    share all their runs are ranked once, under the name of the first.

    Raises:
        ValueError: fewer than two rows are complete.
    """
    blocks = [block for block in table.blocks if block.columns]
    rows = dict.fromkeys(r.name for block in blocks for r in block.rows if not r.reference)
    scores = {name: [_score(block, name) for block in blocks] for name in rows}
    complete = {
        name: [value for value in values if value is not None]
        for name, values in scores.items()
        if None not in values
    }
    first: dict[tuple[str, ...], str] = {}
    leaders = {name: first.setdefault(_runs(blocks, name), name) for name in complete}
    if len(first) < 2:
        raise ValueError("ranks need at least two rows with all their runs on every data set here")
    labels = _labels(blocks)
    found = rank({labels[name]: complete[name] for name in first.values()})
    shared = {labels[n]: labels[leader] for n, leader in leaders.items() if n != leader}
    left_out = [labels[name] for name in scores if name not in complete]
    return found, _rank_notes(found, shared, left_out)


def to_report(tests: Sequence[PairedTest], table: Table) -> Report:
    """The tests, a sheet a data set and process; and ranks, where there are several data sets."""
    method = _labels(table.blocks)[tests[0].method]
    wilcoxon = any(test.wilcoxon_p is not None for test in tests)
    heads = ["Against", "q", "n", "Difference", "p (t)", "Holm"]
    heads += ["p (Wilcoxon)", "Holm"] * wilcoxon
    titles = sheet_titles((test.dataset, test.candidates) for test in tests)
    lines: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for test in tests:
        lines[titles[test.dataset, test.candidates]].append(_line(test)[: len(heads)])
    sheets = [
        Sheet(f"{method} on {title}", tuple(heads), tuple(rows), num_labels=2, breaks=(4, 6))
        for title, rows in lines.items()
    ]
    notes = [f"{table.title}."] if table.title else []
    if len([block for block in table.blocks if block.columns]) > 1:
        try:
            sheets.append(_rank_sheet(table))
        except ValueError as error:  # the tests stand without ranks
            notes += [f"No average ranks: {error}."]
    notes += [
        *table.notes,
        f"Difference: {method} - the other, the mean over seeds with its 95 % t-interval.",
        *NOTES,
        f"n too small: Wilcoxon's test {SMALL}."
        if wilcoxon
        else f"n is too small for Wilcoxon's signed-rank test: it {SMALL}.",
    ]
    return Report("", tuple(sheets), tuple(notes), tests)


def _test(
    name: str, other: Row, ours: Cell | None, theirs: Cell | None, select: Select
) -> PairedTest:
    at = (ours or theirs).column  # type: ignore[union-attr]  # one of them is a cell
    test = PairedTest(
        method=name,
        against=other.name,
        label=other.label,
        dataset=at.dataset,
        candidates=at.candidates,
        q=at.q,
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
    found, p = paired_difference(a, b), paired_t_p(a, b)
    note = "" if p is not None else "no spread"
    if p is None and round(found.mean, 9) == 0:
        note = "identical"
    return replace(
        test,
        n=found.n,
        difference=found.mean,
        low=found.low,
        high=found.high,
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
    known = {run_ids: p for run_ids, p in p_values.items() if p is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))


def _score(block: Block, name: str) -> float | None:
    """Mean accuracy of a row over the columns of a block; None where it lacks a run."""
    rows = [row for row in block.rows if row.name == name]
    if len(rows) > 1:
        labels = ", ".join(row.label for row in rows)
        raise ValueError(f"ranks: {len(rows)} rows of {name} on {block.dataset} ({labels})")
    cells = rows[0].cells if rows else (None,)
    means = [cell.summary.mean for cell in cells if cell and cell.competes and cell.summary]
    if len(means) < len(cells):
        return None
    return round(sum(means) / len(means), DECIMALS)


def _runs(blocks: Sequence[Block], name: str) -> tuple[str, ...]:
    """Ids of all runs of a row."""
    rows = [row for block in blocks for row in block.rows if row.name == name]
    return tuple(run_id for row in rows for cell in row.cells if cell for run_id in cell.run_ids)


def _labels(blocks: Sequence[Block]) -> dict[str, str]:
    """One label a row's name: what its labels in all blocks begin with, else the name."""
    found: dict[str, set[str]] = {}
    for block in blocks:
        for row in block.rows:
            found.setdefault(row.name, set()).add(row.label)
    common = {name: min(labels, key=len) for name, labels in found.items()}
    return {
        name: label if all(other.startswith(label) for other in found[name]) else name
        for name, label in common.items()
    }


def _rank_notes(
    found: Ranks, shared: Mapping[str, str], left_out: Sequence[str]
) -> tuple[str, ...]:
    """How to read the ranks; `shared` names the row whose runs a row without ranks has."""
    k, n, distance = len(found.average), found.num_blocks, found.critical_difference
    notes = ["Rank 1 is best; the columns of a data set are averaged first, and ties share ranks."]
    notes += [f"Nemenyi's critical difference for k = {k} over N = {n}: {distance:.2f} (5 %)."]
    if distance >= k - 1:
        notes += ["N is too small: no two average ranks can lie that far apart."]
    if found.friedman_p is not None:
        notes += [f"Friedman's test that all are alike: p = {_p(found.friedman_p)}."]
    if shared:
        once = ", ".join(f"{label} as {leader}" for label, leader in shared.items())
        notes += [f"Rows that share their runs are ranked once: {once}."]
    if left_out:
        notes += [
            f"Left out, since runs are missing or on other candidate sets: {', '.join(left_out)}."
        ]
    return tuple(notes)


def _rank_sheet(table: Table) -> Sheet:
    blocks = [block for block in table.blocks if block.columns]
    found, notes = ranks(table)
    return Sheet(
        title="Average ranks over data sets",
        heads=("Method", "Average rank", *(block.title for block in blocks)),
        rows=tuple(
            (label, f"{average:.2f}", *(f"{place:g}" for place in found.by_block[label]))
            for label, average in sorted(found.average.items(), key=lambda item: item[1])
        ),
        notes=notes,
    )


def _line(test: PairedTest) -> tuple[str, ...]:
    start = (test.label, "" if test.q is None else f"{test.q:g}", str(test.n))
    if test.difference is None or test.low is None or test.high is None or test.note == "identical":
        return (*start, test.note, *(MISSING,) * 4)
    difference = with_interval(test.difference, test.low, test.high)
    t = (_p(test.t_p), _p(test.t_holm)) if test.t_p is not None else (test.note, MISSING)
    small = ("n too small", MISSING)
    wilcoxon = small if test.wilcoxon_p is None else (_p(test.wilcoxon_p), _p(test.wilcoxon_holm))
    return (*start, difference, *t, *wilcoxon)


def _p(value: float | None) -> str:
    if value is None:
        return MISSING
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
