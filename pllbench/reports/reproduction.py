"""The report of a comparison with published numbers: verdicts, their counts, what ran where."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, known_variants, plan
from pllbench.reports.aggregate import build_table
from pllbench.reports.provenance import list_commits
from pllbench.reports.published import (
    Comparison,
    Published,
    Verdict,
    compare,
    load_source,
    not_run,
)
from pllbench.reports.report import Report, TextTable, plain_headers, plain_row
from pllbench.reports.shared_settings import shared_note, without_settings
from pllbench.reports.table import (
    MISSING,
    format_difference,
    format_mean,
    format_q,
    section_titles,
)
from pllbench.results.model_selection import Select
from pllbench.results.records import Record, with_ids

_NOTES = (
    "Published: as printed, the population std of the AsyCo paper converted to sample std.",
    "n: our runs / theirs, which in the AsyCo paper are 3, or what the digits of a number fit.",
    "Difference: ours - published, with its 95 % Welch interval.",
    "agrees: the interval contains 0, as it also does where few runs leave it wide.",
    "too few: fewer runs than planned, or a single one, so no verdict.",
    "Our std holds a new split and new candidate sets a seed, unless a label names a data_seed.",
    "The AsyCo paper's released code keeps one split and one draw of candidate sets in all trials.",
)
"""How to read a comparison."""

_PAGE_NOTES = (
    "Made from the records: every table of which something has run.",
    "A table of which nothing has run has its line in the first table and no section.",
    "Figures print no numbers: the AsyCo paper's, noise_rates and tau, are not here.",
    "A table that can be read in two ways is compared once with each, named behind its benchmark.",
)
"""How to read a comparison of all tables."""

_PAPERS = {
    "paper": "the AsyCo paper",
    "coreg": "the Co-Reg paper",
    "pico": "the PiCO paper",
    "solar": "the SoLar paper",
    "valen": "the VALEN paper",
    "wsc": "the WSC paper",
    "all": "published tables",
}


def page_title(source: str) -> str:
    """Printed above a comparison with a source of published numbers."""
    return f"Reproduction of {_PAPERS[source]}"


@dataclass(frozen=True, slots=True)
class ComparedSelection:
    """A selection that was compared, and the records behind it.

    Attributes:
        title: printed above its tables.
        comparisons: its published numbers, a rule after the other.
        records: its finished runs.
        name: of its benchmark; empty for other selections.
        note: of its benchmark.
        source: of its benchmark: where the numbers stand.
        shared: settings of all its rows, which their labels leave out.
    """

    title: str
    comparisons: Sequence[Comparison]
    records: Sequence[Record]
    name: str = ""
    note: str = ""
    source: str = ""
    shared: tuple[str, ...] = ()


def report_comparison(selections: Sequence[ComparedSelection], title: str = "") -> Report:
    """A text table a data set; before them, verdicts are counted where selections are several.

    With a `title` of their own, several are a page of all tables of the paper, and say so.
    """
    tables = [_count_verdicts(selections)] if len(selections) > 1 else []
    notes = [*_PAGE_NOTES, *_NOTES] if title and tables else _NOTES
    for selection in selections:
        if any(entry.n for entry in selection.comparisons):
            tables += _tabulate(selection)
    entries = [entry for selection in selections for entry in selection.comparisons]
    return Report(title, tuple(tables), tuple(notes), entries)


def compare_all(found: Sequence[Record], source: str, rules: Sequence[Select]) -> Report:
    """Every table of a source of published numbers beside the records that its benchmark plans.

    Raises:
        FieldError: there is no such source.
    """
    parts = []
    for name, entries in load_source(source).items():
        selection = Selection(benchmark=load_benchmark(name))
        parts += compare_grids(found, selection, plan(selection), entries, rules)
    return report_comparison(parts, page_title(source))


def compare_grids(
    found: Sequence[Record],
    selection: Selection,
    planned: Sequence[PlannedRun],
    entries: Sequence[Published],
    rules: Sequence[Select],
) -> list[ComparedSelection]:
    """A published table beside the planned runs of each named grid of its benchmark."""
    benchmark = selection.benchmark
    assert benchmark is not None
    variants = known_variants(selection)
    protocol = selection.protocol.model_copy(update={"variants": variants})
    parts = []
    for grid in dict.fromkeys(run.grid for run in planned):
        runs = [run for run in planned if run.grid == grid]
        finished = with_ids(found, (run.spec.run_id for run in runs))
        tables = []
        if finished:
            tables = [build_table(finished, protocol, rule, runs, benchmark) for rule in rules]
            comparisons = compare(tables, entries)
        else:
            comparisons = not_run(entries, rules, protocol)
        name, title = (
            ", ".join(filter(None, (text, grid))) for text in (benchmark.name, benchmark.title)
        )
        parts.append(
            ComparedSelection(
                title=title,
                comparisons=comparisons,
                records=finished,
                name=name,
                note=benchmark.note,
                source=benchmark.source,
                shared=tables[0].shared if tables else (),
            )
        )
    return parts


def _rules(comparisons: Iterable[Comparison]) -> list[Select]:
    return list(dict.fromkeys(entry.select for entry in comparisons))


def _verdicts(comparisons: Iterable[Comparison], rule: Select) -> Counter[Verdict]:
    return Counter(entry.verdict for entry in comparisons if entry.select == rule)


def _in_words(verdicts: Counter[Verdict]) -> str:
    """`12 agree, 9 differ, 0 too few, 8 not run`."""
    return (
        f"{verdicts['agrees']} agree, {verdicts['differs']} differ, "
        f"{verdicts['too few']} too few, {verdicts['not run']} not run"
    )


def _count_verdicts(selections: Sequence[ComparedSelection]) -> TextTable:
    """A row a table of the paper; its rules are those that have a value for every run."""
    everything = [entry for selection in selections for entry in selection.comparisons]
    rules = _rules(everything)
    rows = []
    named = [(selection.name, selection.comparisons) for selection in selections]
    for name, comparisons in (*named, ("All", everything)):
        verdicts = [_verdicts(comparisons, rule) for rule in rules]
        numbers = [verdicts[0].total(), verdicts[0]["not run"], verdicts[0]["too few"]]
        numbers += [counts[verdict] for counts in verdicts for verdict in ("agrees", "differs")]
        rows.append(plain_row((name, *map(str, numbers))))
    headers = ["Benchmark", "Numbers", "Not run", "Too few"]
    headers += [header for rule in rules for header in (f"{rule}: agree", "differ")]
    return TextTable(
        title="Published numbers by verdict",
        headers=plain_headers(headers),
        rows=tuple(rows),
        notes=_expected_by_chance(verdicts[0]),  # of all numbers, the last row
        breaks=tuple(range(4, len(headers), 2)),
    )


def _expected_by_chance(verdicts: Counter[Verdict]) -> tuple[str, ...]:
    """How many verdicts are `differs` though nothing differs; no note where none is judged."""
    if not (judged := verdicts["agrees"] + verdicts["differs"]):
        return ()
    note = (
        f"Of {judged} verdicts at 5 %, chance alone makes {judged / 20:.1f} differ where nothing "
        "differs; those of one data set share their splits, so they come together."
    )
    return (note,)


def _tabulate(selection: ComparedSelection) -> list[TextTable]:
    """A text table a data set and process; notes on all runs stand below the last."""
    rules = _rules(selection.comparisons)
    headers = ["Method", "q", "Published", "n"]
    for rule in rules:
        headers += [rule, "Difference", "Verdict"]
    titles = section_titles((entry.data_title, entry.candidates) for entry in selection.comparisons)
    sections: dict[str, list[Comparison]] = defaultdict(list)
    for entry in selection.comparisons:
        sections[titles[entry.data_title, entry.candidates]].append(entry)
    tables = []
    for title, comparisons in sections.items():
        rows: dict[tuple[str, str, float | None], list[Comparison]] = defaultdict(list)
        for entry in comparisons:
            rows[entry.source, entry.label, entry.q].append(entry)
        tables.append(
            TextTable(
                title=selection.title if len(sections) == 1 else f"{selection.title}: {title}",
                headers=plain_headers(headers),
                rows=tuple(
                    plain_row((without_settings(label, selection.shared), *_texts(entries)))
                    for (_, label, _), entries in rows.items()
                ),
                num_labels=2,
                notes=tuple(f"{r}: {_in_words(_verdicts(comparisons, r))}." for r in rules),
                breaks=(5, *range(7, len(headers), 3)),
            )
        )
    about = [f"Published: {selection.source}."] if selection.source else []
    about += [selection.note] if selection.note else []
    about += shared_note(selection.shared)
    about += _provenance_notes(selection.records)
    tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *about))
    return tables


def _texts(entries: Sequence[Comparison]) -> list[str]:
    """One published number, behind its row's label, beside our accuracies under each rule."""
    first = entries[0]
    published = format_mean(first.published_mean, first.published_std)
    texts = [format_q(first.q), published, f"{first.n}/{first.published_n or MISSING}"]
    for entry in entries:
        texts += [_accuracy(entry), _difference(entry), entry.verdict]
    return texts


def _accuracy(entry: Comparison) -> str:
    return MISSING if entry.mean is None else format_mean(entry.mean, entry.std)


def _difference(entry: Comparison) -> str:
    if entry.difference is None:
        return MISSING
    return format_difference(entry.difference, entry.low, entry.high)


def _provenance_notes(records: Iterable[Record]) -> list[str]:
    """Device, versions, commits and seconds of runs, a sentence for each machine."""
    machines: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        origin = record.provenance
        versions = ", ".join(f"{name} {version}" for name, version in origin.versions.items())
        about = "; ".join(filter(None, (origin.host, versions)))
        machines[f"{origin.device} ({about or 'nothing else is known'})"].append(record)
    notes = []
    for machine, runs in sorted(machines.items()):
        seconds = math.fsum(run.provenance.seconds for run in runs)  # the same in any order
        notes.append(
            f"{len(runs)} runs on {machine}, {seconds:,.0f} s in all; "
            f"commits (runs): {list_commits(runs)}."
        )
    return notes
