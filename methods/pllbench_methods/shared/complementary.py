"""Complementary labels one by one: every pair of an instance and one of its non-candidates.

Letters in shape comments: B batch, C classes, V views, N training instances.
"""

from abc import abstractmethod
from typing import Literal, TypeVar

from torch import Tensor

from pllbench.method import Batch, Problem, Step
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.stateless import StatelessMethod, best_candidate
from pllbench_methods.shared.views import MultiViewMethod, V, ViewHparams


class ComplementaryHparams(ViewHparams):
    """Hyperparameters of every loss of pairs."""

    reduction: Literal["pairs", "instances"] = "pairs"
    """Mean over all pairs of the batch, or sum over an instance's pairs and mean over instances."""


Pairs = TypeVar("Pairs", bound=ComplementaryHparams)


class PairwiseMethod(StatelessMethod[Pairs]):
    """A loss of pairs; an instance with a full candidate set has none and costs 0."""

    @abstractmethod
    def pair_losses(self, logits: Tensor) -> Tensor:
        """What each class costs as a complementary label, finite [V, B, C], from logits."""

    def losses(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """Summed losses [V, B] of an instance's pairs; in units of B pairs, for their mean."""
        losses = (self.pair_losses(logits) * ~candidates).sum(-1)
        if self.hparams.reduction == "instances":
            return losses
        return losses * (len(candidates) / (~candidates).sum().clamp(min=1))


def complementary_prior(candidates: Tensor) -> Tensor:
    """Share of each class among all pairs of the training set, float32 [C]; 0 without pairs."""
    counts = (~candidates).sum(0)
    return counts / counts.sum().clamp(min=1)


def class_risks(losses: Tensor, candidates: Tensor, prior: Tensor) -> Tensor:
    """Estimates of every class's part in the supervised risk, [V, C]; their sum is unbiased.

    r_k = sum_j prior_j m_jk - (C - 1) prior_k m_kk, where m_jk is the mean loss of class k over the
    batch's pairs with class j, 0 without any. T. Ishida et al., ICML 2019.

    Args:
        losses: [V, B, C], what each class costs as the true label.
        candidates: [B, C].
        prior: [C], see `complementary_prior`.
    """
    pairs = (~candidates).to(losses.dtype)  # [B, C]
    means = pairs.T @ losses / pairs.sum(0).clamp(min=1)[:, None]  # [V, C, C]
    own = means.diagonal(dim1=-2, dim2=-1)  # [V, C]
    return prior @ means - (len(prior) - 1) * prior * own


class ClassRiskMethod(MultiViewMethod[V]):
    """Combines the risks of the classes, whose loss is cross entropy.

    Attributes:
        prior: [C], share of each class among the complementary labels of the training set.
    """

    prior: Tensor

    def __init__(self, problem: Problem, hparams: V) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("prior", complementary_prior(problem.candidates))

    @abstractmethod
    def combine(self, risks: Tensor, counts: Tensor) -> Tensor:
        """The loss [V] from the risks [V, C] and the batch's numbers of pairs [C] by class."""

    def loss(self, batch: Batch) -> Step:
        """The combined risks; the pseudo label is the weak view's best candidate."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        risks = class_risks(-log_softmax(logits), batch.candidates, self.prior)  # [V, C]
        losses = self.combine(risks, (~batch.candidates).sum(0))  # [V]
        loss = self.reduce_views(losses[:, None])
        return Step(loss, best_candidate(logits, batch.candidates))
