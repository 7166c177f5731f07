"""PaPi: partial-label learning guided by prototypical alignment.

S. Xia, J. Lv, N. Xu, G. Niu, X. Geng: Towards Effective Visual Representations for Partial-Label
Learning, CVPR 2023. Steps and defaults are those of the released code, but its schedules of phi and
of the prototypes' momentum come one epoch late there.

Letters in shape comments: B batch, C classes, E embedding.
"""

from collections.abc import Mapping

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Schedule, Step
from pllbench_methods.shared.confidence import ConfidenceState, restrict
from pllbench_methods.shared.contrastive import Encoder, updated_prototypes
from pllbench_methods.shared.losses import kl_divergence, soft_cross_entropy
from pllbench_methods.shared.mixup import draw_partners, draw_share, mix
from pllbench_methods.shared.schedules import ramp
from pllbench_methods.shared.softmax import log_softmax, softmax


class PaPiHparams(Hparams):
    """Hyperparameters of PaPi."""

    embedding_size: int = Field(default=128, ge=1)
    """Width of the embedding that prototypes live in."""
    temperature: float = Field(default=0.3, gt=0)
    """Temperature of the similarities with the prototypes."""
    mixup_alpha: float = Field(default=8.0, gt=0)
    """Both parameters of the Beta distribution of mixup's share."""
    align_weight: float = Field(default=1.0, ge=0)
    """Final weight of the alignment with the prototypes."""
    ramp_epochs: float = Field(default=10.0, gt=0)
    """Reference epochs (of 500) in which that weight rises linearly from 0."""
    phi_start: float = Field(default=0.95, ge=0, le=1)
    """Share of the confidence that an update keeps, at the first epoch."""
    phi_end: float = Field(default=0.8, ge=0, le=1)
    """The same at the end of the run; linear in between."""
    proto_momentum_start: float = Field(default=0.9, ge=0, le=1)
    """Share of a prototype that one embedding's update keeps, at the first epoch."""
    proto_momentum_end: float = Field(default=0.5, ge=0, le=1)
    """The same at the end of the run; linear in between."""

    def phi(self, progress: float) -> float:
        """Share of the confidence that is kept, at a share of the run."""
        return self.phi_start + (self.phi_end - self.phi_start) * progress

    def proto_momentum(self, progress: float) -> float:
        """Share of a prototype that is kept, at a share of the run."""
        start = self.proto_momentum_start
        return start + (self.proto_momentum_end - start) * progress

    def alignment_weight(self, epoch: float) -> float:
        """Weight of the alignment at a reference epoch."""
        return self.align_weight * ramp(epoch, self.ramp_epochs)


def alignment(log_probs: Tensor, target: Tensor, partners: Tensor, share: Tensor | float) -> Tensor:
    """KL divergences of both targets of mixed instances, weighed as they are mixed, [..., B].

    Args:
        log_probs: of the mixed instances, [..., B, C].
        target: of the instances, [B, C].
        partners: [B].
        share: of the instance itself; the rest is its partner's.
    """
    own = kl_divergence(target.expand_as(log_probs), log_probs)
    return share * own + (1 - share) * kl_divergence(
        target[partners].expand_as(log_probs), log_probs
    )


class PaPi(ConfidenceState[PaPiHparams]):
    """The classifier's confidence teaches similarities with class prototypes, on mixed instances.

    Attributes:
        encoder: the network and its head.
        confidence: [N, C], weights of the candidates.
        prototypes: [C, E], unit rows, zero until a class is first seen.
        phi: share of the confidence that an update keeps in this epoch.
        proto_momentum: share of a prototype that one embedding's update keeps.
        alignment_weight: weight of the alignment with the prototypes.
    """

    hparams_type = PaPiHparams
    reference_epochs = 500
    family = "contrastive"
    year = 2023
    venue = "CVPR"
    prototypes: Tensor
    phi: Tensor
    proto_momentum: Tensor
    alignment_weight: Tensor

    def __init__(self, problem: Problem, hparams: PaPiHparams) -> None:
        super().__init__(problem, hparams)
        device, width = problem.candidates.device, hparams.embedding_size
        self.encoder = Encoder(problem.make_network(), width).to(device)
        self.register_buffer("prototypes", torch.zeros(problem.num_classes, width, device=device))

    @property
    def views(self) -> tuple[str, ...]:
        """The weak view, which is classified, and a strong one."""
        return ("weak", "strong")

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """What updates keep of confidence and prototypes, and the weight of the alignment."""
        hparams, length = self.hparams, self.reference_epochs
        return {
            "phi": lambda epoch: hparams.phi(epoch / length),
            "proto_momentum": lambda epoch: hparams.proto_momentum(epoch / length),
            "alignment_weight": hparams.alignment_weight,
        }

    def loss(self, batch: Batch) -> Step:
        """L_cls + weight * L_align; the argmax of the updated confidence is the pseudo label."""
        hparams = self.hparams
        share = draw_share(hparams.mixup_alpha, batch.index.device)
        partners = draw_partners(batch.index)
        blends = [mix(x, partners, share) for x in batch.x]
        logits, embeddings = self.encoder.views([*batch.x, *blends])  # [4, B, C], [4, B, E]
        inside = restrict(logits[:2].detach(), batch.candidates)  # [2, B, C]
        prototypes = self.prototypes.clone()  # as they are before this batch
        with torch.no_grad():
            plain, predicted = embeddings[:2].flatten(0, 1), inside.argmax(-1).flatten()
            moved = updated_prototypes(prototypes, plain, predicted, self.proto_momentum)
            self.prototypes.copy_(moved)
        target = self.target(batch.index).lerp(softmax(inside[0]), 1 - self.phi)
        self.renew(batch.index, target)
        classified = soft_cross_entropy(log_softmax(logits[0]), target).mean()
        similarity = embeddings[2:].flatten(0, 1) @ prototypes.T / hparams.temperature
        log_probs = log_softmax(similarity).unflatten(0, (2, -1))  # [2, B, C]
        aligned = alignment(log_probs, target, partners, share).mean(-1).sum()
        return Step(classified + self.alignment_weight * aligned, target.argmax(-1))

    def predict(self, x: Tensor) -> Tensor:
        """Logits [B, C] of the classifier."""
        logits: Tensor = self.encoder.network(x)[0]
        return logits
