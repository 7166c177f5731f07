"""PiCO: contrastive label disambiguation.

H. Wang, R. Xiao, Y. Li, L. Feng, G. Niu, G. Chen, J. Zhao: PiCO: Contrastive Label Disambiguation
for Partial Label Learning, ICLR 2022. The order of a step is that of the released code.

Letters in shape comments: B batch, C classes, E embedding, Q queue.
"""

from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Schedule, Step
from pllbench_methods.shared.confidence import ConfidenceState, restrict
from pllbench_methods.shared.contrastive import (
    MomentumContrast,
    instance_contrast,
    members,
    supervised_contrast,
    updated_prototypes,
)
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax


class PiCOHparams(Hparams):
    """Hyperparameters of PiCO."""

    embedding_size: int = Field(default=128, ge=1)
    """Width of the contrastive embedding."""
    queue_size: int = Field(default=8192, ge=1)
    """Key embeddings of earlier batches that stay in the contrast pool."""
    key_momentum: float = Field(default=0.999, ge=0, le=1)
    """Share of the key encoder's parameters that a step keeps."""
    proto_momentum: float = Field(default=0.99, ge=0, le=1)
    """Share of a class prototype that one instance's update keeps."""
    proto_norm: Literal["end_of_batch", "each"] = "end_of_batch"
    """Normalise prototypes once a batch (released code), or after each instance (paper; slow)."""
    proto_start: float = Field(default=1.0, ge=0)
    """Reference epoch (of 800) from which prototypes disambiguate; 100 for many classes."""
    warmup_cont: Literal["moco", "none"] = "moco"
    """Contrastive loss before proto_start: without labels (released code), or none (paper)."""
    temperature: float = Field(default=0.07, gt=0)
    """Temperature of the contrastive loss."""
    cont_weight: float = Field(default=0.5, ge=0)
    """Weight of the contrastive loss."""
    phi_start: float = Field(default=0.95, ge=0, le=1)
    """Share of the confidence that an update keeps, at the first epoch."""
    phi_end: float = Field(default=0.8, ge=0, le=1)
    """The same at the end of the run; linear in between."""


class PiCO(ConfidenceState[PiCOHparams], MomentumContrast[PiCOHparams]):
    """Class prototypes of a contrastive embedding move the confidence of the candidates.

    Attributes:
        query: the encoder that is trained and predicts.
        key: its moving average, without gradient.
        confidence: [N, C], weights of the candidates.
        prototypes: [C, E], unit rows, zero until a class is first seen.
        queue: [Q, E], keys of earlier batches; random unit rows at first.
        queue_labels: [Q], their pseudo labels; -1, which matches none, at first.
        queue_pointer: where the next key goes.
        phi: share of the confidence that an update keeps in this epoch.
        disambiguating: whether prototypes move the confidence.
    """

    hparams_type = PiCOHparams
    version = 2
    reference_epochs = 800
    prototypes: Tensor
    phi: Tensor
    disambiguating: bool

    def __init__(self, problem: Problem, hparams: PiCOHparams) -> None:
        super().__init__(problem, hparams)
        device = problem.candidates.device
        size, width = hparams.queue_size, hparams.embedding_size
        self.make_encoders(problem, width)
        self.register_buffer("prototypes", torch.zeros(problem.num_classes, width, device=device))
        self.make_queue(size, width, device)

    @property
    def views(self) -> tuple[str, ...]:
        """The query view and the key view."""
        return ("query", "key")

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """What an update keeps of the confidence, and the start of the prototypes."""
        hparams = self.hparams
        fall = (hparams.phi_start - hparams.phi_end) / self.reference_epochs
        return {
            "phi": lambda epoch: hparams.phi_start - fall * epoch,
            "disambiguating": lambda epoch: epoch >= hparams.proto_start,
        }

    def loss(self, batch: Batch) -> Step:
        """L_cls + weight * L_cont; the argmax of the updated confidence is the pseudo label."""
        hparams, candidates = self.hparams, batch.candidates
        logits, query = self.query(batch.x[0])  # [B, C], [B, E]
        with torch.no_grad():
            pseudo = restrict(logits, candidates).argmax(1)  # [B]
            # The nearest prototypes, before this batch changes them.
            nearest = restrict(query @ self.prototypes.T, candidates).argmax(1)  # [B]
            momentum, each = hparams.proto_momentum, hparams.proto_norm == "each"
            self.prototypes.copy_(
                updated_prototypes(self.prototypes, query, pseudo, momentum, each)
            )
            self.update_key(hparams.key_momentum)
            _, key = self.key(batch.x[1])  # [B, E]
            target = self.target(batch.index)  # [B, C]
            if self.disambiguating:
                target = target.lerp(F.one_hot(nearest, target.shape[1]).float(), 1 - self.phi)
                self.renew(batch.index, target)
        loss = soft_cross_entropy(log_softmax(logits), target).mean()
        if self.disambiguating:
            keys = torch.cat([key, self.queue])  # [B + Q, E]
            num_classes = candidates.shape[1]
            member = members(pseudo, num_classes)  # [B, C]
            key_member = torch.cat([member, members(self.queue_labels, num_classes)])
            contrast = supervised_contrast(query, keys, member, key_member, hparams.temperature)
            loss = loss + hparams.cont_weight * contrast
        elif hparams.warmup_cont == "moco":
            queue = self.queue.clone()  # autograd needs it as it is before the new keys
            contrast = instance_contrast(query, key, queue, hparams.temperature)
            loss = loss + hparams.cont_weight * contrast
        self.enqueue(key, pseudo)
        return Step(loss, target.argmax(1))

    def predict(self, x: Tensor) -> Tensor:
        """Logits [B, C] of the query encoder's classifier."""
        logits: Tensor = self.query.network(x)[0]
        return logits
