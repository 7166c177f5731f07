"""Multiple complementary labels: all classes that an instance is known not to be of.

L. Feng, T. Kaneko, B. Han, G. Niu, B. An, M. Sugiyama: Learning with Multiple Complementary Labels,
ICML 2020. Of C classes an instance with s complementary labels has C - s candidates. A full set
has no complementary label and is outside the theory: such a row weighs 0.
"""

from abc import abstractmethod
from dataclasses import replace

from torch import Tensor

from pllbench.method import Batch, Step
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.stateless import StatelessMethod
from pllbench_methods.shared.views import V


def complementary_weights(candidates: Tensor) -> Tensor:
    """(C - 1) / s, the inverse share of the wrong classes that are ruled out, [B]; 0 if s = 0."""
    count = (~candidates).sum(-1)  # [B], s
    return (candidates.shape[-1] - 1) / count.clamp(min=1) * (count > 0)


def unbiased_risk(losses: Tensor, candidates: Tensor) -> Tensor:
    """The estimator sum_Y l_k - (C - 1 - s) / s * sum_{not Y} l_k, [..., B]; 0 at a full set.

    For every s, its mean over all sets of C - s classes that hold the true label is the loss of the
    true label.

    Args:
        losses: [..., B, C], what each class costs as the true label.
        candidates: [B, C].
    """
    weights = complementary_weights(candidates)
    inside, outside = (losses * candidates).sum(-1), (losses * ~candidates).sum(-1)
    return (inside - (weights - 1) * outside) * (weights > 0)


class MultipleComplementaryMethod(StatelessMethod[V]):
    """A stateless loss in which full sets weigh 0; their share is logged as `full_sets`."""

    def loss(self, batch: Batch) -> Step:
        """The losses, and the share of rows without any complementary label."""
        full = batch.candidates.all(-1).float().mean()
        return replace(super().loss(batch), logs={"full_sets": full})


class UnbiasedMethod(MultipleComplementaryMethod[V]):
    """The unbiased estimator of the risk of a bounded loss."""

    @abstractmethod
    def class_losses(self, log_probs: Tensor) -> Tensor:
        """What each class costs as the true label, [V, B, C], from log probabilities."""

    def losses(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """The estimator [V, B]; single values may be negative."""
        return unbiased_risk(self.class_losses(log_softmax(logits)), candidates)
