"""How good the methods are that candidate sets choose: beside the best, which true labels know.

The records in results/choices are of runs with a hold-out, as `pllbench choose` makes them;
`python -m tools.remake` makes results/choices.md of them. For each data set and q
a criterion of the hold-out chooses a method and an epoch; test labels say how accurate that is, and
what the best choice would have been.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pllbench.budget import Criterion
from pllbench.grid.protocol import default_protocol
from pllbench.reports.choice import ChosenEntry, choose_methods
from pllbench.reports.groups import RunGroup, recorded_groups
from pllbench.reports.results import Results
from pllbench.reports.statistics import mean_std, paired_difference
from pllbench.reports.table import dataset_title, format_difference, format_mean
from pllbench.results.curves import Curves
from pllbench.results.metrics import CRITERIA, printed_metric

Column = tuple[str, float | None]
"""Data set and q."""


@dataclass(frozen=True, slots=True)
class Accurate:
    """A method at the epoch chosen for it, and what test labels say of it.

    Attributes:
        label: of the method.
        epoch: counted from 1.
        accuracies: of its runs there, in percent, by seed.
    """

    label: str
    epoch: int
    accuracies: Mapping[int, float]

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return fmean(self.accuracies.values())

    @property
    def text(self) -> str:
        """Mean ± sample std over seeds."""
        found = mean_std(list(self.accuracies.values()))
        return format_mean(found.mean, found.std)


@dataclass(frozen=True, slots=True)
class Judged:
    """The methods on a data set: the chosen one, the most accurate one, and the mean of all."""

    chosen: Accurate
    best: Accurate
    middle: float


def judge(
    groups: Sequence[RunGroup], columns: Mapping[str, Curves], criterion: Criterion
) -> dict[Column, Judged]:
    """The choice of each data set and q, beside the best one."""
    seeds = {run.run_id: seed for group in groups for seed, run in group.records.items()}
    found: dict[Column, list[Accurate]] = defaultdict(list)
    for choice in choose_methods(groups, columns, criterion):  # the chosen method comes first
        found[choice.dataset, choice.q].append(_accurate(choice, columns, seeds))
    return {
        column: Judged(
            listed[0], max(listed, key=lambda one: one.mean), fmean(o.mean for o in listed)
        )
        for column, listed in found.items()
    }


def _accurate(
    choice: ChosenEntry, columns: Mapping[str, Curves], seeds: Mapping[str, int]
) -> Accurate:
    accuracies = {
        seeds[run_id]: 100 * float(columns[run_id]["accuracy"][choice.epoch - 1])
        for run_id in choice.run_ids
    }
    return Accurate(short_label(choice.label), choice.epoch, accuracies)


def short_label(label: str) -> str:
    """The label of a row without its hold-out, which all rows here have."""
    name, _, rest = label.removesuffix(")").partition(" (")
    differences = [part for part in rest.split(", ") if part and not part.startswith("holdout=")]
    return f"{name} ({', '.join(differences)})" if differences else name


def table(criterion: Criterion, judged: Mapping[Column, Judged]) -> list[str]:
    """The lines of a criterion."""
    lines = [
        f"## By {printed_metric(criterion)}",
        "",
        "| data set | q | chosen | epoch | accuracy | best | accuracy | lost | at random |",
        "| :-- | --: | :-- | --: | --: | :-- | --: | --: | --: |",
    ]
    for (name, q), one in judged.items():
        rate = "" if q is None else f"{q:g}"
        lines.append(
            f"| {dataset_title(name)} | {rate} | {one.chosen.label} | {one.chosen.epoch} "
            f"| {one.chosen.text} | {one.best.label} | {one.best.text} | {_lost(one)} "
            f"| {one.middle:.2f} |"
        )
    lost = fmean(one.best.mean - one.chosen.mean for one in judged.values())
    rest = fmean(one.best.mean - one.middle for one in judged.values())
    return [
        *lines,
        "",
        f"Lost on average: {lost:.2f} points; by a method at random {rest:.2f}.",
        "",
    ]


def _lost(one: Judged) -> str:
    """How far the chosen method lies behind the best, with the interval of that over seeds."""
    if one.best is one.chosen:
        return "0"
    if len(one.best.accuracies) < 2:
        return format_difference(one.best.mean - one.chosen.mean, None, None)
    gap = paired_difference(one.best.accuracies, one.chosen.accuracies)
    return format_difference(gap.mean, gap.low, gap.high)


def page(loaded: Results) -> str:
    """The page of all runs of a folder: a table a criterion, as Markdown."""
    runs = {record.run_id: record for record in loaded.records}
    groups, columns = recorded_groups(runs, default_protocol()), loaded.columns()
    names = ", ".join(sorted({short_label(group.label) for group in groups}))
    seeds = ", ".join(map(str, sorted({len(group.records) for group in groups})))
    about = (
        "What `pllbench choose` names on data whose true labels are known: method and epoch by a "
        "criterion of a hold-out of a fifth of the training rows, and its test accuracy (%, mean ± "
        "sample std). *Best*: the method that is the most accurate on the test rows at the epoch "
        "chosen for it; the best of several means is somewhat too high. *Lost*: its lead over the "
        "chosen one, paired over seeds, with the 95 % t-interval. *At random*: the mean over the "
        f"methods. Methods: {names}; n = {seeds} seeds."
    )
    lines = ["# Choices without true labels", "", about, ""]
    for criterion in CRITERIA:
        lines += table(criterion, judge(groups, columns, criterion))
    return "\n".join(lines)
