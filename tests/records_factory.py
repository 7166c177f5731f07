"""Records without training: for tests of what reads them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pllbench.candidates.audit import Audit
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import (
    Cell,
    Overrides,
    Protocol,
    default_protocol,
    load_benchmark,
    merge,
)
from pllbench.reports import published
from pllbench.results.records import Provenance, Record, Result, Select, write
from pllbench.spec import CandidateSpec, RunSpec, TrainSpec, ViewSpec

PROTOCOL: Protocol = default_protocol()

FREE = CandidateSpec(process="uniform", q=0.3, policy="free")
"""Another policy than the default."""

RELATIVE = CandidateSpec(process="instance", rule="max")
"""A process without a rate, and with an option."""

AUDIT = Audit(
    num_rows=80,
    num_classes=10,
    mean=3.0,
    min=2,
    max=7,
    singletons=0.0,
    full=0.0,
    without_true=0.0,
    digest="0" * 16,
)


def make_spec(
    method: str = "cc",
    dataset: str = "digits",
    q: float | None = 0.3,
    seed: int = 0,
    *,
    train: Mapping[str, Any] | None = None,
    **fields: Any,
) -> RunSpec:
    """A run as the default protocol resolves it, but for `train` and the named fields.

    `supervised` learns from true labels; no q means real candidate sets.
    """
    learns_from_true = method == "supervised"
    cell = Cell(method, method, dataset, None if learns_from_true else q)
    found: Overrides = merge(s for s in PROTOCOL.setting if s.when.matches(cell))
    candidates = None
    if cell.q is not None:
        candidates = CandidateSpec.parse({"process": "uniform"} | found.candidates | {"q": q})
    settings: dict[str, Any] = {
        "method": method,
        "version": 1,
        "hparams": {},
        "labels": "true" if learns_from_true else "candidates",
        "dataset": dataset,
        "candidates": candidates,
        "seed": seed,
        "train": TrainSpec.parse(found.train | dict(train or {})),
        "views": ViewSpec.parse(found.views),
    }
    return RunSpec(**(settings | fields))


def make_record(
    spec: RunSpec, accuracy: float, others: Mapping[Select, float] | None = None
) -> Record:
    """A record whose accuracy is `accuracy` percent under last10 and last; `others` likewise."""
    percent: dict[Select, float] = {"last10": accuracy, "last": accuracy, "oracle": accuracy}
    percent |= others or {}
    return Record(
        schema=1,
        spec=spec,
        result=Result(
            accuracy={rule: value / 100 for rule, value in percent.items()},
            epoch={"oracle": 0},
            num_train=80,
            num_test=20,
            num_holdout=0,
        ),
        provenance=Provenance(audit=AUDIT),
    )


def make_records(accuracies: Sequence[float], **spec: Any) -> list[Record]:
    """One cell: a record for each accuracy in percent, at seeds 0, 1, ..."""
    return [make_record(make_spec(seed=seed, **spec), a) for seed, a in enumerate(accuracies)]


def one_column(**values: list[float]) -> list[Record]:
    """A cell a method, all in one column."""
    return [
        r for method, accuracies in values.items() for r in make_records(accuracies, method=method)
    ]


def on_other_sets(records: Sequence[Record]) -> list[Record]:
    """The same runs on one other draw of candidate sets, as a data_seed fixes it."""
    other = Provenance(audit=AUDIT.model_copy(update={"digest": "1" * 16}))
    return [record.model_copy(update={"provenance": other}) for record in records]


def make_plan(specs: Sequence[RunSpec], protocol: Protocol = PROTOCOL) -> list[PlannedRun]:
    """Specs as the runs of a selection, under the protocol's labels."""
    return [PlannedRun(s.method, protocol.labels.get(s.method, s.method), s) for s in specs]


def of_benchmark(
    name: str, accuracies: Mapping[tuple[str, float | None], Sequence[float]]
) -> list[Record]:
    """Records of a benchmark's runs: in percent by seed, for some methods and q."""
    planned = plan(Selection(benchmark=load_benchmark(name)))
    return [
        make_record(run.spec, accuracies[run.name, run.spec.q][run.spec.seed])
        for run in planned
        if (run.name, run.spec.q) in accuracies
    ]


def store(results: Path, records: Iterable[Record]) -> Path:
    """Write records into a results folder, with curves that are flat; gives the folder."""
    for record in records:
        num_epochs = record.spec.train.epochs
        accuracy = np.full(num_epochs, record.result.accuracy["last"])
        rates = {
            "class_noise": np.full(num_epochs, 0.2),
            "pairwise_noise": np.full(num_epochs, 0.1),
        }
        write(results, record, {"accuracy": accuracy} | rates)
    return results


def as_published(name: str) -> tuple[list[PlannedRun], list[Record]]:
    """A benchmark's runs, and records with the mean and sample std that the paper prints for them.

    Where it prints none: a std of 1 and a mean of 80, of 81 for the next method, and so on.
    """
    planned = plan(Selection(benchmark=load_benchmark(name)))
    numbers = published.load_all()
    names = list(dict.fromkeys(run.name for run in planned))
    found = {}
    for run in planned:
        spec = run.spec
        process = spec.candidates.process if spec.candidates else "real"
        key = (run.name, spec.dataset, None if spec.labels == "true" else process, spec.q)
        entry = next((entry for entry in numbers if entry.matches(*key)), None)
        mean, std = (entry.mean, entry.sample_std) if entry else (80.0 + names.index(run.name), 1.0)
        place = spec.seed % 100 - 1  # seeds 0, 1, 2 or 100, 101, 102
        found[spec.run_id] = make_record(spec, mean + std * place)
    return planned, list(found.values())
