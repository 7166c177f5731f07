"""The reproduction score: our cells beside the numbers that the paper prints."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pllbench.catalogue import DATASETS
from pllbench.cells import DECIMALS, MISSING, Cell, Row, Table
from pllbench.protocol import Protocol
from pllbench.published import Published
from pllbench.records import Record, Select
from pllbench.rows import printed_name
from pllbench.sheets import Report, Sheet
from pllbench.statistics import Summary, welch_difference

Verdict = Literal["agrees", "differs", "incomplete", "not run"]

NOTES = (
    "Published: the AsyCo paper (arXiv 2407.15036), population std converted to sample std.",
    "It says n = 3; a number with another n is one whose digits fit that.",
    "Difference: ours - published, with its 95 % Welch interval.",
    "agrees: the interval contains 0, as it also does where few runs leave it wide.",
    "incomplete: fewer runs than planned, or a single one, so no verdict.",
    "Our std holds a new split and new candidate sets a seed, unless a label names a data_seed.",
    "The released code of the paper keeps one split and one draw of candidate sets in all trials.",
)
"""How to read a comparison."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One published number and our runs, under one selection rule; accuracies in percent.

    Attributes:
        source: label of the table in the paper's source.
        method: the method or variant, as --methods takes it.
        label: the printed row.
        dataset: name of the data set.
        candidates: where candidate sets come from; None for methods that learn from true labels.
        q: rate of the process; None where there is none.
        select: selection rule of our accuracy.
        published_mean: as printed.
        published_std: converted to sample std.
        published_n: number of runs.
        published_n_inferred: that number is what the printed digits fit.
        n: number of our runs.
        mean: their mean accuracy; None where there are none.
        std: their sample std; None where n < 2.
        difference: ours - published; None where there are no runs.
        low: lower end of its 95 % Welch interval; None where n < 2.
        high: upper end.
        verdict: what follows.
        run_ids: ids of our runs, by seed.
    """

    source: str
    method: str
    label: str
    dataset: str
    candidates: str | None
    q: float | None
    select: Select
    published_mean: float
    published_std: float
    published_n: int
    published_n_inferred: bool
    n: int = 0
    mean: float | None = None
    std: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "not run"
    run_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scored:
    """A selection that was compared, and the records behind it.

    Attributes:
        title: printed above its sheets.
        compared: its published numbers, a rule after the other.
        records: its finished runs.
    """

    title: str
    compared: Sequence[Compared]
    records: Sequence[Record]


def compare(tables: Sequence[Table], published: Sequence[Published]) -> list[Compared]:
    """Every published number that belongs to a cell of `tables`, which differ in their rule.

    Raises:
        ValueError: there is none.
    """
    found = [
        _compared(entry, row, cell, table.select)
        for table in tables
        for row, cell in table.cells
        for entry in published
        if entry.matches(row.name, cell.column.dataset, cell.column.candidates, cell.column.q)
    ]
    if not found:
        raise ValueError("--compare paper: the paper has no number for any cell here")
    return found


def not_run(
    published: Sequence[Published], rules: Sequence[Select], protocol: Protocol
) -> list[Compared]:
    """Published numbers of which nothing has been run."""
    return [
        _entry(entry, printed_name(entry.method, protocol), rule)
        for rule in rules
        for entry in published
    ]


def to_report(scored: Sequence[Scored], title: str = "") -> Report:
    """What was compared, a sheet a data set; several selections are counted in a sheet before."""
    sheets = [_counts(scored)] if len(scored) > 1 else []
    for one in scored:
        if any(entry.n for entry in one.compared):
            sheets += _sheets(one)
    entries = [entry for one in scored for entry in one.compared]
    return Report(title, tuple(sheets), NOTES, entries)


def _entry(entry: Published, label: str, select: Select) -> Compared:
    return Compared(
        source=entry.table,
        method=entry.method,
        label=label,
        dataset=entry.dataset,
        candidates=entry.candidates,
        q=entry.q,
        select=select,
        published_mean=entry.mean,
        published_std=entry.sample_std,
        published_n=entry.n,
        published_n_inferred=entry.n_inferred,
    )


def _compared(entry: Published, row: Row, cell: Cell, select: Select) -> Compared:
    found = replace(_entry(entry, row.label, select), q=cell.column.q)
    ours = cell.summary
    if ours is None:
        return found
    interval = welch_difference(ours, Summary(entry.mean, entry.sample_std, entry.n))
    verdict: Verdict = "incomplete"
    if interval and cell.competes:
        verdict = "agrees" if interval.low <= 0 <= interval.high else "differs"
    return replace(
        found,
        n=ours.n,
        mean=ours.mean,
        std=ours.std,
        difference=ours.mean - entry.mean,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        verdict=verdict,
        run_ids=cell.run_ids,
    )


def _rules(compared: Iterable[Compared]) -> list[Select]:
    return list(dict.fromkeys(entry.select for entry in compared))


def _count(compared: Sequence[Compared], rule: Select) -> str:
    """`12 agree, 9 differ, 0 incomplete, 8 not run`."""
    counts = Counter(entry.verdict for entry in compared if entry.select == rule)
    return (
        f"{counts['agrees']} agree, {counts['differs']} differ, "
        f"{counts['incomplete']} incomplete, {counts['not run']} not run"
    )


def _counts(scored: Sequence[Scored]) -> Sheet:
    rules = _rules(entry for one in scored for entry in one.compared)
    rows = [(one.title, one.compared) for one in scored]
    rows += [("All", [entry for one in scored for entry in one.compared])]
    return Sheet(
        title="Published numbers by verdict",
        heads=("Table", "Numbers", *rules),
        rows=tuple(
            (title, str(len(found) // len(rules)), *(_count(found, rule) for rule in rules))
            for title, found in rows
        ),
    )


def _sheets(scored: Scored) -> list[Sheet]:
    rules = _rules(scored.compared)
    heads = ["Method", "q", "Published", "n"]
    for rule in rules:
        heads += [rule, "Difference", "Verdict"]
    datasets: dict[str, dict[tuple[str, str, float | None], list[Compared]]] = {}
    for entry in scored.compared:
        lines = datasets.setdefault(entry.dataset, defaultdict(list))
        lines[entry.source, entry.label, entry.q].append(entry)
    sheets = []
    for name, lines in datasets.items():
        known = DATASETS[name].title if name in DATASETS else name
        sheets.append(
            Sheet(
                title=scored.title if len(datasets) == 1 else f"{scored.title}: {known}",
                heads=tuple(heads),
                rows=tuple(map(_line, lines.values())),
                notes=tuple(
                    f"{rule}: {_count([e for line in lines.values() for e in line], rule)}."
                    for rule in rules
                ),
            )
        )
    sheets[-1] = replace(sheets[-1], notes=(*sheets[-1].notes, *_where(scored.records)))
    return sheets


def _line(entries: Sequence[Compared]) -> tuple[str, ...]:
    """One published number beside our accuracies by each rule."""
    first = entries[0]
    published = f"{first.published_mean:.{DECIMALS}f} ± {first.published_std:.{DECIMALS}f}"
    published += f" (n = {first.published_n})" if first.published_n_inferred else ""
    parts = [first.label, "" if first.q is None else f"{first.q:g}", published, str(first.n)]
    for entry in entries:
        parts += [_ours(entry), _difference(entry), entry.verdict]
    return tuple(parts)


def _ours(entry: Compared) -> str:
    if entry.mean is None:
        return MISSING
    spread = "" if entry.std is None else f" ± {entry.std:.{DECIMALS}f}"
    return f"{entry.mean:.{DECIMALS}f}{spread}"


def _difference(entry: Compared) -> str:
    if entry.difference is None:
        return MISSING
    text = f"{entry.difference:+.{DECIMALS}f}"
    if entry.low is None or entry.high is None:
        return text
    return f"{text} [{entry.low:+.{DECIMALS}f}, {entry.high:+.{DECIMALS}f}]"


def _where(records: Iterable[Record]) -> list[str]:
    """Devices, versions, commits and hours of runs, a sentence for each machine."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found = record.provenance
        versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
        about = "; ".join(filter(None, (found.host, versions)))
        groups[f"{found.device} ({about or 'nothing else is known'})"].append(record)
    sentences = []
    for place, runs in sorted(groups.items()):
        commits = {_short(run.provenance.commit) for run in runs}
        hours = sum(run.provenance.seconds for run in runs) / 3600
        sentences.append(
            f"{len(runs)} runs on {place}, commit {', '.join(sorted(commits))}: {hours:.1f} hours."
        )
    return sentences


def _short(commit: str | None) -> str:
    """The first digits of a commit, with `+dirty` where it had changes."""
    if commit is None:
        return "unknown"
    digits, plus, dirty = commit.partition("+")
    return digits[:12] + plus + dirty
