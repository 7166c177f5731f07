"""Methods that change what they are given, or the process that they run in."""

import os
import sys
from collections.abc import Mapping

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor
from torch.nn.modules.module import register_module_forward_pre_hook

from pllbench.method import Batch, Hparams, Problem, Step, TrainView
from tests.testing.correct_methods import Minimal
from tests.testing.fitted_methods import Centroids


class ScalesBatch(Minimal):
    """Scales the rows of its batch in place."""

    def loss(self, batch: Batch) -> Step:
        batch.x[0].mul_(0.5)
        return super().loss(batch)


class GrowsSets(Minimal):
    """Makes full sets of the larger ones of its batch."""

    def after_step(self, batch: Batch) -> None:
        batch.candidates[batch.candidates.sum(1) > 2] = True


class GrowsSetsAtStart(Minimal):
    """Fills the sets that it is shown before an epoch."""

    def on_epoch_start(self, train: TrainView) -> None:
        for batch in train.batches():
            batch.candidates.fill_(True)


class ScalesTraining(Centroids):
    """Scales the rows that it is fitted to in place."""

    def fit(self, train: TrainView) -> Tensor | None:
        pseudo = super().fit(train)
        for batch in list(train.batches()):
            batch.x[0].mul_(0.5)
        return pseudo


class ScalesRows(Minimal):
    """Scales the rows that it predicts in place; the second time they are as it wants them."""

    def predict(self, x: Tensor) -> Tensor:
        return super().predict(x.clamp_(max=8.0))


class ScalesRowsOfHeads(Minimal):
    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        return {"half": self.predict(x.mul_(0.5))}


class Leaves(Minimal):
    """Changes its process at the end of its second epoch."""

    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        if self.epoch == 1:
            self.leave()
        return {}

    def leave(self) -> None:
        raise NotImplementedError


class LeavesDtype(Leaves):
    def leave(self) -> None:
        torch.set_default_dtype(torch.float64)


class LeavesDevice(Leaves):
    def leave(self) -> None:
        torch.set_default_device("meta")


class LeavesGradMode(Minimal):
    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        torch.set_grad_enabled(False)


class LeavesThreads(Leaves):
    def leave(self) -> None:
        torch.set_num_threads(torch.get_num_threads() + 1)


class LeavesDeterminism(Leaves):
    def leave(self) -> None:
        torch.use_deterministic_algorithms(True)


class LeavesHook(Leaves):
    def leave(self) -> None:
        register_module_forward_pre_hook(lambda module, inputs: None)


class LeavesPatch(Leaves):
    def leave(self) -> None:
        F.softmax = F.softmin


class LeavesDirectory(Leaves):
    def leave(self) -> None:
        os.chdir("/")


class LeavesEnvironment(Leaves):
    def leave(self) -> None:
        os.environ["BROKEN_EFFECTS"] = "yes"


class Forks(Minimal):
    """Its children would go on beside it."""

    def predict(self, x: Tensor) -> Tensor:
        os.fork()
        return super().predict(x)


class Exits(Minimal):
    """Ends the process, as if all were well."""

    def predict(self, x: Tensor) -> Tensor:
        sys.exit(0)


class ExitsAtOnce(Minimal):
    def predict(self, x: Tensor) -> Tensor:
        os._exit(0)
