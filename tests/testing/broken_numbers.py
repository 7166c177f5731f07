"""Methods that fail at extreme numbers, some set and batch sizes, or that read true labels."""

import inspect
from types import FrameType

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Step, TrainView
from pllbench.training.task import Task
from tests.testing.correct_methods import Minimal, uniform


class NaiveLog(Minimal):
    """log(p) is -inf where p underflows."""

    def loss(self, batch: Batch) -> Step:
        probs = self.network(batch.x[0])[0].softmax(1)
        return Step(-(probs * batch.candidates).sum(1).log().mean())


class NaNGradient(Minimal):
    """A finite loss: `where` hides the infinity, but not from the gradient."""

    def loss(self, batch: Batch) -> Step:
        inside = (self.network(batch.x[0])[0].softmax(1) * batch.candidates).sum(1)
        return Step(-torch.where(inside > 0, inside.log(), 0.0).mean())


class Complementary(Minimal):
    """The mean over wrong labels, of which a full set has none."""

    def loss(self, batch: Batch) -> Step:
        wrong = (~batch.candidates).float()
        probs = self.network(batch.x[0])[0].softmax(1)
        return Step(((probs * wrong).sum(1) / wrong.sum(1)).mean() + super().loss(batch).loss)


class Standardised(Minimal):
    """Divides by the standard deviation over the batch, which one row does not have."""

    def loss(self, batch: Batch) -> Step:
        losses = -self.network(batch.x[0])[0].log_softmax(1)  # [B, C]
        weighted = (uniform(batch.candidates) * losses).sum(1)
        return Step((weighted / losses.detach().mean(1).std()).mean())


class SmallQueue(Minimal):
    """A queue of 32 rows that no batch may exceed."""

    queue: Tensor

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("queue", torch.zeros(32, self.network.num_features))

    def after_step(self, batch: Batch) -> None:
        self.queue[: len(batch.index)] = self.network(batch.x[0])[1]


class LastEpochIsOne(Minimal):
    """A schedule that reaches 1 in the last epoch."""

    def weights(self, batch: Batch) -> Tensor:
        return uniform(batch.candidates) * (0.5 + 0.5 * self.epoch / (self.epochs - 1))


class FrameReader(Minimal):
    """Finds the true labels in the trainer's frame."""

    truth: Tensor

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("truth", problem.candidates.clone())

    def on_epoch_start(self, train: TrainView) -> None:
        frame: FrameType | None = inspect.currentframe()
        while frame is not None:
            task = frame.f_locals.get("task")
            if isinstance(task, Task):
                self.truth.copy_(F.one_hot(task.y, task.candidates.shape[1]))
                return
            frame = frame.f_back

    def weights(self, batch: Batch) -> Tensor:
        return self.truth[batch.index].float()
