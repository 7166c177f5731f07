"""DPLL: consistency regularisation towards a conformal label distribution.

D.-D. Wu, D.-B. Wang, M.-L. Zhang: Revisiting Consistency Regularization for Deep Partial Label
Learning, ICML 2022. Also called CRDPLL, PLCR (its official repository), RCR and CORR.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Schedule, Step
from pllbench_methods.shared.confidence import ConfidenceMethod, confidence
from pllbench_methods.shared.losses import kl_divergence, non_candidate_losses
from pllbench_methods.shared.schedules import ramp
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.views import ViewHparams


class DPLLHparams(ViewHparams):
    """Hyperparameters of DPLL."""

    view_reduction: Literal["mean", "sum"] = "sum"
    """How the consistency terms of the views combine; DPLL takes their sum."""
    lambda_max: float = Field(default=1.0, ge=0)
    """Final weight of the consistency term."""
    ramp_epochs: float = Field(default=100.0, gt=0)
    """Reference epochs in which that weight rises linearly from 0."""

    def consistency_weight(self, epoch: float) -> float:
        """Weight of the consistency term at a reference epoch."""
        return self.lambda_max * ramp(epoch, self.ramp_epochs)


class DPLL(ConfidenceMethod[DPLLHparams]):
    """Pushes non-candidates down on the weak view, and every view towards a common confidence.

    The normalised geometric mean of the views is the distribution on the candidates with the
    smallest summed KL divergence to them.

    Attributes:
        consistency_weight: weight of the consistency term in this epoch.
    """

    hparams_type = DPLLHparams
    family = "confidence"
    year = 2022
    venue = "ICML"
    consistency_weight: Tensor

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The weight of the consistency term."""
        return {"consistency_weight": self.hparams.consistency_weight}

    def loss(self, batch: Batch) -> Step:
        """Supervised term plus ramped consistency; the stored confidence is the pseudo label."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        target = self.target(batch.index)  # [B, C]
        supervised = non_candidate_losses(logits[0], batch.candidates).mean()
        consistency = self.reduce_views(kl_divergence(target, log_softmax(logits)))
        self.renew(batch.index, confidence(logits, batch.candidates))
        return Step(supervised + self.consistency_weight * consistency, target.argmax(-1))
