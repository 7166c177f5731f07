"""SoLar: Sinkhorn label refinery, for class distributions with a long tail.

H. Wang, M. Xia, Y. Li, Y. Mao, L. Feng, G. Chen, J. Zhao: SoLar: Sinkhorn Label Refinery for
Imbalanced Partial-Label Learning, NeurIPS 2022. Steps and defaults are those of the released code
with its settings for CIFAR-10; docs/methods/solar.md says where it differs, so that no step waits
for the device.

Letters in shape comments: N training instances, B batch, C classes, Q queue.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Step, TrainView
from pllbench_methods.shared.confidence import ConfidenceState, restrict
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.queues import queue_places
from pllbench_methods.shared.schedules import ramp
from pllbench_methods.shared.selection import mean_over, mix_chosen, smallest_by_class
from pllbench_methods.shared.sinkhorn import sinkhorn
from pllbench_methods.shared.softmax import log_softmax, softmax


class SoLarHparams(Hparams):
    """Hyperparameters of SoLar."""

    estimation_epochs: float = Field(default=100.0, ge=0)
    """Reference epochs (of 1100) of the first stage, whose network only estimates the prior."""
    gamma_estimation: float = Field(default=0.1, ge=0, lt=1)
    """Share of the newest estimate in the prior, in the first stage."""
    gamma: float = Field(default=0.01, ge=0, lt=1)
    """The same in the second stage."""
    sharpness: float = Field(default=3.0, gt=0)
    """Exponent of the probabilities that are transported to labels."""
    iterations: int = Field(default=50, ge=1)
    """Sinkhorn iterations of a step."""
    queue_size: int = Field(default=16384, ge=1)
    """Rows of earlier batches that are transported too: 64 batches of 256, as released."""
    eta: float = Field(default=0.9, ge=0, le=1)
    """Final weight of the reliable instances' loss; the others have the rest."""
    rho_start: float = Field(default=0.2, ge=0, le=1)
    """Share of a batch that counts as reliable at the beginning of a stage."""
    rho_end: float = Field(default=0.6, ge=0, le=1)
    """The same from the end of the warm-up on."""
    warmup: float = Field(default=50.0, gt=0)
    """Reference epochs of a stage in which eta and rho rise linearly."""
    confident: float = Field(default=0.99, ge=0, le=1)
    """An instance is reliable, too, where its label and the network agree more than this."""
    mixup_alpha: float = Field(default=4.0, gt=0)
    """Both parameters of the Beta distribution of mixup's share."""


class SoLar(ConfidenceState[SoLarHparams]):
    """Labels come from optimal transport under a class prior that is estimated on the way.

    Attributes:
        network: the network that is trained and predicts; a new one from the second stage on.
        confidence: [N, C], weights of the candidates of unreliable instances.
        prior: [C], estimated shares of the classes.
        queue: [Q, C], probabilities of the candidates of earlier rows, 0 off them.
        queue_pointer: where the next row goes.
    """

    hparams_type = SoLarHparams
    reference_epochs = 1100
    family = "confidence"
    year = 2022
    venue = "NeurIPS"
    prior: Tensor
    queue: Tensor
    queue_pointer: Tensor

    def __init__(self, problem: Problem, hparams: SoLarHparams) -> None:
        super().__init__(problem, hparams)
        device, num_classes = problem.candidates.device, problem.num_classes
        self.problem = problem
        self.network = problem.make_network()
        prior = torch.full((num_classes,), 1 / num_classes, device=device)
        self.register_buffer("prior", prior)
        queue = torch.zeros(hparams.queue_size, num_classes, device=device)
        self.register_buffer("queue", queue)
        self.register_buffer("queue_pointer", torch.tensor(0, device=device))

    @property
    def views(self) -> tuple[str, ...]:
        """A weak view, from which labels come, and a strong one."""
        return ("weak", "strong")

    @property
    def second_start(self) -> int:
        """The first epoch of the second stage."""
        return math.ceil(self.hparams.estimation_epochs * self.epochs / self.reference_epochs)

    @property
    def stage_epoch(self) -> int:
        """Epochs of the present stage that have passed."""
        return self.epoch - (self.second_start if self.epoch >= self.second_start else 0)

    @property
    def progress(self) -> float:
        """Position in the warm-up of the present stage, from 0 to 1."""
        passed = self.stage_epoch * self.reference_epochs / self.epochs
        return ramp(passed, self.hparams.warmup)

    def restarts(self) -> bool:
        """At the beginning of the second stage."""
        return 0 < self.epoch == self.second_start

    def on_epoch_start(self, train: TrainView) -> None:
        """Estimate the prior with the network of the last epoch; begin the second stage anew."""
        if self.epoch > 0:
            first_stage = self.epoch <= self.second_start
            gamma = self.hparams.gamma_estimation if first_stage else self.hparams.gamma
            self.prior.lerp_(self.predicted_shares(train), gamma)
        if self.restarts():
            self.network.load_state_dict(self.problem.make_network().state_dict())
            self.confidence.copy_(self.initial_confidence(self.problem.candidates))

    def predicted_shares(self, train: TrainView) -> Tensor:
        """How often each label is the best candidate of a training instance, shares [C]."""
        counts = torch.zeros_like(self.prior)
        self.network.eval()
        for batch in train.batches():
            best = restrict(self.network(batch.x[0])[0], batch.candidates).argmax(1)  # [B]
            counts += F.one_hot(best, len(counts)).sum(0)
        self.network.train()
        return counts / counts.sum()

    def transported(self, inside: Tensor) -> Tensor:
        """Labels [B, C] of a batch: weights of its candidates whose sum over rows fits the prior.

        Args:
            inside: log probabilities without gradient [B, C], -inf off the candidates.
        """
        hparams = self.hparams
        scores = pool = hparams.sharpness * inside
        if self.stage_epoch * len(self.confidence) >= len(self.queue):  # it is full
            pool = torch.cat([hparams.sharpness * self.queue.log(), scores])  # [Q + B, C]
        return softmax(scores + sinkhorn(pool, self.prior.log(), hparams.iterations))

    def enqueue(self, inside: Tensor) -> None:
        """Write log probabilities of the candidates [B, C] over the oldest rows of the queue."""
        size = len(self.queue)
        places = queue_places(self.queue_pointer, len(inside), size)
        self.queue[places] = inside.exp()[-size:]
        self.queue_pointer.add_(len(inside)).remainder_(size)

    def loss(self, batch: Batch) -> Step:
        """The loss of reliable and of unreliable instances.

        The pseudo label of a reliable instance is the argmax of its transported label, that of
        another the argmax of its stored confidence.
        """
        hparams = self.hparams
        logits, _ = self.network.views(batch.x)  # [2, B, C]
        log_probs = log_softmax(logits)
        inside = restrict(log_probs[0].detach(), batch.candidates)  # [B, C]
        target = self.target(batch.index)  # [B, C]
        unreliable_losses = soft_cross_entropy(log_probs[0], target)  # [B]
        self.renew(batch.index, softmax(inside))
        if self.stage_epoch == 0:
            self.enqueue(inside)
            return Step(unreliable_losses.mean(), target.argmax(1))
        labels = self.transported(inside)  # [B, C]
        self.enqueue(inside)
        chosen = self.reliable(log_probs[0].detach(), labels)  # [B]
        losses = soft_cross_entropy(log_probs, labels)  # [2, B]
        x, mixed_labels = mix_chosen(batch.x[0], labels, chosen, hparams.mixup_alpha)
        mixed_losses = soft_cross_entropy(log_softmax(self.network(x)[0]), mixed_labels)  # [B]
        reliable = mean_over(chosen, losses[0]) + mean_over(chosen, losses[1]) + mixed_losses.mean()
        eta = hparams.eta * self.progress
        loss = eta * reliable + (1 - eta) * mean_over(~chosen, unreliable_losses)
        return Step(loss, torch.where(chosen, labels.argmax(1), target.argmax(1)))

    def reliable(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Which instances are trained on their transported labels, bool [B].

        Args:
            log_probs: of the weak view, [B, C].
            labels: transported labels [B, C].
        """
        hparams = self.hparams
        rho = hparams.rho_start + (hparams.rho_end - hparams.rho_start) * self.progress
        losses = soft_cross_entropy(log_probs, labels)  # [B]
        counts = len(losses) * rho * self.prior  # [C]
        agreed = (labels * log_probs.exp()).sum(1) > hparams.confident
        return smallest_by_class(losses, labels.argmax(1), counts) | agreed

    def predict(self, x: Tensor) -> Tensor:
        """The network's logits [B, C]."""
        logits: Tensor = self.network(x)[0]
        return logits
