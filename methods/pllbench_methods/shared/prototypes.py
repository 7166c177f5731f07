"""What PiCO and its successors share: class prototypes and a confidence beside momentum contrast.

H. Wang, R. Xiao, Y. Li, L. Feng, G. Niu, G. Chen, J. Zhao: PiCO: Contrastive Label Disambiguation
for Partial Label Learning, ICLR 2022.

Letters in shape comments: B batch, C classes, E embedding, Q queue.
"""

from collections.abc import Mapping
from typing import TypeVar

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Hparams, Problem, Schedule
from pllbench_methods.shared.confidence import ConfidenceState
from pllbench_methods.shared.contrastive import (
    MomentumContrast,
    members,
    supervised_contrast,
    updated_prototypes,
)


class PrototypeHparams(Hparams):
    """Hyperparameters of PiCO and its successors."""

    embedding_size: int = Field(default=128, ge=1)
    """Width of the contrastive embedding."""
    queue_size: int = Field(default=8192, ge=1)
    """Key embeddings of earlier batches that stay in the contrast pool."""
    key_momentum: float = Field(default=0.999, ge=0, le=1)
    """Share of the key encoder's parameters that a step keeps."""
    proto_momentum: float = Field(default=0.99, ge=0, le=1)
    """Share of a class prototype that one instance's update keeps."""
    temperature: float = Field(default=0.07, gt=0)
    """Temperature of the contrastive loss."""
    cont_weight: float = Field(default=0.5, ge=0)
    """Weight of the contrastive loss."""
    phi_start: float = Field(default=0.95, ge=0, le=1)
    """Share of the confidence that an update keeps, at the first epoch."""
    phi_end: float = Field(default=0.8, ge=0, le=1)
    """The same at the end of the run; linear in between."""


P = TypeVar("P", bound=PrototypeHparams)


class PrototypeContrast(ConfidenceState[P], MomentumContrast[P]):
    """A query and a key encoder, a queue of keys, class prototypes and a confidence.

    Attributes:
        query: the encoder that is trained and predicts.
        key: its moving average, without gradient.
        confidence: [N, C], weights of the classes.
        prototypes: [C, E], unit rows, zero until a class is first seen.
        queue: [Q, E], keys of earlier batches; random unit rows at first.
        queue_labels: [Q], their pseudo labels; -1, which matches none, at first.
        queue_pointer: where the next key goes.
        phi: share of the confidence that an update keeps in this epoch.
    """

    prototypes: Tensor
    phi: Tensor

    def __init__(self, problem: Problem, hparams: P) -> None:
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
        """What an update keeps of the confidence."""
        start, length = self.hparams.phi_start, self.reference_epochs
        rise = self.hparams.phi_end - start
        return {"phi": lambda epoch: start + rise * epoch / length}

    def move_prototypes(self, query: Tensor, pseudo: Tensor, each: bool = False) -> None:
        """Move the prototypes towards the embeddings [B, E] of their pseudo labels [B].

        -1 stands for no class, and `each` for a normalisation after each instance.
        """
        momentum = self.hparams.proto_momentum
        self.prototypes.copy_(updated_prototypes(self.prototypes, query, pseudo, momentum, each))

    def key_embeddings(self, x: Tensor) -> Tensor:
        """Embeddings [B, E] of a view, from the key encoder after its update."""
        self.update_key(self.hparams.key_momentum)
        key: Tensor = self.key(x)[1]
        return key

    def move_confidence(self, index: Tensor, weights: Tensor) -> Tensor:
        """Move the confidence of the rows `index` [B] towards weights and return it, [B, C]."""
        target = self.target(index).lerp(weights, 1 - self.phi)
        self.renew(index, target)
        return target

    def label_contrast(self, query: Tensor, key: Tensor, pseudo: Tensor) -> Tensor:
        """Contrastive loss, a scalar, whose positives are all of the pool with the pseudo label.

        The pool is queries [B, E], their keys [B, E] and the queue.
        """
        num_classes = len(self.prototypes)
        member = members(pseudo, num_classes)  # [B, C]
        key_member = torch.cat([member, members(self.queue_labels, num_classes)])  # [B + Q, C]
        keys = torch.cat([key, self.queue])  # [B + Q, E]
        return supervised_contrast(query, keys, member, key_member, self.hparams.temperature)
