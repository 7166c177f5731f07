"""Made for tests: runs that train within milliseconds, and records without any training.

Letters in shape comments: N instances, B batch, C classes, V views.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pllbench.candidates.audit import Audit
from pllbench.data.catalogue import DATASETS, dataset_info
from pllbench.data.readers.base import Dataset
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import GridCell, Protocol, Setting, default_protocol, merge
from pllbench.method import Batch, Hparams, Method, Problem, Step
from pllbench.reports import published
from pllbench.results.curves import Curves
from pllbench.results.model_selection import Select
from pllbench.results.records import Provenance, Record, Result, write_record
from pllbench.runner.job import Job, RunOptions
from pllbench.spec import CandidateSpec, Kind, RunSpec, TrainSpec, ViewSpec
from pllbench.training.task import Task, make_task
from pllbench.views.roles import Views
from pllbench.views.scaling import statistics

CPU = torch.device("cpu")

NUM_CLASSES = 4


class ToyHparams(Hparams):
    """Hyperparameters of the toy method."""

    num_strong: int = 1
    """Strong views beside the weak one."""
    jitter: float = 0.1
    """Sigma of noise that the method draws itself, from torch's global generator."""


class Toy(Method[ToyHparams]):
    """Self-training on candidates: it keeps a buffer, draws noise, and logs in odd epochs only."""

    hparams_type = ToyHparams
    confidence: Tensor

    def __init__(self, problem: Problem, hparams: ToyHparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()
        sets = problem.candidates.float()
        self.register_buffer("confidence", sets / sets.sum(1, keepdim=True))

    @property
    def views(self) -> tuple[str, ...]:
        return ("weak", *("strong",) * self.hparams.num_strong)

    def loss(self, batch: Batch) -> Step:
        logits = self.network.views(batch.x)[0].mean(0)  # [B, C]
        logits = logits + self.hparams.jitter * torch.randn_like(logits)
        target = self.confidence[batch.index]  # [B, C]
        inside = logits.detach().softmax(1) * batch.candidates
        self.confidence[batch.index] = inside / inside.sum(1, keepdim=True)
        loss = -(target * logits.log_softmax(1)).sum(1).mean()
        logs = {"odd": loss.detach()} if self.epoch % 2 else {}
        return Step(loss, target.argmax(1), logs)

    def predict(self, x: Tensor) -> Tensor:
        scores: Tensor = self.network(x)[0]
        return scores


def make_dataset(
    num_rows: int = 60, num_features: int = 5, *, name: str = "digits", seed: int = 0
) -> Dataset:
    """Noisy clusters, one a class; with a text set's name, rows of word counts."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(NUM_CLASSES, (num_rows,), generator=generator)
    x = torch.randn(num_rows, num_features, generator=generator)
    x[:, :NUM_CLASSES] += 2.0 * torch.nn.functional.one_hot(y, NUM_CLASSES)
    if name == "cnae9":
        x = x.clamp(min=0).mul(4).round()
    return Dataset(dataset_info(name), x, y, NUM_CLASSES)


def make_toy_spec(
    *,
    train: Mapping[str, Any] | None = None,
    views: Mapping[str, Any] | None = None,
    **fields: Any,
) -> RunSpec:
    """A run of `Toy` on `make_dataset`, but for the given fields."""
    settings: dict[str, Any] = {
        "method": "toy",
        "version": 1,
        "hparams": {},
        "dataset": "digits",
        "candidates": CandidateSpec(process="uniform", q=0.4),
        "seed": 0,
        "train": TrainSpec.parse({"epochs": 4, "batch_size": 16} | dict(train or {})),
        "views": ViewSpec.parse(views or {}),
    }
    return RunSpec.parse(settings | fields)


def make_small_task(spec: RunSpec, dataset: Dataset | None = None) -> Task:
    """The tensors of a run on `dataset`."""
    return make_task(spec, dataset or make_dataset(name=spec.dataset), CPU)


def plan_lost(*methods: str, seeds: Sequence[int] = (0,), **train: Any) -> list[PlannedRun]:
    """Runs on the data set `lost`, of one epoch but for the given train settings."""
    flags = (Setting(reason="--train", train={"epochs": 1} | train),)
    return plan(Selection(methods=methods, datasets=("lost",), seeds=tuple(seeds), flags=flags))


def make_jobs(data_dir: Path, planned: Sequence[PlannedRun]) -> list[Job]:
    """Jobs on the CPU, without checkpoints; data sets lie below `data_dir`."""
    options = RunOptions(data_dir / "results", data_dir, "cpu")
    return [Job(run.spec, run.data, options) for run in planned]


def make_views(x: Tensor, *, kind: Kind = "tabular", **settings: Any) -> Views:
    """Views with the statistics of x [N, features]."""
    return Views(kind, ViewSpec.parse(settings), statistics(x))


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
    rate = None if learns_from_true else q
    cell = GridCell(method, method, dataset, DATASETS[dataset].kind, rate)
    found = merge(PROTOCOL.applicable_settings(cell), cell.kind)
    candidates = None
    if rate is not None:
        candidates = CandidateSpec.parse({"process": "uniform"} | found.candidates | {"q": rate})
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


CURVES: Curves = {
    "accuracy": np.array([0.25, 0.5, 0.75]),
    "log_late": np.array([np.nan, 1 / 4, 2.0**-100]),
}
"""Per-epoch columns of three epochs, in the precision that is stored."""


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
    labels = protocol.labels
    return [
        PlannedRun(s.method, labels.get(s.method, s.method), s, dataset_info(s.dataset))
        for s in specs
    ]


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
        write_record(results, record, {"accuracy": accuracy} | rates)
    return results


def as_published(name: str) -> tuple[list[PlannedRun], list[Record]]:
    """A benchmark's runs, and records with the mean and sample std that the paper prints for them.

    Where it prints none: a std of 1 and a mean of 80, of 81 for the next method, and so on to 95,
    after which it is 80 again.
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
        mean, std = 80.0 + names.index(run.name) % 16, 1.0
        if entry:
            assert entry.sample_std is not None, "the paper prints a spread for every number"
            mean, std = entry.mean, entry.sample_std
        place = spec.seed % 100 - 1  # seeds 0, 1, 2 or 100, 101, 102
        found[spec.run_id] = make_record(spec, mean + std * place)
    return planned, list(found.values())
