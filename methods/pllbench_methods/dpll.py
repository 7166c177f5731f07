"""DPLL: consistency regularisation towards a conformal label distribution.

D.-D. Wu, D.-B. Wang, M.-L. Zhang: Revisiting Consistency Regularization for Deep Partial Label
Learning, ICML 2022. Its official repository is named PLCR.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Problem, Step
from pllbench_methods.common import MultiViewMethod, ViewHparams
from pllbench_methods.losses import (
    confidence,
    kl_divergence,
    log_complement,
    ramp,
    uniform_confidence,
)


class DPLLHparams(ViewHparams):
    """Hyperparameters of DPLL."""

    view_reduction: Literal["mean", "sum"] = "sum"
    """How the consistency terms of the views combine; DPLL takes their sum."""
    lambda_max: float = Field(default=1.0, ge=0)
    """Final weight of the consistency term."""
    ramp_epochs: float = Field(default=100.0, gt=0)
    """Reference epochs in which that weight rises linearly from 0."""


class DPLL(MultiViewMethod[DPLLHparams]):
    """Pushes non-candidates down on the weak view, and every view towards a common confidence.

    The normalised geometric mean of the views is the distribution on the candidates with the
    smallest summed KL divergence to them.

    Attributes:
        confidence: [N, C], weights of the candidates.
    """

    hparams_type = DPLLHparams
    confidence: Tensor

    def __init__(self, problem: Problem, hparams: DPLLHparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("confidence", uniform_confidence(problem.candidates))

    def loss(self, batch: Batch) -> Step:
        """Supervised term plus ramped consistency; the stored confidence is the pseudo label."""
        hparams = self.hparams
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        target = self.confidence[batch.index]  # [B, C]
        # Candidates get no supervised term: sum over k outside Y of -log(1 - p_k).
        supervised = -(log_complement(logits[0]) * ~batch.candidates).sum(-1).mean()
        consistency = self.reduce_views(kl_divergence(target, logits.log_softmax(-1)))
        weight = hparams.lambda_max * ramp(self.reference_epoch, hparams.ramp_epochs)
        self.confidence[batch.index] = confidence(logits, batch.candidates)
        return Step(supervised + weight * consistency, target.argmax(-1))
