"""Average ranks of methods over data sets."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters

from pllbench.reports.report import TextTable, plain_headers, plain_row
from pllbench.reports.row_labels import common_label
from pllbench.reports.shared_settings import without_settings
from pllbench.reports.statistics import Ranks, cliques, rank
from pllbench.reports.table import DECIMALS, Block, Row, Table, format_p


@dataclass(frozen=True, slots=True)
class RankedLines:
    """Lines of a table (`Table.lines`), ranked.

    Attributes:
        ranks: by key.
        labels: what lines are called in the ranks, by key; of all lines but references.
        datasets: the data sets that are the blocks, as `Block.key`.
        shared: lines with the same runs as a ranked one, whose key follows.
        left_out: keys of lines that lack runs on these data sets, or have other candidate sets.
    """

    ranks: Ranks
    labels: Mapping[str, str]
    datasets: Sequence[str]
    shared: Mapping[str, str]
    left_out: Sequence[str]


def rank_lines(
    table: Table, datasets: Collection[str] | None = None, budget: str | None = None
) -> RankedLines:
    """Ranks of the lines over the data sets of `table`, or over some of them.

    With a `budget`, rows of any other take no part.

    The columns of a data set are averaged first, since its noise rates are no independent blocks.
    Lines that lack a run anywhere, or have other candidate sets, are left out. Lines that share all
    their runs are ranked once, as the first of them.

    Raises:
        ValueError: fewer than two lines are complete.
    """
    blocks = [b for b in table.blocks if b.columns and (datasets is None or b.key in datasets)]
    lines = _rivals(table, blocks, budget)
    scores = {key: [_score(b, rows.get(b.key)) for b in blocks] for key, rows in lines.items()}
    complete = {
        key: [value for value in values if value is not None]
        for key, values in scores.items()
        if None not in values
    }
    first: dict[tuple[str, ...], str] = {}
    leaders = {key: first.setdefault(_runs(lines[key].values()), key) for key in complete}
    if len(first) < 2:
        raise ValueError("ranks need at least two rows with all their runs on every data set here")
    return RankedLines(
        ranks=rank({key: complete[key] for key in first.values()}),
        labels={
            key: without_settings(line_label(rows), table.shared) for key, rows in lines.items()
        },
        datasets=[block.key for block in blocks],
        shared={key: leader for key, leader in leaders.items() if key != leader},
        left_out=[key for key in scores if key not in complete],
    )


def datasets_to_rank(table: Table, budget: str | None = None) -> list[str]:
    """Keys of the blocks over which ranks say most, where not all lines have run on all.

    With a `budget`, rows of any other take no part.

    Of the sets of data sets on which some line is complete, that which gives Friedman's test most
    degrees of freedom, (lines - 1)(data sets - 1); of equally many, that with most lines.
    """
    blocks = [block for block in table.blocks if block.columns]
    complete = [
        frozenset(b.key for b in blocks if _score(b, rows.get(b.key)) is not None)
        for rows in _rivals(table, blocks, budget).values()
    ]

    def merit(datasets: frozenset[str]) -> tuple[int, int, list[str]]:
        lines = sum(datasets <= own for own in complete)
        return (lines - 1) * (len(datasets) - 1), lines, sorted(datasets)

    best = max(filter(None, complete), key=merit, default=frozenset[str]())
    return [block.key for block in blocks if block.key in best]


def line_label(rows: Mapping[str, Row]) -> str:
    """What a line is called: its labels on the data sets without what only some of them add."""
    first = next(iter(rows.values()))
    return common_label(first.name, (row.label for row in rows.values()))


def _rivals(table: Table, blocks: Sequence[Block], budget: str | None) -> dict[str, dict[str, Row]]:
    """The lines of some blocks that are no references, of one budget or all."""

    def competes(row: Row) -> bool:
        return not row.reference and budget in (None, row.budget)

    here = {block.key for block in blocks}
    lines = {
        key: {name: row for name, row in rows.items() if name in here and competes(row)}
        for key, rows in table.lines().items()
    }
    return {key: rows for key, rows in lines.items() if rows}


def _score(block: Block, row: Row | None) -> float | None:
    """Mean accuracy of a row over the columns of a block; None where it lacks a run."""
    cells = row.cells if row else ()
    means = [cell.mean_std.mean for cell in cells if cell and cell.competes and cell.mean_std]
    if len(means) < len(block.columns):
        return None
    return round(sum(means) / len(means), DECIMALS)


def _runs(rows: Collection[Row]) -> tuple[str, ...]:
    """Ids of all runs of a line."""
    return tuple(run_id for row in rows for cell in row.cells if cell for run_id in cell.run_ids)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands among those ranked.

    Attributes:
        average: its average rank.
        low: the best place that Nemenyi's test at 5 % leaves open: behind all that are better.
        high: the worst: before all that are worse.
        groups: a letter for each tie group it belongs to; lines of one group cannot be told apart.
    """

    average: float
    low: int
    high: int
    groups: str


def places(ranks: Ranks) -> dict[str, Place]:
    """The place of each line, best first."""
    ordered = sorted(ranks.average.items(), key=lambda item: item[1])
    averages = [average for _, average in ordered]
    distance = ranks.critical_difference
    groups = cliques(averages, distance, alone=True)
    letters = dict(zip(groups, ascii_letters, strict=False))
    return {
        key: Place(
            average=average,
            low=1 + sum(average - other >= distance for other in averages),
            high=len(averages) - sum(other - average >= distance for other in averages),
            groups="".join(letters.get(g, "*") for g in groups if g[0] <= average <= g[1]),
        )
        for key, average in ordered
    }


def rank_notes(ranked: RankedLines) -> tuple[str, ...]:
    """How to read the ranks, but for who is left out."""
    ranks = ranked.ranks
    k, n, distance = len(ranks.average), ranks.num_blocks, ranks.critical_difference
    notes = ["Rank 1 is best; the columns of a data set are averaged first, and ties share ranks."]
    notes += [f"Nemenyi's critical difference for k = {k} over N = {n}: {distance:.2f} (5 %)."]
    if distance >= k - 1:
        notes += ["N is too small: no two average ranks can lie that far apart."]
    if ranks.friedman_p is not None:
        found = format_p(ranks.friedman_p)
        equals = "" if found.startswith("<") else "= "
        notes += [f"Friedman's test that all are alike: p {equals}{found}."]
    if ranked.shared:
        labels = ranked.labels
        once = ", ".join(f"{labels[k]} as {labels[first]}" for k, first in ranked.shared.items())
        notes += [f"Rows that share their runs are ranked once: {once}."]
    return tuple(notes)


def rank_rows(table: Table, budget: str = "") -> tuple[Ranks, tuple[str, ...]]:
    """Ranks of the rows of one budget over `datasets_to_rank`, by label; and their notes.

    Raises:
        ValueError: as `rank_lines`.
    """
    ranked = _ranked(table.of_budget(budget))
    notes = rank_notes(ranked)
    titles = {block.key: block.title for block in table.of_budget(budget).blocks if block.columns}
    if len(ranked.datasets) < len(titles):
        listed = "; ".join(titles[key] for key in ranked.datasets)
        number = f"{len(ranked.datasets)} of {len(titles)} data sets"
        notes += (f"Ranked over {number}, on which most rows have all their runs: {listed}.",)
    if ranked.left_out:
        names = ", ".join(ranked.labels[key] for key in ranked.left_out)
        notes += (f"Left out, since runs are missing or on other candidate sets: {names}.",)
    return ranked.ranks.renamed(ranked.labels), notes


def _ranked(table: Table) -> RankedLines:
    return rank_lines(table, datasets_to_rank(table))


def ranks_title(table: Table, budget: str) -> str:
    """What the ranks of a budget are called; where there are several, it is named."""
    title = "Average ranks over data sets"
    if len(table.budgets) < 2:
        return title
    return f"{title}, tuned: {budget}" if budget else f"{title}, default settings"


def tabulate_ranks(table: Table, budget: str = "") -> TextTable:
    """Average ranks of the rows of a budget, best first, and the ranks on each data set.

    Raises:
        ValueError: as `rank_lines`.
    """
    part = table.of_budget(budget)
    datasets = _ranked(part).datasets
    blocks = [block for block in part.blocks if block.key in datasets]
    ranks, notes = rank_rows(table, budget)
    return TextTable(
        title=ranks_title(table, budget),
        headers=plain_headers(("Method", "Average rank", *(block.title for block in blocks))),
        rows=tuple(
            plain_row((label, f"{average:.2f}", *(f"{r:g}" for r in ranks.by_block[label])))
            for label, average in sorted(ranks.average.items(), key=lambda item: item[1])
        ),
        notes=notes,
    )
