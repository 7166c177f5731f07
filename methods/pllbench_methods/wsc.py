"""WSC: spectral contrastive learning with the similarity of weak labels as weights.

Z. Zhou, J. Wang, T. Wei, M. Zhang: Weakly-Supervised Contrastive Learning for Imprecise Class
Labels, ICML 2025. The loss is that of the released code for partial labels, which cannot start as
it stands; defaults are its settings for CIFAR-10. Its case of noisy candidate sets is not built.

Letters in shape comments: N training instances, B batch, C classes, D features, E = 2 D embedding.
"""

from collections.abc import Mapping
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from pllbench.method import Batch, Hparams, Problem, Schedule, Step
from pllbench_methods.shared.confidence import ConfidenceState, confidence
from pllbench_methods.shared.losses import kl_divergence, non_candidate_losses
from pllbench_methods.shared.softmax import log_softmax


class WSCHparams(Hparams):
    """Hyperparameters of WSC."""

    alpha: float = Field(default=1.0, ge=0)
    """Attraction of the two strong views of one instance."""
    beta: float = Field(default=12.0, ge=0)
    """Attraction of two instances, times the agreement of their confidence."""
    repulsion: float = Field(default=1.0, ge=0)
    """Factor of the repulsion of all pairs, besides the one that alpha and beta imply."""
    lambda_max: float = Field(default=1.0, ge=0)
    """What the weight of contrast and consistency rises to, linearly over the whole run."""
    refresh: Literal["weak", "all"] = "weak"
    """Views that renew the confidence: the weak one, or all three as in its CIFAR-100 runs."""


def capped(rows: Tensor) -> Tensor:
    """Rows [..., E] scaled to norm 1 where they are longer, and left alone where they are not."""
    norms: Tensor = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
    return rows / norms.clamp(min=1)


def spectral_loss(first: Tensor, second: Tensor, weights: Tensor, hparams: WSCHparams) -> Tensor:
    """Attraction by views and by agreement of labels, less the repulsion of all; a scalar.

    Args:
        first: embeddings [B, E] of one strong view.
        second: those of the other.
        weights: confidence [B, C]; the product of two rows is the agreement of two instances.
        hparams: alpha, beta and the repulsion.
    """
    batch_size, num_classes = weights.shape
    both = torch.cat([first, second])  # [2 B, E]
    similarity = both @ both.T  # [2 B, 2 B]
    others = 1 - torch.eye(2 * batch_size, device=both.device)
    agreement = weights @ weights.T * others[:batch_size, :batch_size]  # [B, B]
    same_view, cross, other_view = (
        similarity[:batch_size, :batch_size],
        similarity[:batch_size, batch_size:],
        similarity[batch_size:, batch_size:],
    )
    alike = (agreement * (same_view + cross + other_view)).sum() / 3
    attraction = hparams.alpha * cross.diagonal().mean()
    attraction = attraction + hparams.beta * alike / max(batch_size * (batch_size - 1), 1)
    factor = hparams.repulsion * (hparams.alpha + hparams.beta / num_classes) ** 2
    spread = (similarity.square() * others).sum() / (2 * batch_size * (2 * batch_size - 1))
    return factor * spread - 2 * attraction


class WSC(ConfidenceState[WSCHparams]):
    """DPLL with a contrast of two strong views, in which confidence says who is alike.

    Attributes:
        network: the network that is trained and predicts.
        head: maps features [..., D] to embeddings [..., E].
        confidence: [N, C], weights of the candidates.
        unsupervised_weight: weight of contrast and consistency in this epoch.
    """

    hparams_type = WSCHparams
    family = "contrastive"
    year = 2025
    venue = "ICML"
    unsupervised_weight: Tensor

    def __init__(self, problem: Problem, hparams: WSCHparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()
        width = self.network.num_features
        self.head = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.BatchNorm1d(4 * width),
            nn.ReLU(),
            nn.Linear(4 * width, 2 * width),
        ).to(problem.candidates.device)

    @property
    def views(self) -> tuple[str, ...]:
        """The weak view, and the two strong ones that are contrasted."""
        return ("weak", "strong", "strong")

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The weight of contrast and consistency."""
        rise = self.hparams.lambda_max / self.reference_epochs
        return {"unsupervised_weight": lambda epoch: rise * epoch}

    def loss(self, batch: Batch) -> Step:
        """L_sup + lambda (contrast + consistency); the stored confidence is the pseudo label."""
        hparams = self.hparams
        logits, features = self.network.views(batch.x)  # [3, B, C], [3, B, D]
        # Its BatchNorm sees all views, the weak one too, as in the released code.
        rows = capped(self.head(features.flatten(0, 1)))  # [3 B, E]
        _, first, second = rows.chunk(3)
        target = self.target(batch.index)  # [B, C]
        supervised = non_candidate_losses(logits[0], batch.candidates).mean()
        consistency = kl_divergence(target.expand_as(logits), log_softmax(logits)).mean(-1).sum()
        contrast = spectral_loss(first, second, target, hparams)
        renewing = logits[:1] if hparams.refresh == "weak" else logits
        self.renew(batch.index, confidence(renewing, batch.candidates))
        loss = supervised + self.unsupervised_weight * (contrast + consistency)
        return Step(loss, target.argmax(-1))

    def predict(self, x: Tensor) -> Tensor:
        """The network's logits [B, C]."""
        logits: Tensor = self.network(x)[0]
        return logits
