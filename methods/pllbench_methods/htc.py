"""HTC: a head classifier and a tail classifier that cooperate, for long-tailed classes.

Y. Jia, X. Peng, R. Wang, M. Zhang: Long-Tailed Partial Label Learning by Head Classifier and Tail
Classifier Cooperation, AAAI 2024. Steps and defaults are those of the released code;
docs/methods/htc.md says where it differs, so that no step waits for the device.

Letters in shape comments: N training instances, B batch, C classes, D features.
"""

import math
from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor, nn

from pllbench.method import Batch, Hparams, Problem, Schedule, Step, TrainView
from pllbench_methods.shared.confidence import ConfidenceState, restrict
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.schedules import ramp
from pllbench_methods.shared.selection import mean_over, mix_chosen, smallest_by_class
from pllbench_methods.shared.softmax import log_softmax, softmax


class HTCHparams(Hparams):
    """Hyperparameters of HTC."""

    tau: float = Field(default=2.0, ge=0)
    """How far the tail classifier's target leans towards rare classes."""
    momentum: float = Field(default=0.4, ge=0, le=1)
    """Share of the confidence that an update keeps."""
    eta: float = Field(default=0.9, ge=0)
    """Final weight of the chosen instances' losses."""
    alpha_start: float = Field(default=0.2, ge=0, le=1)
    """Share of a batch that is chosen, at the beginning."""
    alpha_end: float = Field(default=0.6, ge=0, le=1)
    """The same from the end of the warm-up on."""
    warmup: float = Field(default=50.0, gt=0)
    """Reference epochs (of 800) in which eta and alpha rise linearly."""
    fusion_weight: float = Field(default=0.5, ge=0)
    """What the weight of the fusion's loss rises to, linearly over the whole run."""
    mixup_alpha: float = Field(default=4.0, gt=0)
    """Both parameters of the Beta distribution of mixup's share."""

    def alpha(self, progress: float) -> float:
        """Share of a batch that is chosen, at a share of the warm-up."""
        return self.alpha_start + (self.alpha_end - self.alpha_start) * progress


def adjusted(logits: Tensor, prior: Tensor, tau: float) -> Tensor:
    """Logits [B, C] less tau times the log prior [C]; -inf for a class whose prior is 0."""
    return (logits - tau * prior.log()).masked_fill(prior == 0, -math.inf)


class HTC(ConfidenceState[HTCHparams]):
    """Two classifiers on one encoder, and an attention that weighs their predictions.

    Attributes:
        network: the encoder and the head classifier.
        tail: the tail classifier, [B, D] to [B, C].
        attention: from the probabilities of both, [B, 2 C], to two weights.
        confidence: [N, C], weights of the candidates.
        prior: [C], shares of the classes in the confidence when the epoch began.
        choosing: whether chosen instances have losses of their own; not in the first epoch.
        eta: weight of these losses in this epoch.
        alpha: share of a batch that is chosen.
        fusion_weight: weight of the fusion's loss.
    """

    hparams_type = HTCHparams
    reference_epochs = 800
    family = "confidence"
    year = 2024
    venue = "AAAI"
    prior: Tensor
    choosing: bool
    eta: Tensor
    alpha: Tensor
    fusion_weight: Tensor

    def __init__(self, problem: Problem, hparams: HTCHparams) -> None:
        super().__init__(problem, hparams)
        device, num_classes = problem.candidates.device, problem.num_classes
        self.network = problem.make_network()
        self.tail = nn.Linear(self.network.num_features, num_classes).to(device)
        self.attention = nn.Linear(2 * num_classes, 2).to(device)
        self.register_buffer("prior", self.shares())

    @property
    def views(self) -> tuple[str, ...]:
        """A weak view, from which targets come, and a strong one."""
        return ("weak", "strong")

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """Start and weight of the chosen instances, their share, and the weight of the fusion."""
        hparams, length = self.hparams, self.reference_epochs
        return {
            "choosing": lambda epoch: epoch > 0,
            "eta": lambda epoch: hparams.eta * ramp(epoch, hparams.warmup),
            "alpha": lambda epoch: hparams.alpha(ramp(epoch, hparams.warmup)),
            "fusion_weight": lambda epoch: hparams.fusion_weight * epoch / length,
        }

    def shares(self) -> Tensor:
        """Shares [C] of the classes in the confidence."""
        return self.confidence.sum(0) / self.confidence.sum()

    def on_epoch_start(self, train: TrainView) -> None:  # noqa: ARG002 - the contract's
        """Renew the prior."""
        self.prior.copy_(self.shares())

    def fused(self, head: Tensor, tail: Tensor, prior: Tensor) -> Tensor:
        """Scores [B, C] of both classifiers together; their softmax is the prediction.

        Args:
            head: logits [B, C] of the head classifier.
            tail: those of the tail classifier.
            prior: [C].
        """
        first, second = softmax(adjusted(head, prior, 1.0)), softmax(tail)
        attended = F.leaky_relu(self.attention(torch.cat([first, second], 1)))
        weights = F.normalize(attended.softmax(1), dim=1)  # [B, 2], of norm 1
        return weights[:, :1] * first + weights[:, 1:] * second

    def loss(self, batch: Batch) -> Step:
        """Losses of head, tail and fusion; the stored confidence is the pseudo label."""
        head, features = self.network.views(batch.x)  # [2, B, C], [2, B, D]
        tail = self.tail(features)  # [2, B, C]
        target = self.target(batch.index)  # [B, C]
        rare = softmax(adjusted(head[0].detach(), self.prior, self.hparams.tau))  # [B, C]
        loss = soft_cross_entropy(log_softmax(head[0]), target).mean()
        loss = loss + soft_cross_entropy(log_softmax(tail[0]), target).mean()
        if self.choosing:
            loss = loss + self.chosen_loss(batch.x[0], head, target, "head")
            loss = loss + self.chosen_loss(batch.x[0], tail, rare, "tail")
        scores = self.fused(head[0].detach(), tail[0].detach(), self.prior)
        loss = loss + self.fusion_weight * soft_cross_entropy(log_softmax(scores), target).mean()
        fresh = softmax(restrict(tail[0].detach(), batch.candidates))
        self.renew(batch.index, target.lerp(fresh, 1 - self.hparams.momentum))
        return Step(loss, target.argmax(1))

    def chosen_loss(
        self, weak: Tensor, logits: Tensor, labels: Tensor, side: Literal["head", "tail"]
    ) -> Tensor:
        """Losses of a classifier on the instances whose labels it fits best, a scalar.

        Args:
            weak: weak views [B, ...].
            logits: of the classifier, on both views, [2, B, C].
            labels: its target [B, C].
            side: which classifier it is.
        """
        shares = self.prior if side == "head" else torch.full_like(self.prior, 1 / len(self.prior))
        losses = soft_cross_entropy(log_softmax(logits), labels)  # [2, B]
        counts = len(labels) * self.alpha * shares
        chosen = smallest_by_class(losses[0].detach(), labels.argmax(1), counts)  # [B]
        x, mixed_labels = mix_chosen(weak, labels, chosen, self.hparams.mixup_alpha)
        mixed_logits, features = self.network(x)
        if side == "tail":
            mixed_logits = self.tail(features)
        mixed_losses = soft_cross_entropy(log_softmax(mixed_logits), mixed_labels)
        return self.eta * (mean_over(chosen, losses[1]) + mixed_losses.mean())

    def predict(self, x: Tensor) -> Tensor:
        """Scores [B, C] of the fusion, with the prior of the present confidence."""
        return self.predictions(x)[""]

    def predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        """Scores of the fusion, and logits of both classifiers by themselves."""
        head, features = self.network(x)
        tail = self.tail(features)
        return {"": self.fused(head, tail, self.shares()), "head": head, "tail": tail}
