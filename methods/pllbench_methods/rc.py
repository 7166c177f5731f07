"""RC: the risk-consistent partial-label loss.

L. Feng, J. Lv, B. Han, M. Xu, G. Niu, X. Geng, B. An, M. Sugiyama: Provably Consistent
Partial-Label Learning, NeurIPS 2020.
"""

from typing import Literal

from torch import Tensor

from pllbench.method import Batch, Step
from pllbench_methods.shared.confidence import confidence
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.refresh import PostStepMethod, RefreshHparams
from pllbench_methods.shared.softmax import log_softmax


class RCHparams(RefreshHparams):
    """Hyperparameters of RC."""

    refresh: Literal["post_step", "pre_step"] = "post_step"
    """When the confidence of a batch is renewed: from a second pass of its views with the new
    weights, as released, or from the pass of the step itself, which makes RC equal to PRODEN."""


class RC(PostStepMethod[RCHparams]):
    """Cross entropy with the confidence that the network had after the instance's previous step.

    The paper's factor 1/2 belongs to a sum over all labels; on the candidates alone the unbiased
    factor is 1.
    """

    hparams_type = RCHparams
    family = "confidence"
    year = 2020
    venue = "NeurIPS"

    def loss(self, batch: Batch) -> Step:
        """Cross entropy with the stored confidence, whose argmax is the pseudo label."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        target = self.target(batch.index)  # [B, C]
        losses = soft_cross_entropy(log_softmax(logits), target)  # [V, B], AsyCo Eq. 7
        if self.hparams.refresh == "pre_step":
            self.renew(batch.index, confidence(logits, batch.candidates))
        return Step(self.reduce_views(losses), target.argmax(-1))

    def renewed(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """The confidence [B, C] of the updated network."""
        return confidence(logits, candidates)

    def after_step(self, batch: Batch) -> None:
        """Renew the confidence of the batch, unless the step itself has done so."""
        if self.hparams.refresh == "post_step":
            super().after_step(batch)
