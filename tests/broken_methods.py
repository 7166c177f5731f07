"""Correct methods, and methods that are wrong in one respect: what the suite must tell apart."""

import copy
import inspect
from collections.abc import Mapping
from types import FrameType

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import ConfigDict
from torch import Tensor

from pllbench.method import Batch, Hparams, Method, Problem, Step, TrainView
from pllbench.task import Task


def uniform(candidates: Tensor) -> Tensor:
    return candidates / candidates.sum(1, keepdim=True)


# Correct methods.


class Minimal(Method[Hparams]):
    """The smallest plug-in: cross entropy with equal weights on the candidates."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()

    def loss(self, batch: Batch) -> Step:
        log_probs = self.network(batch.x[0])[0].log_softmax(1)
        return Step(-(self.weights(batch) * log_probs).sum(1).mean())

    def weights(self, batch: Batch) -> Tensor:
        """Weights of the candidates [B, C]; what most of the broken methods break."""
        return uniform(batch.candidates)

    def predict(self, x: Tensor) -> Tensor:
        scores: Tensor = self.network(x)[0]
        return scores


class Supervised(Minimal):
    """A reference that learns from true labels, and is given nothing else."""

    labels = "true"

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        assert bool((problem.candidates.sum(1) == 1).all()), "one label a row"
        super().__init__(problem, hparams)


class FullHparams(Hparams):
    dropout: float = 0.1
    """Share of features that a step leaves out."""
    decay: tuple[float, ...] = (0.9, 0.5)
    """Share of the confidence that a step keeps, before and after half of the run."""


class Full(Method[FullHparams]):
    """Uses everything that the contract allows."""

    hparams_type = FullHparams
    version = 3
    confidence: Tensor
    num_steps: Tensor
    plain_scores: Tensor

    def __init__(self, problem: Problem, hparams: FullHparams) -> None:
        super().__init__(problem, hparams)
        self.problem = problem
        self.make_network = problem.make_network
        self.network, self.peer = problem.make_network(), problem.make_network()
        self.register_buffer("confidence", uniform(problem.candidates))
        self.register_buffer("num_steps", torch.tensor(0))
        self.register_buffer("plain_scores", torch.full(problem.candidates.shape, float("nan")))
        self.decay = hparams.decay[0]

    @property
    def views(self) -> tuple[str, ...]:
        return ("weak", "strong", "query", "key", "strong")

    def on_epoch_start(self, train: TrainView) -> None:
        self.decay = self.hparams.decay[2 * self.epoch >= self.epochs]
        for batch in train.batches():
            self.plain_scores[batch.index] = self.network(batch.x[0])[0]

    def loss(self, batch: Batch) -> Step:
        dropped = [F.dropout(x, self.hparams.dropout) for x in batch.x]
        logits = self.network.views(dropped)[0].mean(0)
        target = self.confidence[batch.index]
        loss = -(target * (logits.log_softmax(1) + self.peer(batch.x[0])[0].log_softmax(1)))
        fresh = logits.detach().masked_fill(~batch.candidates, -torch.inf).softmax(1)
        self.confidence[batch.index] = fresh.lerp(target, self.decay)
        return Step(loss.sum(1).mean(), target.argmax(1), {"peak": target.amax(1).mean()})

    def after_step(self, batch: Batch) -> None:
        self.num_steps.add_(1)

    def predict(self, x: Tensor) -> Tensor:
        scores: Tensor = self.network(x)[0]
        return scores

    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        return {"peer": self.peer(x)[0]}


# Broken declarations.


class VersionZero(Minimal):
    version = 0


class UnknownLabels(Minimal):
    labels = "both"  # type: ignore[assignment]


class UndocumentedHparams(Hparams):
    alpha: float = 1.0


class Undocumented(Minimal):
    hparams_type = UndocumentedHparams


class ThawedHparams(Hparams):
    model_config = ConfigDict(frozen=False)


class Thawed(Minimal):
    hparams_type = ThawedHparams


class RequiredHparams(Hparams):
    alpha: float
    """It has no default."""


class Required(Minimal):
    hparams_type = RequiredHparams


class UnknownView(Minimal):
    @property
    def views(self) -> tuple[str, ...]:
        return ("weak", "stronk")


# Broken steps.


class PseudoOutside(Minimal):
    """The pseudo label is the best of all classes, not of the candidates."""

    def loss(self, batch: Batch) -> Step:
        return Step(super().loss(batch).loss, self.network(batch.x[0])[0].argmax(1))


class NoisyPseudo(PseudoOutside):
    """Right: it says that the sets may lack the true label."""

    noisy_candidates = True


class PseudoNoClass(Minimal):
    """Its pseudo labels count from -1."""

    noisy_candidates = True

    def loss(self, batch: Batch) -> Step:
        return Step(super().loss(batch).loss, self.network(batch.x[0])[0].argmax(1) - 1)


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


class WritesToProblem(Minimal):
    """Takes wrong candidates out of the sets that belong to the trainer."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.problem = problem

    def after_step(self, batch: Batch) -> None:
        best = self.network(batch.x[0])[0].masked_fill(~batch.candidates, -torch.inf).argmax(1)
        self.problem.candidates[batch.index] = F.one_hot(best, self.problem.num_classes).bool()


class NoGradient(Minimal):
    def loss(self, batch: Batch) -> Step:
        return Step(super().loss(batch).loss.detach())


# Broken learning and predictions.


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


# State outside of state_dict.


class PlainConfidence(Minimal):
    """The confidence is an attribute, as in many a published code."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.confidence = uniform(problem.candidates)

    def weights(self, batch: Batch) -> Tensor:
        return self.confidence[batch.index]

    def after_step(self, batch: Batch) -> None:
        scores = self.network(batch.x[0])[0].masked_fill(~batch.candidates, -torch.inf)
        self.confidence[batch.index] = scores.softmax(1)


class PlainConstant(Minimal):
    """Not wrong yet: but `.to(device)` forgets it, and nobody sees that it must not change."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.tables = {"weights": [uniform(problem.candidates).numpy()]}


class UnsavedBuffer(Minimal):
    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("weight", torch.ones(()), persistent=False)


class StepCounter(Minimal):
    """A warm-up in steps, counted in an attribute."""

    num_steps = 0

    def weights(self, batch: Batch) -> Tensor:
        self.num_steps += 1
        return uniform(batch.candidates) * min(self.num_steps / 10, 1.0)


class IdleCounter(Minimal):
    """Nothing depends on the count within so short a run."""

    num_steps = 0

    def weights(self, batch: Batch) -> Tensor:
        self.num_steps += 1
        return uniform(batch.candidates) * min(10_000 / self.num_steps, 1.0)


class History(Minimal):
    """State in a list of numbers."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.history = [1.0]

    def loss(self, batch: Batch) -> Step:
        loss = super().loss(batch).loss
        step = Step(loss / max(self.history))
        self.history.append(loss.item())
        return step


class PlainModules(Minimal):
    """A second network in a list: neither trained nor saved."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.teachers = [copy.deepcopy(self.network)]

    def weights(self, batch: Batch) -> Tensor:
        scores = self.teachers[0](batch.x[0])[0].detach()
        return uniform(batch.candidates).lerp(
            scores.masked_fill(~batch.candidates, -torch.inf).softmax(1), 0.1
        )


class NumpyGenerator(Minimal):
    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.rng = np.random.default_rng(0)

    def weights(self, batch: Batch) -> Tensor:
        return uniform(batch.candidates) * self.rng.uniform(0.9, 1.1)


class NumpyGlobal(Minimal):
    def weights(self, batch: Batch) -> Tensor:
        return uniform(batch.candidates) * np.random.uniform(0.9, 1.1)  # noqa: NPY002


class LateBuffer(Minimal):
    """A buffer that a fresh instance does not have."""

    def on_epoch_start(self, train: TrainView) -> None:
        self.register_buffer("late", torch.zeros(()))


class Memory:
    """An object that torch.load takes for code."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory)

    __hash__ = None  # type: ignore[assignment]


class ForeignState(Minimal):
    """Its state_dict is complete, but holds what weights_only=True refuses."""

    def get_extra_state(self) -> Memory:
        return Memory()

    def set_extra_state(self, state: object) -> None:
        assert isinstance(state, Memory)


# Numbers and shapes.


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
