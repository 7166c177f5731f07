"""POP: progressive purification of the candidate sets.

N. Xu, B. Liu, J. Lv, C. Qiao, X. Geng: Progressive Purification for Instance-Dependent Partial
Label Learning, ICML 2023. Steps and defaults are those of the released code, except that its best
epoch is chosen by clean validation labels, which no method here may see.
"""

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Problem, Step, TrainView
from pllbench_methods.shared.confidence import ConfidenceMethod, restrict
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax, softmax
from pllbench_methods.shared.views import ViewHparams

THETA_MAX = 0.4
"""The threshold stops growing here."""
FEW_CHANGES = 1e-4
"""The threshold grows where a purification removes less than this share of all N x C entries."""


class POPHparams(ViewHparams):
    """Hyperparameters of POP."""

    warmup: float = Field(default=20.0, ge=0)
    """Reference epochs (of 500) before the first purification."""
    window: int = Field(default=5, ge=1)
    """Epochs whose confidence is averaged, and epochs from one purification to the next."""
    theta: float = Field(default=1e-3, ge=0, lt=1)
    """A candidate leaves where its confidence is below this share of its row's largest."""
    theta_growth: float = Field(default=1e-3, ge=0)
    """Relative growth of theta after a purification that has changed little."""


class POP(ConfidenceMethod[POPHparams]):
    """PRODEN that takes hopeless candidates out of the sets every few epochs.

    Attributes:
        confidence: [N, C], weights of the candidates that are kept.
        kept: [N, C], the purified candidate sets; a label that has left never comes back.
        recent: [window, N, C], the confidence at the end of the last epochs.
        theta: the threshold of the next purification.
    """

    hparams_type = POPHparams
    reference_epochs = 500
    family = "confidence"
    year = 2023
    venue = "ICML"
    kept: Tensor
    recent: Tensor
    theta: Tensor

    def __init__(self, problem: Problem, hparams: POPHparams) -> None:
        super().__init__(problem, hparams)
        candidates = problem.candidates
        self.register_buffer("kept", candidates.clone())
        self.register_buffer(
            "recent", torch.zeros_like(self.confidence).repeat(hparams.window, 1, 1)
        )
        theta = torch.tensor(hparams.theta, dtype=torch.float64, device=candidates.device)
        self.register_buffer("theta", theta)

    def on_epoch_start(self, train: TrainView) -> None:  # noqa: ARG002 - the contract's
        """Store the confidence of the epoch that has ended; purify where one is due."""
        ended = self.epoch - 1
        if ended < 0:
            return
        self.recent[ended % self.hparams.window] = self.confidence
        started = ended * self.reference_epochs / self.epochs >= self.hparams.warmup
        if started and ended % self.hparams.window == 0:
            self.purify()

    def purify(self) -> None:
        """Take out candidates whose recent confidence is small; renew the confidence from it."""
        average = self.recent.mean(0)  # [N, C]
        kept = self.kept & (average >= self.theta * average.amax(1, keepdim=True))
        few = (kept != self.kept).sum() < FEW_CHANGES * kept.numel()
        growth = 1 + self.hparams.theta_growth
        self.theta.copy_(
            torch.where(few & (self.theta < THETA_MAX), self.theta * growth, self.theta)
        )
        self.kept.copy_(kept)
        weights = average * kept  # the largest weight of a row always stays
        self.confidence.copy_(weights / weights.sum(1, keepdim=True))

    def loss(self, batch: Batch) -> Step:
        """Cross entropy with the stored confidence, whose argmax is the pseudo label."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        target = self.target(batch.index)  # [B, C]
        losses = soft_cross_entropy(log_softmax(logits), target)  # [V, B]
        # The weak view alone renews the confidence, and never outside of the purified set.
        kept = self.kept[batch.index]
        self.renew(batch.index, softmax(restrict(logits[0].detach(), kept)))
        return Step(self.reduce_views(losses), target.argmax(-1))
