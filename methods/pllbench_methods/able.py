"""ABLE: contrastive learning with positives weighted by their ambiguity.

S. Xia, J. Lv, N. Xu, X. Geng: Ambiguity-Induced Contrastive Learning for Instance-Dependent Partial
Label Learning, IJCAI 2022. Steps and defaults are those of the released code, but for one slip of
it: see `ABLEHparams.weights_of`.

Letters in shape comments: B batch, C classes, E embedding, M = 2 B rows of both views.
"""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Step
from pllbench_methods.shared.confidence import ConfidenceState, restrict
from pllbench_methods.shared.contrastive import Encoder
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax, softmax

BASE_TEMPERATURE = 0.07
"""The contrastive loss is multiplied by its temperature's ratio to this."""


class ABLEHparams(Hparams):
    """Hyperparameters of ABLE."""

    embedding_size: int = Field(default=128, ge=1)
    """Width of the contrastive embedding."""
    temperature: float = Field(default=0.1, gt=0)
    """Temperature of the contrastive loss."""
    cont_weight: float = Field(default=1.0, ge=0)
    """Weight of the contrastive loss."""
    weights_of: Literal["instance", "position"] = "instance"
    """Whose confidence weighs a row's positives: its own, or that of the training row whose number
    is the row's place in the batch, as in the released code."""


def positive_weights(confidence: Tensor, candidates: Tensor, predicted: Tensor) -> Tensor:
    """Weight of each row of a batch as a positive of each other one, [B, B].

    Row j is a positive of row i if its predicted label is a candidate of i. It weighs as much as i
    believes in that label, shared among all rows of the batch that have it.

    Args:
        confidence: [B, C].
        candidates: [B, C].
        predicted: [B].
    """
    sharing = (predicted[:, None] == predicted).sum(0)  # [B]
    return (confidence * candidates)[:, predicted] / sharing


def weighted_contrast(embeddings: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """Mean over the anchors of the weighted cross entropy with all other rows, a scalar.

    Args:
        embeddings: unit rows [M, E], anchors and pool at once.
        weights: of the pool for each anchor, [M, M]; an anchor's own entry never counts.
        temperature: of the similarities.
    """
    similarity = embeddings @ embeddings.T / temperature  # [M, M]
    itself = torch.eye(len(embeddings), dtype=torch.bool, device=embeddings.device)
    log_shares = similarity.masked_fill(itself, -math.inf).log_softmax(1).masked_fill(itself, 0.0)
    return soft_cross_entropy(log_shares, weights).mean()


class ABLE(ConfidenceState[ABLEHparams]):
    """PRODEN on one view, and a contrast of two in which likely classmates attract each other.

    Attributes:
        encoder: the network and its head.
        confidence: [N, C], weights of the candidates.
    """

    hparams_type = ABLEHparams
    family = "contrastive"
    year = 2022
    venue = "IJCAI"

    def __init__(self, problem: Problem, hparams: ABLEHparams) -> None:
        super().__init__(problem, hparams)
        encoder = Encoder(problem.make_network(), hparams.embedding_size)
        self.encoder = encoder.to(problem.candidates.device)

    @property
    def views(self) -> tuple[str, ...]:
        """The query view, which is classified, and the key view."""
        return ("query", "key")

    def loss(self, batch: Batch) -> Step:
        """L_cls + weight * L_con; the argmax of the stored confidence is the pseudo label."""
        hparams, candidates = self.hparams, batch.candidates
        logits, embeddings = self.encoder.views(batch.x)  # [2, B, C], [2, B, E]
        target = self.target(batch.index)  # [B, C]
        weighing = target if hparams.weights_of == "instance" else self.confidence[: len(target)]
        inside = restrict(logits[0].detach(), candidates)  # [B, C]
        weights = positive_weights(weighing, candidates, inside.argmax(1))  # [B, B]
        contrast = weighted_contrast(
            embeddings.flatten(0, 1), weights.repeat(2, 2), hparams.temperature
        )
        self.renew(batch.index, softmax(inside))
        loss = soft_cross_entropy(log_softmax(logits[0]), target).mean()
        scale = hparams.cont_weight * hparams.temperature / BASE_TEMPERATURE
        return Step(loss + scale * contrast, target.argmax(1))

    def predict(self, x: Tensor) -> Tensor:
        """Logits [B, C] of the classifier."""
        logits: Tensor = self.encoder.network(x)[0]
        return logits
