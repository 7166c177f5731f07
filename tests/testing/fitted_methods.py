"""A correct method without gradient, and methods that are wrong in one respect."""

import inspect
from collections.abc import Iterator
from types import FrameType

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench.method import Batch, FittedMethod, Hparams, Problem, TrainView
from pllbench.training.task import Task
from tests.testing.broken_state import Memory
from tests.testing.correct_methods import uniform


class Centroids(FittedMethod[Hparams]):
    """The nearest of the classes' means; a row counts for each of its candidates alike."""

    centroids: Tensor

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        [num_features] = problem.shape
        self.register_buffer("centroids", torch.zeros(problem.num_classes, num_features))

    def fit(self, train: TrainView) -> Tensor | None:
        batches = list(train.batches())
        rows = torch.cat([batch.x[0] for batch in batches])
        candidates = torch.cat([batch.candidates for batch in batches])
        weights = self.weights(rows, candidates)
        total = weights.sum(0)[:, None]
        self.centroids.copy_(weights.T @ rows / torch.where(total > 0, total, 1.0))
        return self.pseudo(rows, candidates)

    def weights(self, rows: Tensor, candidates: Tensor) -> Tensor:
        """Weights [N, C] of the rows in the classes' means."""
        return uniform(candidates)

    def pseudo(self, rows: Tensor, candidates: Tensor) -> Tensor | None:
        """What `fit` returns."""
        return self.predict(rows).masked_fill(~candidates, -torch.inf).argmax(1)

    def predict(self, x: Tensor) -> Tensor:
        return -torch.cdist(x, self.centroids, compute_mode="donot_use_mm_for_euclid_dist")


class Reference(Centroids):
    """Learns from true labels."""

    labels = "true"


class Silent(Centroids):
    """Makes no pseudo labels, and calls classes far behind the best impossible."""

    def pseudo(self, rows: Tensor, candidates: Tensor) -> None:
        return None

    def predict(self, x: Tensor) -> Tensor:
        scores = super().predict(x)
        return scores.masked_fill(scores < scores.amax(1, keepdim=True) - 5, -torch.inf)


class StateInFit(Centroids):
    """Has its state from `fit` alone, so a fresh instance cannot take it."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("centroids", torch.zeros(0))

    def fit(self, train: TrainView) -> Tensor | None:
        batch = next(iter(train.batches()))
        shape = batch.candidates.shape[1], batch.x[0].shape[1]
        self.register_buffer("centroids", torch.zeros(shape))
        return super().fit(train)


class PlainState(Centroids):
    """An attribute holds what it has learned."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.bias = torch.zeros(problem.num_classes)

    def weights(self, rows: Tensor, candidates: Tensor) -> Tensor:
        self.bias = uniform(candidates).mean(0)
        return super().weights(rows, candidates)

    def predict(self, x: Tensor) -> Tensor:
        return super().predict(x) + 0.01 * self.bias


class PlainNumber(Centroids):
    num_fitted = 0

    def weights(self, rows: Tensor, candidates: Tensor) -> Tensor:
        self.num_fitted = len(rows)
        return super().weights(rows, candidates)


class ForeignState(Centroids):
    """Its state_dict holds what weights_only=True refuses."""

    def get_extra_state(self) -> Memory:
        return Memory()

    def set_extra_state(self, state: object) -> None:
        assert isinstance(state, Memory)


class PseudoOutside(Centroids):
    def pseudo(self, rows: Tensor, candidates: Tensor) -> Tensor:
        return (~candidates).long().argmax(1)


class PseudoColumn(Centroids):
    def pseudo(self, rows: Tensor, candidates: Tensor) -> Tensor:
        return candidates.long().argmax(1, keepdim=True)


class Majority(Centroids):
    def predict(self, x: Tensor) -> Tensor:
        return super().predict(x) * 0 + torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0])


class BatchCentred(Centroids):
    def predict(self, x: Tensor) -> Tensor:
        scores = super().predict(x)
        return scores - scores.mean(0)


class NumpyGlobal(Centroids):
    def weights(self, rows: Tensor, candidates: Tensor) -> Tensor:
        noise = np.random.uniform(0.9, 1.1, candidates.shape)  # noqa: NPY002 - the global one
        return super().weights(rows, candidates) * torch.from_numpy(noise).float()


class FirstBatch(Centroids):
    """Learns from the first batch."""

    def fit(self, train: TrainView) -> Tensor | None:
        first = next(iter(train.batches()))

        class Part(TrainView):
            def batches(self) -> Iterator[Batch]:
                yield first

        super().fit(Part())
        return None  # the other rows have none


class SmallSets(Centroids):
    """Learns from rows with less than three candidates, and divides by their number."""

    def weights(self, rows: Tensor, candidates: Tensor) -> Tensor:
        small = (candidates.sum(1) < 3).float()
        return uniform(candidates) * (small / small.sum())[:, None]


class Cosine(Centroids):
    """Divides by the norm of a row."""

    def weights(self, rows: Tensor, candidates: Tensor) -> Tensor:
        unit: Tensor = rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        return uniform(candidates) * unit.amax(1, keepdim=True)


class FrameReader(Centroids):
    """Finds the true labels in the trainer's frame."""

    def weights(self, rows: Tensor, candidates: Tensor) -> Tensor:
        frame: FrameType | None = inspect.currentframe()
        while frame is not None:
            task = frame.f_locals.get("task")
            if isinstance(task, Task):
                weights: Tensor = F.one_hot(task.y, candidates.shape[1]).float()
                return weights
            frame = frame.f_back
        return super().weights(rows, candidates)
