"""Why methods without a network differ from VALEN's table: other rows, another weight decay.

    python -m tools.unit_rows > results/unit_rows.md

Folds, seeds and settings are those of the benchmark valen_real but for what a line of the page
names.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import Normalizer, StandardScaler

from pllbench import PartialLabelClassifier
from pllbench.data.dataset import load_dataset, split
from pllbench.data.readers.base import Dataset
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.reports.published import load_source
from pllbench.reports.row_labels import settings_in
from pllbench.reports.statistics import mean_std
from pllbench.reports.table import dataset_title, format_mean

Array = npt.NDArray[np.float32]

AS_THEY_ARE, Z_SCORED, UNIT = "as they are", "z-scored", "z-scored, then of length 1"

CHECKS = (
    *(("ipal", rows, {}) for rows in (Z_SCORED, AS_THEY_ARE, UNIT)),
    *(("pl_knn", rows, {}) for rows in (Z_SCORED, AS_THEY_ARE, UNIT)),
    *(("clpl", rows, {}) for rows in (Z_SCORED, UNIT)),
    *(("pl_svm", rows, {}) for rows in (Z_SCORED, UNIT)),
    ("pl_svm", Z_SCORED, {"weight_decay": 1.0}),
    *(("cc", rows, {}) for rows in (Z_SCORED, UNIT)),
)
"""Method, its rows, and train settings other than those of the benchmark."""


def scaled(train: Array, test: Array, rows: str) -> tuple[Array, Array]:
    """Rows of a fold as a check has them."""
    if rows == AS_THEY_ARE:
        return train, test
    scaler = StandardScaler().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    if rows == Z_SCORED:
        return train, test
    unit = Normalizer()
    return unit.transform(train), unit.transform(test)


def accuracy(run: PlannedRun, dataset: Dataset, rows: str, changed: Mapping[str, float]) -> float:
    """Test accuracy in percent, at the last epoch."""
    spec = run.spec
    assert dataset.candidates is not None
    x, sets, y = dataset.x.numpy(), dataset.candidates.numpy(), dataset.y.numpy()
    train, test = (part.numpy() for part in split(dataset, spec.seed, folds=spec.folds))
    inside, outside = scaled(x[train], x[test], rows)
    settings = {**spec.train.model_dump(include=set(_SETTINGS)), **changed} if spec.gradient else {}
    if settings and rows == UNIT:
        settings["lr"] *= x.shape[1]
    model = PartialLabelClassifier(
        spec.method,
        train=settings,
        views={"scaling": "none"},
        random_state=spec.seed,
        device="cpu",
    )
    return 100 * model.fit(inside, sets[train]).score(outside, y[test])


def table(name: str, data_dir: Path) -> Iterator[str]:
    """The lines of a data set."""
    published = {
        entry.method: format_mean(entry.mean, entry.std)
        for entry in load_source("valen")["valen_real"]
        if entry.dataset == name
    }
    yield from (f"## {dataset_title(name)}", "")
    yield from (
        "| method | rows | changed | accuracy | published |",
        "| :-- | :-- | :-- | --: | --: |",
    )
    for method, rows, changed in CHECKS:
        runs = plan(Selection(load_benchmark("valen_real"), methods=(method,), datasets=(name,)))
        dataset = load_dataset(runs[0].data, data_dir)
        found = mean_std([accuracy(run, dataset, rows, changed) for run in runs])
        settings = ", ".join(f"{key}={value:g}" for key, value in changed.items())
        numbers = f"{format_mean(found.mean, found.std)} | {published[method]}"
        yield f"| {settings_in(runs[0].label)[0]} | {rows} | {settings} | {numbers} |"
    yield ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table a data set, as Markdown."""
    parser = argparse.ArgumentParser(description="Other rows than those of VALEN's table here.")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("PLLBENCH_DATA", "data"))
    data_dir = parser.parse_args(arguments).data_dir
    print("# Other rows than those of VALEN's table here\n")
    print(*_NOTE, sep="\n")
    for name in ("lost", "msrcv2", "birdsong"):
        print("\n".join(table(name, data_dir)))


_SETTINGS = ("network", "epochs", "batch_size", "lr", "weight_decay", "milestones")

_NOTE = (
    "`python -m tools.unit_rows > results/unit_rows.md`. Folds, seeds and settings are those of",
    "the benchmark `valen_real`. Test accuracy (%) at the last epoch, mean ± sample std (ddof = 1)",
    "over five folds. Columns are z-scored by the training rows. Where rows have length 1, the",
    "learning rate is D times as high: the squared length of a z-scored row is D on average, so",
    "that a step moves a score as far.",
    "",
)

if __name__ == "__main__":
    main()
