"""Methods that train on one weak and some strong views of every instance."""

from typing import Literal, TypeVar

from pydantic import Field
from torch import Tensor

from pllbench.method import Hparams, Method, Problem


class ViewHparams(Hparams):
    """Hyperparameters of every method that trains on one weak and some strong views."""

    num_strong: int = Field(default=2, ge=0)
    """Strong views of an instance beside the weak one."""
    view_reduction: Literal["mean", "sum"] = "mean"
    """Mean over views as in the AsyCo paper, or their sum as in its released code."""


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
