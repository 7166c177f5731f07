"""The report of a comparison with the paper: verdicts, their counts, and what ran where."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pllbench.reports.comparison import Compared, Verdict
from pllbench.reports.report import Report, Sheet
from pllbench.reports.table import MISSING, sheet_titles, with_interval, with_std
from pllbench.results.records import Record, Select

NOTES = (
    "Published: the AsyCo paper (arXiv 2407.15036), population std converted to sample std.",
    "n: our runs / its runs, which are 3, or what the digits of a number fit.",
    "Difference: ours - published, with its 95 % Welch interval.",
    "agrees: the interval contains 0, as it also does where few runs leave it wide.",
    "too few: fewer runs than planned, or a single one, so no verdict.",
    "Our std holds a new split and new candidate sets a seed, unless a label names a data_seed.",
    "The released code of the paper keeps one split and one draw of candidate sets in all trials.",
)
"""How to read a comparison."""

PAGE = (
    "Made from the records by: pllbench table --compare paper --format markdown.",
    "A table of which nothing has run has its line in the first table and no section.",
    "The paper's figures print no numbers: the benchmarks noise_rates and tau are not here.",
)
"""How to read a comparison of all tables."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A selection that was compared, and the records behind it.

    Attributes:
        title: printed above its sheets.
        compared: its published numbers, a rule after the other.
        records: its finished runs.
        name: of its benchmark; empty for other selections.
        note: what its benchmark says of itself.
    """

    title: str
    compared: Sequence[Compared]
    records: Sequence[Record]
    name: str = ""
    note: str = ""


def to_report(scored: Sequence[Scored], title: str = "") -> Report:
    """What was compared, a sheet a data set; several selections are counted in a sheet before."""
    sheets = [_counts(scored)] if len(scored) > 1 else []
    notes = [*PAGE, *NOTES] if len(scored) > 1 else NOTES
    for one in scored:
        if any(entry.n for entry in one.compared):
            sheets += _sheets(one)
    entries = [entry for one in scored for entry in one.compared]
    return Report(title, tuple(sheets), tuple(notes), entries)


def _rules(compared: Iterable[Compared]) -> list[Select]:
    return list(dict.fromkeys(entry.select for entry in compared))


def _count(compared: Iterable[Compared], rule: Select) -> Counter[Verdict]:
    return Counter(entry.verdict for entry in compared if entry.select == rule)


def _in_words(counts: Counter[Verdict]) -> str:
    """`12 agree, 9 differ, 0 too few, 8 not run`."""
    return (
        f"{counts['agrees']} agree, {counts['differs']} differ, "
        f"{counts['too few']} too few, {counts['not run']} not run"
    )


def _counts(scored: Sequence[Scored]) -> Sheet:
    """A line a table of the paper; its rules are those that have a value for every run."""
    rules = _rules(entry for one in scored for entry in one.compared)
    everything = [entry for one in scored for entry in one.compared]
    lines = []
    for name, found in (*((one.name, one.compared) for one in scored), ("All", everything)):
        counts = [_count(found, rule) for rule in rules]
        numbers = [counts[0].total(), counts[0]["not run"], counts[0]["too few"]]
        numbers += [count[verdict] for count in counts for verdict in ("agrees", "differs")]
        lines.append((name, *map(str, numbers)))
    heads = ["Benchmark", "Numbers", "Not run", "Too few"]
    heads += [head for rule in rules for head in (f"{rule}: agree", "differ")]
    return Sheet(
        title="Published numbers by verdict",
        heads=tuple(heads),
        rows=tuple(lines),
        breaks=tuple(range(4, len(heads), 2)),
    )


def _sheets(scored: Scored) -> list[Sheet]:
    """A sheet a data set and process; what is said of all runs stands below the last."""
    rules = _rules(scored.compared)
    heads = ["Method", "q", "Published", "n"]
    for rule in rules:
        heads += [rule, "Difference", "Verdict"]
    titles = sheet_titles((entry.dataset, entry.candidates) for entry in scored.compared)
    parts: dict[str, list[Compared]] = defaultdict(list)
    for entry in scored.compared:
        parts[titles[entry.dataset, entry.candidates]].append(entry)
    sheets = []
    for title, found in parts.items():
        lines: dict[tuple[str, str, float | None], list[Compared]] = defaultdict(list)
        for entry in found:
            lines[entry.source, entry.label, entry.q].append(entry)
        sheets.append(
            Sheet(
                title=scored.title if len(parts) == 1 else f"{scored.title}: {title}",
                heads=tuple(heads),
                rows=tuple(map(_line, lines.values())),
                num_labels=2,
                notes=tuple(f"{rule}: {_in_words(_count(found, rule))}." for rule in rules),
                breaks=(5, *range(7, len(heads), 3)),
            )
        )
    about = [scored.note] if scored.note else []
    about += _where(scored.records)
    sheets[-1] = replace(sheets[-1], notes=(*sheets[-1].notes, *about))
    return sheets


def _line(entries: Sequence[Compared]) -> tuple[str, ...]:
    """One published number beside our accuracies by each rule."""
    first = entries[0]
    published = with_std(first.published_mean, first.published_std)
    runs = f"{first.n}/{first.published_n}"
    parts = [first.label, "" if first.q is None else f"{first.q:g}", published, runs]
    for entry in entries:
        parts += [_ours(entry), _difference(entry), entry.verdict]
    return tuple(parts)


def _ours(entry: Compared) -> str:
    return MISSING if entry.mean is None else with_std(entry.mean, entry.std)


def _difference(entry: Compared) -> str:
    if entry.difference is None:
        return MISSING
    return with_interval(entry.difference, entry.low, entry.high)


def _where(records: Iterable[Record]) -> list[str]:
    """Devices, versions, commits and seconds of runs, a sentence for each machine."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found = record.provenance
        versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
        about = "; ".join(filter(None, (found.host, versions)))
        groups[f"{found.device} ({about or 'nothing else is known'})"].append(record)
    sentences = []
    for place, runs in sorted(groups.items()):
        commits = Counter(_short(run.provenance.commit) for run in runs)
        listed = ", ".join(f"{commit} ({commits[commit]})" for commit in sorted(commits))
        seconds = math.fsum(run.provenance.seconds for run in runs)  # in any order the same
        sentences.append(
            f"{len(runs)} runs on {place}, {seconds:,.0f} s in all; commits (runs): {listed}."
        )
    return sentences


def _short(commit: str | None) -> str:
    """The first digits of a commit, with `+dirty` where it had changes."""
    if commit is None:
        return "unknown"
    digits, plus, dirty = commit.partition("+")
    return digits[:12] + plus + dirty
