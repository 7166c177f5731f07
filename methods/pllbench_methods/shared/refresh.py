"""Confidence that is renewed after the optimizer's step, from a second pass of the batch."""

from abc import abstractmethod
from typing import Literal, TypeVar

from torch import Tensor

from pllbench.method import Batch
from pllbench_methods.shared.confidence import ConfidenceMethod
from pllbench_methods.shared.views import ViewHparams


class RefreshHparams(ViewHparams):
    """Hyperparameters of every method with a second pass."""

    refresh_bn: Literal["train", "eval"] = "train"
    """BatchNorm in the second pass: train, as released, updates its running statistics again."""


R = TypeVar("R", bound=RefreshHparams)


class PostStepMethod(ConfidenceMethod[R]):
    """A multi-view method whose confidence comes from the weights after the instance's step."""

    @abstractmethod
    def renewed(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """The new rows [B, C] of the confidence, from logits [V, B, C] of the updated network."""

    def after_step(self, batch: Batch) -> None:
        """Renew the confidence of the batch from the updated network."""
        self.network.train(self.hparams.refresh_bn == "train")
        logits, _ = self.network.views(batch.x)
        self.network.train()
        self.renew(batch.index, self.renewed(logits, batch.candidates))
