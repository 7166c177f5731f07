"""Methods that ask margins of the scores of one plain view, and keep no state."""

from abc import abstractmethod

from torch import Tensor

from pllbench.method import Batch, Hparams, Method, Problem, Step
from pllbench_methods.shared.confidence import restrict


class MarginMethod(Method[Hparams]):
    """A classifier of one view whose loss is a function of scores and candidate sets.

    The squared norm of the weights that such methods add to it is the trainer's weight decay.

    Attributes:
        network: the classifier, linear by the protocol.
    """

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()

    @abstractmethod
    def losses(self, scores: Tensor, candidates: Tensor) -> Tensor:
        """Loss of every instance, [B], from scores and candidate sets [B, C]."""

    def loss(self, batch: Batch) -> Step:
        """The mean over the batch; the pseudo label is the candidate of the highest score."""
        scores: Tensor = self.network(batch.x[0])[0]  # [B, C]
        pseudo = restrict(scores.detach(), batch.candidates).argmax(1)
        return Step(self.losses(scores, batch.candidates).mean(), pseudo)

    def predict(self, x: Tensor) -> Tensor:
        """The classifier's scores [B, C]."""
        scores: Tensor = self.network(x)[0]
        return scores
