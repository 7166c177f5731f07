"""Methods that keep state outside of state_dict, or state that cannot be loaded."""

import copy

import numpy as np
import torch
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Step, TrainView
from tests.testing.correct_methods import Minimal, uniform


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
        return uniform(batch.candidates) * np.random.uniform(0.9, 1.1)  # noqa: NPY002 - the global one


class RestartsOnce(Minimal):
    """It remembers in an attribute whether it has restarted."""

    restarted = False

    def restarts(self) -> bool:
        now = self.epoch > 1 and not self.restarted
        self.restarted |= now
        return now


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
