"""Methods whose declaration, step, learning or prediction is wrong in one respect."""

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import ConfigDict
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Schedule, Step
from tests.testing.correct_methods import Minimal


class VersionZero(Minimal):
    version = 0


class UnknownLabels(Minimal):
    labels = "both"  # type: ignore[assignment]


class UnknownFamily(Minimal):
    family = "losses"  # type: ignore[assignment]


class UndocumentedHparams(Hparams):
    alpha: float = 1.0


class Undocumented(Minimal):
    hparams_type = UndocumentedHparams


class NotFrozenHparams(Hparams):
    model_config = ConfigDict(frozen=False)


class NotFrozen(Minimal):
    hparams_type = NotFrozenHparams


class RequiredHparams(Hparams):
    alpha: float
    """It has no default."""


class Required(Minimal):
    hparams_type = RequiredHparams


class UnknownView(Minimal):
    @property
    def views(self) -> tuple[str, ...]:
        return ("weak", "stronk")


class RestartsByTensor(Minimal):
    """Every epoch waits for the device."""

    def restarts(self) -> bool:
        return torch.tensor(self.epoch) > 0  # type: ignore[return-value]


class ConfidentOfOneRow(Minimal):
    """Its confidence has a row too few."""

    def training_confidence(self) -> Tensor:
        return torch.ones(1, 5)


class NegativelyConfident(Minimal):
    """Its confidence is of both signs."""

    def training_confidence(self) -> Tensor:
        return torch.full((32, 5), -1.0)


class PseudoOutside(Minimal):
    """The pseudo label is the best of all classes, not of the candidates."""

    def loss(self, batch: Batch) -> Step:
        return Step(super().loss(batch).loss, self.network(batch.x[0])[0].argmax(1))


class PseudoNoClass(Minimal):
    """Its pseudo labels count from -1."""

    noisy_candidates = True

    def loss(self, batch: Batch) -> Step:
        return Step(super().loss(batch).loss, self.network(batch.x[0])[0].argmax(1) - 1)


class OtherwiseCompiled(Minimal):
    """A compiler sees another loss than Python does."""

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        return replace(step, loss=2 * step.loss) if torch.compiler.is_compiling() else step


class AsksForItsLoss(Minimal):
    """A step of a GPU waits here until the loss is known."""

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        return replace(step, loss=step.loss if step.loss.item() > 0 else 0 * step.loss)


class DrawsOnTheCPU(Minimal):
    """A CUDA graph would weigh all batches as the one with which it was captured."""

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        return replace(step, loss=step.loss * (0.5 + torch.rand(()).item()))


class InfiniteSchedule(Minimal):
    """Its schedule, which no loss reads, has a pole at the middle of a run."""

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        return {"pole": lambda epoch: math.inf if epoch == 100 else 1.0}


class PseudoColumn(Minimal):
    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        return Step(step.loss, batch.candidates.long().argmax(1).flip(0).sort().values[:1])


class LogWithGradient(Minimal):
    def loss(self, batch: Batch) -> Step:
        loss = super().loss(batch).loss
        return Step(loss, logs={"again": loss})


class LossOfOneElement(Minimal):
    def loss(self, batch: Batch) -> Step:
        return Step(super().loss(batch).loss[None])


class NoGradient(Minimal):
    def loss(self, batch: Batch) -> Step:
        return Step(super().loss(batch).loss.detach())


class Majority(Minimal):
    """Always predicts class 0, which is the most frequent one."""

    def predict(self, x: Tensor) -> Tensor:
        return super().predict(x) * 0 + torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0])


class WrongWay(Minimal):
    """Learns that the label is no candidate."""

    def weights(self, batch: Batch) -> Tensor:
        return (~batch.candidates).float()


class OneColumnMore(Minimal):
    """Has a score for "none of these"."""

    def predict(self, x: Tensor) -> Tensor:
        return F.pad(super().predict(x), (0, 1), value=-100.0)


class BatchCentred(Minimal):
    """Scores of a row depend on the rows beside it."""

    def predict(self, x: Tensor) -> Tensor:
        scores = super().predict(x)
        return scores - scores.mean(0)


class Squeezed(Minimal):
    """Loses the dimension of a batch of one row."""

    def predict(self, x: Tensor) -> Tensor:
        return super().predict(x).squeeze()


class RandomScores(Minimal):
    def predict(self, x: Tensor) -> Tensor:
        scores = super().predict(x)
        return scores + 0.01 * torch.rand_like(scores)


class CountsPredictions(Minimal):
    count: Tensor

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("count", torch.tensor(0))

    def predict(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return super().predict(x)


class ShortExtra(Minimal):
    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        return {"half": self.predict(x)[:, :2]}


class OtherPredictions(Minimal):
    """Evaluation would see other scores than those of `predict`."""

    def predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        return {"": 2 * self.predict(x)}
