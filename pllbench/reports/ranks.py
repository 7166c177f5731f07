"""Average ranks of methods over data sets."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pllbench.reports.report import TextTable, plain_headers, plain_row
from pllbench.reports.statistics import Ranks, rank
from pllbench.reports.table import DECIMALS, Block, Table, format_p


def rank_rows(table: Table) -> tuple[Ranks, tuple[str, ...]]:
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
    labels = common_labels(blocks)
    ranks = rank({labels[name]: complete[name] for name in first.values()})
    shared = {labels[n]: labels[leader] for n, leader in leaders.items() if n != leader}
    left_out = [labels[name] for name in scores if name not in complete]
    return ranks, _rank_notes(ranks, shared, left_out)


def _score(block: Block, name: str) -> float | None:
    """Mean accuracy of a row over the columns of a block; None where it lacks a run."""
    rows = [row for row in block.rows if row.name == name]
    if len(rows) > 1:
        labels = ", ".join(row.label for row in rows)
        raise ValueError(f"ranks: {len(rows)} rows of {name} on {block.dataset} ({labels})")
    cells = rows[0].cells if rows else (None,)
    means = [cell.mean_std.mean for cell in cells if cell and cell.competes and cell.mean_std]
    if len(means) < len(cells):
        return None
    return round(sum(means) / len(means), DECIMALS)


def _runs(blocks: Sequence[Block], name: str) -> tuple[str, ...]:
    """Ids of all runs of a row."""
    rows = [row for block in blocks for row in block.rows if row.name == name]
    return tuple(run_id for row in rows for cell in row.cells if cell for run_id in cell.run_ids)


def common_labels(blocks: Sequence[Block]) -> dict[str, str]:
    """A label for each name of a row: the start of all its labels in the blocks, else the name.

    A label of the whole table must leave out the settings that are added on one data set.
    """
    labels: dict[str, set[str]] = defaultdict(set)
    for block in blocks:
        for row in block.rows:
            labels[row.name].add(row.label)
    shortest = {name: min(own, key=len) for name, own in labels.items()}
    return {
        name: label if all(other.startswith(label) for other in labels[name]) else name
        for name, label in shortest.items()
    }


def _rank_notes(
    ranks: Ranks, shared: Mapping[str, str], left_out: Sequence[str]
) -> tuple[str, ...]:
    """How to read the ranks; `shared` gives the ranked row that has the same runs."""
    k, n, distance = len(ranks.average), ranks.num_blocks, ranks.critical_difference
    notes = ["Rank 1 is best; the columns of a data set are averaged first, and ties share ranks."]
    notes += [f"Nemenyi's critical difference for k = {k} over N = {n}: {distance:.2f} (5 %)."]
    if distance >= k - 1:
        notes += ["N is too small: no two average ranks can lie that far apart."]
    if ranks.friedman_p is not None:
        notes += [f"Friedman's test that all are alike: p = {format_p(ranks.friedman_p)}."]
    if shared:
        once = ", ".join(f"{label} as {leader}" for label, leader in shared.items())
        notes += [f"Rows that share their runs are ranked once: {once}."]
    if left_out:
        notes += [
            f"Left out, since runs are missing or on other candidate sets: {', '.join(left_out)}."
        ]
    return tuple(notes)


def tabulate_ranks(table: Table) -> TextTable:
    """Average ranks, best first, and the ranks on each data set.

    Raises:
        ValueError: as `rank_rows`.
    """
    blocks = [block for block in table.blocks if block.columns]
    ranks, notes = rank_rows(table)
    return TextTable(
        title="Average ranks over data sets",
        headers=plain_headers(("Method", "Average rank", *(block.title for block in blocks))),
        rows=tuple(
            plain_row((label, f"{average:.2f}", *(f"{r:g}" for r in ranks.by_block[label])))
            for label, average in sorted(ranks.average.items(), key=lambda item: item[1])
        ),
        notes=notes,
    )
