"""IDGP: a decompositional generation process of instance-dependent candidate sets.

C. Qiao, N. Xu, X. Geng: Decompositional Generation Process for Instance-Dependent Partial Label
Learning, ICLR 2023. Defaults are those of the released script; its tuned settings were chosen by
clean validation labels. One optimizer trains both networks, which is the same as two: nothing that
passes between them carries gradient.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, ParamGroup, Problem, Schedule, Step
from pllbench_methods.shared.confidence import ConfidenceMethod, confidence, restrict
from pllbench_methods.shared.losses import kl_divergence, soft_cross_entropy
from pllbench_methods.shared.schedules import ramp
from pllbench_methods.shared.softmax import log_softmax, softmax
from pllbench_methods.shared.views import ViewHparams


class IDGPHparams(ViewHparams):
    """Hyperparameters of IDGP."""

    view_reduction: Literal["mean", "sum"] = "sum"
    """How the losses of the views combine; IDGP takes their sum."""
    warmup: float = Field(default=10.0, ge=0)
    """Reference epochs (of 520) of each warm-up: the classifier's, then the generator's."""
    classifier_temperature: float = Field(default=1.0, gt=0)
    """Temperature of the classifier's softmax (T1)."""
    generator_temperature: float = Field(default=1.0, gt=0)
    """Temperature of the generator's sigmoids (T2)."""
    classifier_weight: float = Field(default=1.0, ge=0)
    """Weight of the classifier's loss with the confidence (alpha)."""
    guided_classifier_weight: float = Field(default=1.0, ge=0)
    """Weight of the classifier's loss with the generator's weights (beta)."""
    generator_weight: float = Field(default=1.0, ge=0)
    """Weight of the generator's loss with its own past (theta)."""
    guided_generator_weight: float = Field(default=1.0, ge=0)
    """Weight of the generator's loss with candidates and classifier (gamma)."""
    lambda_max: float = Field(default=1.0, ge=0)
    """Final weight of both consistency terms."""
    ramp_epochs: float = Field(default=100.0, gt=0)
    """Reference epochs after the warm-ups in which that weight rises linearly from 0."""
    generator_lr_factor: float = Field(default=1.0, gt=0)
    """Learning rate of the generator, as a multiple of the classifier's."""
    generator_weight_decay_factor: float = Field(default=1.0, ge=0)
    """Weight decay of the generator, as a multiple of the classifier's."""

    def consistency_weight(self, epoch: float) -> float:
        """Weight of both consistency terms at a reference epoch."""
        trained = max(epoch - 2 * self.warmup, 0.0)  # reference epochs after the warm-ups
        return self.lambda_max * ramp(trained, self.ramp_epochs)


def set_losses(scores: Tensor, target: Tensor) -> Tensor:
    """Binary cross entropy of sigmoids with targets in [0, 1], the sum over classes: [..., B]."""
    target = target.expand_as(scores)
    return F.binary_cross_entropy_with_logits(scores, target, reduction="none").sum(-1)


def generation_weights(scores: Tensor, pseudo: Tensor, candidates: Tensor) -> Tensor:
    """How well each candidate explains the set, as weights [..., B, C].

    Proportional to (1 - h) / h, where h is the generator's sigmoid, but 1 minus it for the pseudo
    label. The log of that is minus the logit, or the logit itself, which never underflows.

    Args:
        scores: the generator's logits [..., B, C].
        pseudo: pseudo labels [B].
        candidates: [B, C].
    """
    chosen = F.one_hot(pseudo, scores.shape[-1]).bool()  # [B, C]
    return softmax(restrict(torch.where(chosen, scores, -scores), candidates))


class IDGP(ConfidenceMethod[IDGPHparams]):
    """A classifier, and a generator of how likely each wrong label is to become a candidate.

    Attributes:
        network: the classifier, which predicts.
        generator: its sigmoids are the probabilities that labels are candidates.
        confidence: [N, C], the classifier's probabilities on the candidates.
        occurrence: [N, C], the generator's probabilities of the candidates; 1 at first.
        classifier_ready: whether the classifier's warm-up is over in this epoch.
        generator_ready: whether the generator's is.
        consistency_weight: weight of both consistency terms.
    """

    hparams_type = IDGPHparams
    reference_epochs = 520
    family = "confidence"
    year = 2023
    venue = "ICLR"
    occurrence: Tensor
    classifier_ready: bool
    generator_ready: bool
    consistency_weight: Tensor

    def __init__(self, problem: Problem, hparams: IDGPHparams) -> None:
        super().__init__(problem, hparams)
        self.generator = problem.make_network()
        self.register_buffer("occurrence", problem.candidates.float())

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The ends of both warm-ups, and the weight of the consistency."""
        warmup = self.hparams.warmup
        return {
            "classifier_ready": lambda epoch: epoch >= warmup,
            "generator_ready": lambda epoch: epoch >= 2 * warmup,
            "consistency_weight": self.hparams.consistency_weight,
        }

    def param_groups(self) -> Sequence[ParamGroup]:
        """The classifier, and the generator with its own rates."""
        hparams = self.hparams
        factors = hparams.generator_lr_factor, hparams.generator_weight_decay_factor
        return (
            ParamGroup(tuple(self.network.parameters())),
            ParamGroup(tuple(self.generator.parameters()), *factors),
        )

    def loss(self, batch: Batch) -> Step:
        """The loss of the stage; the argmax of the stored confidence is the pseudo label."""
        hparams = self.hparams
        target, occurrence = self.target(batch.index), self.occurrence[batch.index]  # [B, C]
        if not self.classifier_ready:
            scores = self.classifier_scores(batch)
            losses = soft_cross_entropy(log_softmax(scores), target)
        elif not self.generator_ready:
            losses = set_losses(self.generator_scores(batch), occurrence)
        else:
            scores, marks = self.classifier_scores(batch), self.generator_scores(batch)
            losses = self.joint_losses(scores, marks, batch.candidates, (target, occurrence))
            # Consistency is that of the networks without their temperatures.
            probs = log_softmax(scores * hparams.classifier_temperature)
            marked = F.logsigmoid(marks * hparams.generator_temperature)
            divergence = kl_divergence(target, probs) + kl_divergence(occurrence, marked)
            losses = losses + self.consistency_weight * divergence
        return Step(self.reduce_views(losses), target.argmax(1))

    def joint_losses(
        self, scores: Tensor, marks: Tensor, candidates: Tensor, targets: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Both networks' losses, of their own targets [B, C] and of each other: [V, B].

        What one network gives the other carries no gradient.
        """
        hparams, (target, occurrence) = self.hparams, targets
        log_probs = log_softmax(scores)  # [V, B, C]
        guide = generation_weights(marks.detach(), target.argmax(1), candidates)
        fit = confidence(scores[:, None], candidates)  # [V, B, C], of each view by itself
        guided = soft_cross_entropy(F.logsigmoid(-marks), fit)
        guided = guided + set_losses(marks, candidates.float())
        return (
            hparams.classifier_weight * soft_cross_entropy(log_probs, target)
            + hparams.guided_classifier_weight * soft_cross_entropy(log_probs, guide)
            + hparams.generator_weight * set_losses(marks, occurrence)
            + hparams.guided_generator_weight * guided
        )

    def classifier_scores(self, batch: Batch) -> Tensor:
        """The classifier's logits / T1 [V, B, C]; those of the weak view renew the confidence."""
        scores = self.network.views(batch.x)[0] / self.hparams.classifier_temperature
        self.renew(batch.index, confidence(scores[:1], batch.candidates))
        return scores

    def generator_scores(self, batch: Batch) -> Tensor:
        """The generator's logits / T2 [V, B, C]; those of the weak view renew the occurrence."""
        scores = self.generator.views(batch.x)[0] / self.hparams.generator_temperature
        self.occurrence[batch.index] = scores[0].detach().sigmoid() * batch.candidates
        return scores

    def predict(self, x: Tensor) -> Tensor:
        """The classifier's logits / T1 [B, C]."""
        return super().predict(x) / self.hparams.classifier_temperature
