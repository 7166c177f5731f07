"""Runs that train within milliseconds: a small data set, its specs, and a method with state.

Letters in shape comments: N instances, B batch, C classes, V views.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pllbench.data.dataset import Dataset
from pllbench.method import Batch, Hparams, Method, Problem, Step
from pllbench.spec import CandidateSpec, RunSpec, TrainSpec, ViewSpec
from pllbench.training.task import Task, make_task
from pllbench.views.roles import Statistics, Views, statistics

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
    return Dataset(name, x, y, NUM_CLASSES)


def make_spec(
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


def make_views(x: Tensor, *, kind: str = "tabular", **settings: Any) -> Views:
    """Views with the statistics of x [N, features]."""
    stats: Statistics = statistics(x)
    return Views(kind, ViewSpec.parse(settings), stats)  # type: ignore[arg-type]
