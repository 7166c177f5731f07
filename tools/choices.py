"""How good the methods are that candidate sets choose: beside the best, which true labels know.

python tools/choices.py --results results/choices > results/tables/choices.md

Reads the records of runs with a hold-out, as `pllbench choose` makes them. For each data set and q
a criterion of the hold-out chooses a method and an epoch; test labels say how accurate that is, and
what the best choice would have been.
"""

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from pllbench import api
from pllbench.budget import Criterion
from pllbench.grid.protocol import default_protocol
from pllbench.reports.choice import ChosenEntry, choose_methods
from pllbench.reports.groups import RunGroup, recorded_groups
from pllbench.reports.table import dataset_title
from pllbench.results.curves import Curves
from pllbench.results.metrics import CRITERIA, printed_metric

Column = tuple[str, float | None]
"""Data set and q."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A choice and what test labels say of it, in percent.

    Attributes:
        label: of the chosen method.
        epoch: counted from 1.
        accuracy: mean test accuracy of the chosen method at the chosen epoch.
        best_label: of the method that is the most accurate at the epoch chosen for it.
        best: its mean test accuracy there.
        middle: mean test accuracy of all methods, each at its epoch: what a choice at random gives.
    """

    label: str
    epoch: int
    accuracy: float
    best_label: str
    best: float
    middle: float


def judge(
    groups: Sequence[RunGroup], columns: Mapping[str, Curves], criterion: Criterion
) -> dict[Column, Judged]:
    """The choice of each data set and q, beside the best one."""
    found: dict[Column, list[tuple[ChosenEntry, float]]] = defaultdict(list)
    for choice in choose_methods(groups, columns, criterion):
        curves = [columns[run_id]["accuracy"] for run_id in choice.run_ids]
        accuracy = 100 * fmean(float(curve[choice.epoch - 1]) for curve in curves)
        found[choice.dataset, choice.q].append((choice, accuracy))
    judged = {}
    for column, listed in found.items():
        (chosen, accuracy), *_ = listed
        best, top = max(listed, key=lambda pair: pair[1])
        middle = fmean(value for _, value in listed)
        judged[column] = Judged(chosen.label, chosen.epoch, accuracy, best.label, top, middle)
    return judged


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
            f"| {dataset_title(name)} | {rate} | {one.label} | {one.epoch} | {one.accuracy:.2f} "
            f"| {one.best_label} | {one.best:.2f} | {one.best - one.accuracy:.2f} "
            f"| {one.middle:.2f} |"
        )
    lost = fmean(one.best - one.accuracy for one in judged.values())
    rest = fmean(one.best - one.middle for one in judged.values())
    return [
        *lines,
        "",
        f"Lost on average: {lost:.2f} points; by a method at random {rest:.2f}.",
        "",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table a criterion, as Markdown."""
    parser = argparse.ArgumentParser(description="Choices of candidate sets beside the best.")
    parser.add_argument("--results", type=Path, required=True)
    loaded = api.load(parser.parse_args(arguments).results)
    runs = {record.run_id: record for record in loaded.records}
    groups, columns = recorded_groups(runs, default_protocol()), loaded.curves()
    print("# Choices without true labels\n")
    print(
        "What `pllbench choose` names on data whose true labels are known: method and epoch by a "
        "criterion of a hold-out of a fifth of the training rows, their mean test accuracy (%), "
        "and that of the method that is the most accurate at the epoch chosen for it. *At random*: "
        "the mean over the methods. Made by `python tools/choices.py`.\n"
    )
    for criterion in CRITERIA:
        print("\n".join(table(criterion, judge(groups, columns, criterion))))


if __name__ == "__main__":
    main()
