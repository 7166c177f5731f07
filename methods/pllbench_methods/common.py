"""What the multi-view methods share: their views, and how losses of views combine."""

import math
from collections.abc import Mapping
from typing import Literal, TypeVar

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Method, Problem
from pllbench_methods.losses import ramp


class ViewHparams(Hparams):
    """Hyperparameters of every method that trains on one weak and some strong views."""

    num_strong: int = Field(default=2, ge=0)
    """Strong views of an instance beside the weak one."""
    view_reduction: Literal["mean", "sum"] = "mean"
    """Mean over views as in the AsyCo paper, or their sum as in its released code."""


class DisambiguationHparams(ViewHparams):
    """Hyperparameters of AsyCo's disambiguation loss and of its schedule."""

    tau: float = Field(default=20.0, gt=0)
    """Temperature of every softmax, in both networks and in the confidence (Eq. 4)."""
    lambda_max: float = Field(default=1.0, ge=0)
    """lambda of Eq. 9: what gamma, the weight of all losses but L_cc and L_ssl, rises to."""
    gamma_cap: float = Field(default=1.0, ge=0, le=1)
    """Share of lambda_max at which gamma stops; the released code stops at 0.5."""
    ramp_epochs: float = Field(default=100.0, gt=0)
    """T of Eq. 9: reference epochs in which gamma rises to lambda_max, were it not capped."""
    warmup: float = Field(default=20.0, ge=0)
    """Reference epochs before the networks learn from each other."""

    def gamma(self, epoch: float) -> float:
        """Balancing factor at a reference epoch (Eq. 9)."""
        return self.lambda_max * min(ramp(epoch, self.ramp_epochs), self.gamma_cap)


V = TypeVar("V", bound=ViewHparams)


class MultiViewMethod(Method[V]):
    """A method whose batches hold the weak view first and `num_strong` strong ones after it.

    Attributes:
        network: the network that is trained and predicts.
    """

    def __init__(self, problem: Problem, hparams: V) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()

    @property
    def views(self) -> tuple[str, ...]:
        """The weak view, then the strong ones."""
        return ("weak", *("strong",) * self.hparams.num_strong)

    def reduce_views(self, losses: Tensor) -> Tensor:
        """Mean over the batch, mean or sum over the views: [..., V, B] -> [...]."""
        if self.hparams.view_reduction == "sum":
            return losses.mean(-1).sum(-1)
        return losses.mean((-2, -1))

    def predict(self, x: Tensor) -> Tensor:
        """The network's logits [B, C]."""
        logits: Tensor = self.network(x)[0]
        return logits


class PeerMethod(MultiViewMethod[V]):
    """A multi-view method of two networks of equal rank, initialised differently, on equal batches.

    Attributes:
        peer: the second network.
    """

    def __init__(self, problem: Problem, hparams: V) -> None:
        super().__init__(problem, hparams)
        self.peer = problem.make_network()

    def both_logits(self, batch: Batch) -> Tensor:
        """Logits of both networks on all views, [2, V, B, C]."""
        return torch.stack([self.network.views(batch.x)[0], self.peer.views(batch.x)[0]])

    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        """Scores of the second network, and the log of the mean of both networks' probabilities."""
        peer: Tensor = self.peer(x)[0]
        both = torch.stack([self.predict(x).log_softmax(-1), peer.log_softmax(-1)])  # [2, B, C]
        return {"peer": peer, "ensemble": both.logsumexp(0) - math.log(2)}
