"""Methods that are one loss of the network's logits and keep no state between steps."""

from abc import abstractmethod

from torch import Tensor

from pllbench.method import Batch, Step
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.views import MultiViewMethod, V


def best_candidate(logits: Tensor, candidates: Tensor) -> Tensor:
    """The weak view's most probable candidate [B], from logits [V, B, C]: the pseudo label."""
    return restrict(logits[0].detach(), candidates).argmax(-1)


class StatelessMethod(MultiViewMethod[V]):
    """A loss of logits and candidate sets; every view of an instance is charged alike."""

    @abstractmethod
    def losses(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """Losses [V, B] of the logits [V, B, C] with the candidate sets [B, C]."""

    def loss(self, batch: Batch) -> Step:
        """The losses over views and batch; the pseudo label is the weak view's best candidate."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        losses = self.losses(logits, batch.candidates)  # [V, B]
        return Step(self.reduce_views(losses), best_candidate(logits, batch.candidates))
