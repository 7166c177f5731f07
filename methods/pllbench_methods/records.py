"""RECORDS: dynamic rebalancing, for class distributions with a long tail.

F. Hong, J. Yao, Z. Zhou, Y. Zhang, Y. Wang: Long-Tailed Partial Label Learning via Dynamic
Rebalancing, ICLR 2023. As released, on top of CORR, which is DPLL with two views and a supervised
term on both of them.

Letters in shape comments: B batch, C classes, D features, V views.
"""

from collections.abc import Mapping

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Schedule, Step
from pllbench_methods.shared.confidence import ConfidenceState, confidence
from pllbench_methods.shared.losses import kl_divergence, non_candidate_losses
from pllbench_methods.shared.mixup import draw_larger_share, draw_partners, mix
from pllbench_methods.shared.softmax import log_softmax


class RECORDSHparams(Hparams):
    """Hyperparameters of RECORDS."""

    momentum: float = Field(default=0.9, ge=0, le=1)
    """Share of the mean features that a step keeps."""
    refresh_start: float = Field(default=1.0, ge=0)
    """Reference epoch (of 800) from which the confidence is renewed."""
    mixup_weight: float = Field(default=0.0, ge=0)
    """Weight of the same loss on mixed instances, from refresh_start on; 1 in the runs with it."""
    mixup_alpha: float = Field(default=4.0, gt=0)
    """Both parameters of the Beta distribution of mixup's share."""


def corr_loss(logits: Tensor, target: Tensor, candidates: Tensor) -> Tensor:
    """Sum over the views of DPLL's supervised term and consistency, mean over the batch; a scalar.

    Args:
        logits: [V, B, C].
        target: weights of the candidates [B, C].
        candidates: [B, C].
    """
    consistency = kl_divergence(target.expand_as(logits), log_softmax(logits))  # [V, B]
    return (non_candidate_losses(logits, candidates) + consistency).mean(-1).sum()


class RECORDS(ConfidenceState[RECORDSHparams]):
    """The network's answer to the mean features is taken as its bias towards frequent classes.

    Attributes:
        network: the network that is trained and predicts.
        confidence: [N, C], weights of the candidates.
        mean_features: [D], moving average over the steps; it starts from 0.
        refreshing: whether the confidence is renewed in this epoch.
    """

    hparams_type = RECORDSHparams
    reference_epochs = 800
    family = "confidence"
    year = 2023
    venue = "ICLR"
    mean_features: Tensor
    refreshing: bool

    def __init__(self, problem: Problem, hparams: RECORDSHparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()
        zero = torch.zeros(self.network.num_features, device=problem.candidates.device)
        self.register_buffer("mean_features", zero)

    @property
    def views(self) -> tuple[str, ...]:
        """A weak view and a strong one."""
        return ("weak", "strong")

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The start of the renewals."""
        start = self.hparams.refresh_start
        return {"refreshing": lambda epoch: epoch >= start}

    def log_bias(self) -> Tensor:
        """Log probabilities [C] of the classifier at the mean features, without gradient."""
        logits: Tensor = self.network.classifier(self.mean_features)
        return log_softmax(logits.detach())

    def loss(self, batch: Batch) -> Step:
        """CORR, with mixup where asked for; the stored confidence is the pseudo label."""
        hparams = self.hparams
        xs, partners = batch.x, batch.index
        share: Tensor | float = 0.0
        mixing = self.refreshing and hparams.mixup_weight > 0
        if mixing:
            share = draw_larger_share(hparams.mixup_alpha, batch.index.device)
            partners = draw_partners(batch.index)
            xs = (*xs, *(mix(x, partners, share) for x in xs))
        logits, features = self.network.views(xs)  # [V, B, C], [V, B, D]; mixed views come last
        target = self.target(batch.index)  # [B, C]
        loss = corr_loss(logits[:2], target, batch.candidates)
        if mixing:
            either = batch.candidates | batch.candidates[partners]  # [B, C]
            loss = loss + hparams.mixup_weight * corr_loss(
                logits[2:], mix(target, partners, share), either
            )
        self.mean_features.lerp_(features[:2].detach().mean((0, 1)), 1 - hparams.momentum)
        if self.refreshing:
            debiased = logits[:2].detach() - self.log_bias()
            self.renew(batch.index, confidence(debiased, batch.candidates))
        return Step(loss, target.argmax(-1))

    def predict(self, x: Tensor) -> Tensor:
        """The network's logits [B, C] less the log of its bias."""
        logits: Tensor = self.network(x)[0]
        return logits - self.log_bias()
