"""What is found in candidate sets whose true labels are taken away; the labels judge it afterwards.

python tools/labels_found.py --methods cc,proden,asyco > results/labels_found.md

Of each data set the training rows of a run's split are given to `PartialLabelClassifier`, with the
protocol's settings for the data set and without any label. Counted are the training rows whose true
label `disambiguate` names, and the test rows that are predicted rightly, which must be as many as
in the same run of `pllbench run`, which is executed beside it.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from pllbench import PartialLabelClassifier
from pllbench.data.dataset import load_dataset, split
from pllbench.data.readers.base import Dataset
from pllbench.grid.labels import stored_cell
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, default_protocol, merge
from pllbench.reports.statistics import mean_std
from pllbench.reports.table import dataset_title, format_mean
from pllbench.runner.job import Job, RunOptions, execute
from pllbench.training.alone import alone


@dataclass(frozen=True, slots=True)
class Found:
    """One method at one seed; shares of rows.

    Attributes:
        by_confidence: training rows whose label of the highest confidence is the true one.
        by_prediction: training rows whose most probable candidate is the true one.
        tested: test rows that are predicted rightly.
        run: test accuracy of the same run, at its last epoch.
    """

    by_confidence: float
    by_prediction: float
    tested: float
    run: float


def find(planned: PlannedRun, dataset: Dataset, options: RunOptions) -> Found:
    """Fit a planned run without labels, judge what it finds, and execute it with them."""
    spec = planned.spec
    train, test = (rows.numpy() for rows in split(dataset, spec.seed))
    assert dataset.candidates is not None
    x, sets = dataset.x.numpy()[train], dataset.candidates.numpy()[train]
    y = dataset.y.numpy()
    model = classifier(planned).fit(x, sets)
    labels = model.disambiguate().label.to_numpy()
    inside = np.where(sets, model.predict_proba(x), -1)
    with alone():
        record, _ = execute(Job(spec, planned.data, options), dataset=dataset)
    return Found(
        by_confidence=float((labels == y[train]).mean()),
        by_prediction=float((inside.argmax(axis=1) == y[train]).mean()),
        tested=model.score(dataset.x.numpy()[test], y[test]),
        run=record.result.accuracy["last"],
    )


def classifier(planned: PlannedRun) -> PartialLabelClassifier:
    """The classifier with the settings of a planned run, but for its data."""
    spec = planned.spec
    cell = stored_cell(spec, planned.name)
    settings = merge(default_protocol().applicable_settings(cell), cell.kind)
    train = settings.train | ({"epochs": spec.train.epochs} if spec.gradient else {})
    return PartialLabelClassifier(
        spec.method,
        hparams=settings.hparams,
        train=train if spec.gradient else {},
        views=settings.views,
        random_state=spec.seed,
        device="cpu",
    )


def table(name: str, dataset: Dataset, found: dict[str, list[Found]]) -> list[str]:
    """The lines of a data set, the best method first."""
    assert dataset.candidates is not None
    guessing = 100 * fmean((1 / dataset.candidates.sum(1)).tolist())
    lines = [
        f"## {dataset_title(name)}",
        "",
        f"A candidate at random is the true label of {guessing:.2f} % of the rows.",
        "",
        "| method | labels found | by predictions alone | test accuracy | equal to the run |",
        "| :-- | --: | --: | --: | --: |",
    ]
    order = sorted(found, key=lambda label: -fmean(f.by_confidence for f in found[label]))
    for label in order:
        runs = found[label]
        columns = (
            [100 * f.by_confidence for f in runs],
            [100 * f.by_prediction for f in runs],
            [100 * f.tested for f in runs],
        )
        means = map(mean_std, columns)
        texts = " | ".join(format_mean(one.mean, one.std) for one in means)
        equal = sum(f.tested == f.run for f in runs)
        lines.append(f"| {label} | {texts} | {equal} of {len(runs)} |")
    return [*lines, ""]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table a data set, as Markdown."""
    parser = argparse.ArgumentParser(description="Labels that are found in candidate sets.")
    parser.add_argument("--methods", default="cc,rc,proden,dpll,pico,asyco,pl_knn,ipal")
    parser.add_argument("--datasets", default="birdsong,lost")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("PLLBENCH_DATA", "data"))
    given = parser.parse_args(arguments)
    methods, names = given.methods.split(","), given.datasets.split(",")
    flags = (Setting(reason="--epochs", train={"epochs": given.epochs}),) if given.epochs else ()
    selection = Selection(
        methods=tuple(methods), datasets=tuple(names), seeds=tuple(range(given.seeds)), flags=flags
    )
    options = RunOptions(Path("results"), Path(given.data_dir), "cpu")
    found: dict[str, dict[str, list[Found]]] = {name: {} for name in names}
    datasets: dict[str, Dataset] = {}
    for run in plan(selection):
        name = run.spec.dataset
        if name not in datasets:
            datasets[name] = load_dataset(run.data, options.data_dir)
        found[name].setdefault(run.label, []).append(find(run, datasets[name], options))
    print("# Labels found without labels\n")
    print(
        "The training rows of a run's split are given to `PartialLabelClassifier` without true "
        "labels, which judge afterwards. *Labels found*: training rows (%) whose true label "
        "`disambiguate` names, by the method's confidence; beside it by its predictions among the "
        "candidates alone. *Equal*: seeds at which the test accuracy is that of the same run of "
        f"`pllbench run`, at its last epoch. Mean ± sample std over n = {given.seeds} seeds. Made "
        "by `python tools/labels_found.py`.\n"
    )
    for name in names:
        print("\n".join(table(name, datasets[name], found[name])))


if __name__ == "__main__":
    main()
