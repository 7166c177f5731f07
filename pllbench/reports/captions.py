"""What a table says of its numbers: the sentences of the caption, and the notes of cells."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pllbench.reports.groups import RunGroup
from pllbench.reports.table import Block, Cell, dataset_title
from pllbench.results.metrics import CRITERIA, DEFAULT_METRIC, METRICS, Metric, printed_metric
from pllbench.results.model_selection import DEFAULT_RULE, RULES, Select
from pllbench.results.sources import Groups

_NO_HOLDOUT = "no hold-out"
"""Note of a cell whose runs have no value, since they hold out no training rows."""

_NO_CLASSES = "not long-tailed"
"""Note of a cell whose runs have no value of a metric over classes."""

_BUDGETS = "Tuned rows and rows with default settings are ranked apart: a budget, a ranking."
"""Note of a table with several budgets."""

_MIXED_BUDGETS = "Mixed budgets: tuned rows are ranked together with rows with default settings."
"""Note of a table that ranks several budgets together."""

_NO_LABELS = "no true labels"
"""Note of a cell whose runs have no value, since true labels are not known."""

_LABELS = "true labels"
"""Note of a cell whose runs have no criteria, since they have accuracies."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the numbers of a table are.

    Attributes:
        select: turns the epochs of a run into one number.
        metrics: of what; each has a column of its own.
        mixed_budgets: rank rows together whose settings were searched with different budgets, or
            not at all.
        equal: sources of methods that were shown to give the same numbers: their runs are averaged.
    """

    select: Select = DEFAULT_RULE
    metrics: tuple[Metric, ...] = (DEFAULT_METRIC,)
    mixed_budgets: bool = False
    equal: Groups = field(default_factory=dict)


def usual_number(cells: Iterable[tuple[int | None, int]]) -> int:
    """The number of runs that most cells have; of equally many, the larger.

    Args:
        cells: numbers of planned runs and of values of each cell.
    """
    counts = Counter(planned or n for planned, n in cells if n)
    return max(counts, key=lambda n: (counts[n], n))


def cell_note(group: RunGroup, metric: Metric, n: int, usual_n: int) -> str:
    """Note of a cell of `n` values, where `usual_n` is the number of most; may be empty."""
    if not n:
        return _why_missing(group, metric) if group.records else ""
    if n < (group.planned or 0):
        return f"n = {n} of {group.planned}"
    return f"n = {n}" if n != usual_n else ""


def _why_missing(group: RunGroup, metric: Metric) -> str:
    """Why finished runs have no value of a metric."""
    if not group.labelled:
        return _NO_LABELS
    if metric in CRITERIA:
        return _LABELS
    return _NO_HOLDOUT if metric == DEFAULT_METRIC else _NO_CLASSES


def caption(blocks: Sequence[Block], groups: Sequence[RunGroup], shown: Shown) -> list[str]:
    """Sentences of the caption: what a number is, what is special, what is missing."""
    rows = [row for block in blocks for row in block.rows]
    cells = [cell for row in rows for cell in row.cells if cell]
    notes = [f"{quantity(cells)}, {_rule(cells, shown.select)}; {mean_std_note(cells)}."]
    metrics = dict.fromkeys(cell.column.metric for cell in cells)
    notes += [f"{printed_metric(m)}: {METRICS[m]}." for m in metrics if m != DEFAULT_METRIC]
    notes += [_seed_note(groups)]
    references = dict.fromkeys(row.label for row in rows if row.reference)
    if references:
        listed = ", ".join(references).removesuffix(".")
        notes += [f"From true labels, so one result for all q, not ranked: {listed}."]
    apart = dict.fromkeys(row.label for row in rows for cell in row.cells if cell and cell.apart)
    if apart:
        listed = ", ".join(apart).removesuffix(".")
        notes += [f"On other splits or candidate sets, so not ranked: {listed}."]
    oracles = dict.fromkeys(row.label for row in rows for cell in row.cells if cell and cell.oracle)
    if oracles:
        listed = ", ".join(oracles).removesuffix(".")
        notes += [f"Oracles, told what only true labels say, so not ranked: {listed}."]
    if len({group.budget for group in groups}) > 1:
        notes += [_MIXED_BUDGETS if shown.mixed_budgets else _BUDGETS]
    if any(cell.note == _NO_HOLDOUT for cell in cells):
        notes += [f"{_NO_HOLDOUT}: runs without a hold-out have no value under this rule."]
    if any(cell.note == _NO_CLASSES for cell in cells):
        notes += [f"{_NO_CLASSES}: runs without imbalance have no accuracies by class."]
    if any(cell.note == _NO_LABELS for cell in cells):
        notes += [f"{_NO_LABELS}: there is nothing to test on."]
    if any(cell.note == _LABELS for cell in cells):
        notes += [f"{_LABELS}: runs that can be tested have accuracies instead."]
    distinct = {group.spec.cell: group for group in groups if group.planned}  # rows share runs
    planned = sum(group.planned or 0 for group in distinct.values())
    missing = planned - sum(len(group.records) for group in distinct.values())
    holes = sum(cell is None for row in rows for cell in row.cells)
    if missing:
        notes += [f"Incomplete: {missing} of {planned} runs are missing."]
        notes += ["A cell without all its runs is not ranked."]
    elif holes and not planned:
        notes += [f"Incomplete: {holes} of {holes + len(cells)} cells have no runs."]
    return notes


def quantity(cells: Sequence[Cell]) -> str:
    """Begin of the caption: what the numbers are, in percent."""
    criteria = [cell for cell in cells if cell.column.metric in CRITERIA]
    if not criteria:
        return "Test accuracy (%)"
    instead = "criteria of the hold-out (%), since true labels are not known"
    if len(criteria) == len(cells):
        return instead[0].upper() + instead[1:]
    titles = dict.fromkeys(dataset_title(cell.column.dataset) for cell in criteria)
    return f"Test accuracy (%); on {', '.join(titles)} {instead}"


def _rule(cells: Sequence[Cell], select: Select) -> str:
    short = select == "last10" and any(cell.epochs < 10 for cell in cells)
    return RULES[select].words + " (all epochs of shorter runs)" * short


def mean_std_note(cells: Sequence[Cell]) -> str:
    """Clause of the caption: which spread follows ±, and the number of runs of a cell."""
    usual_n = usual_number((cell.planned, len(cell.values)) for cell in cells)
    if all(len(cell.values) <= 1 for cell in cells):
        return "one seed (n = 1)"
    same = all(len(cell.values) == usual_n for cell in cells if cell.values)
    unless = "" if same else " unless a cell says otherwise"
    return f"mean ± sample std (ddof = 1) over n = {usual_n} seeds{unless}"


def _seed_note(groups: Sequence[RunGroup]) -> str:
    """Sentence of the caption: what varies with the seed, and which rows fix it by a data_seed."""
    generated = any(group.spec.candidates for group in groups)
    varies = "split, candidate sets" if generated else "split"
    fixed = "split and candidate sets" if generated else "split"
    seeds = {group.label: group.spec.data_seed for group in groups}
    fixing = {label: seed for label, seed in sorted(seeds.items()) if seed is not None}
    numbers = ", ".join(map(str, sorted(set(fixing.values()))))
    if not fixing:
        return f"{varies.capitalize()} and initialisation vary with the seed."
    if len(fixing) == len(seeds):
        return f"Initialisation varies with the seed; data_seed = {numbers} fixes {fixed}."
    listed = ", ".join(fixing).removesuffix(".")
    return (
        f"{varies.capitalize()} and initialisation vary with the seed; "
        f"data_seed = {numbers} fixes {fixed} of {listed}."
    )
