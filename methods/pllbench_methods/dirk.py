"""DIRK: distilling reliable knowledge for instance-dependent partial-label learning.

D.-D. Wu, D.-B. Wang, M.-L. Zhang: Distilling Reliable Knowledge for Instance-Dependent Partial
Label Learning, AAAI 2024. DIRK-REF is the same with `ref_weight` = 1.

The teacher starts as a copy of the student; the released one is another random network.

Letters in shape comments: B batch, C classes, E embedding, Q queue, P = 2 B + Q contrast pool.
"""

from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Problem, Schedule, Step
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.contrastive import (
    Encoder,
    MomentumContrast,
    contrast_losses,
    instance_contrast,
)
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.queues import queue_places
from pllbench_methods.shared.softmax import log_softmax, softmax


class DIRKHparams(Hparams):
    """Hyperparameters of DIRK."""

    teacher_momentum: float = Field(default=0.99, ge=0, le=1)
    """Share of the teacher's parameters that a step keeps."""
    teacher_init: Literal["copy", "random"] = "copy"
    """Where the teacher starts: as a copy of the student, or anew, as released."""
    ref_weight: float = Field(default=0.0, ge=0)
    """Weight of the refined contrastive loss: 0 is DIRK, 1 is DIRK-REF."""
    embedding_size: int = Field(default=128, ge=1)
    """Width of the contrastive embedding."""
    queue_size: int = Field(default=4096, ge=1)
    """Teacher embeddings of earlier batches that stay in the contrast pool."""
    temperature: float = Field(default=0.07, gt=0)
    """Temperature of the contrastive loss."""
    target_temperature: float = Field(default=0.4, gt=0)
    """Temperature at which the similarity of targets weighs the positives."""
    ref_start: float = Field(default=1.0, ge=0)
    """Reference epoch (of 500) from which the contrast uses targets; MoCo's before it."""


def rectify(logits: Tensor, candidates: Tensor) -> Tensor:
    """The teacher's rectified distribution [B, C]: no non-candidate is above a candidate.

    A mixture of p on the candidates and p on the others, both normalised. Its share makes the
    least candidate's weight 1 / p(Y) times that of the greatest non-candidate; it is a sigmoid of
    logs, since p(Y) may underflow.
    """
    log_probs = log_softmax(logits)
    full = candidates.all(1, keepdim=True)
    inside = restrict(log_probs, candidates)
    outside = restrict(log_probs, ~candidates | full)  # of a full set, its share is 0
    least = torch.where(candidates, log_probs, torch.inf).amin(1, keepdim=True)
    greatest = outside.amax(1, keepdim=True)
    share = (greatest - outside.logsumexp(1, keepdim=True) - least).sigmoid()
    share = torch.where(full, 1.0, share)
    return share * softmax(inside) + (1 - share) * softmax(outside)


class DIRK(MomentumContrast[DIRKHparams]):
    """A teacher, the moving average of the student, gives the student rectified distributions.

    Attributes:
        query: the student.
        key: the teacher.
        queue: DIRK-REF: [Q, E], embeddings by the teacher; random unit rows at first.
        queue_labels: DIRK-REF: [Q], their pseudo labels; -1, which matches none, at first.
        queue_targets: DIRK-REF: [Q, C], their rectified distributions.
        queue_pointer: DIRK-REF: where the next entry goes.
        refining: DIRK-REF: whether the contrast uses targets in this epoch.
    """

    hparams_type = DIRKHparams
    reference_epochs = 500
    family = "contrastive"
    year = 2024
    venue = "AAAI"
    queue_targets: Tensor
    refining: bool

    def __init__(self, problem: Problem, hparams: DIRKHparams) -> None:
        super().__init__(problem, hparams)
        size, width, device = hparams.queue_size, hparams.embedding_size, problem.candidates.device
        self.make_encoders(problem, width)
        if hparams.teacher_init == "random":
            self.key = Encoder(problem.make_network(), width).to(device).requires_grad_(False)
        if hparams.ref_weight > 0:
            self.make_queue(size, width, device)
            targets = torch.zeros(size, problem.num_classes, device=device)
            self.register_buffer("queue_targets", targets)

    @property
    def views(self) -> tuple[str, ...]:
        """The view that is taught; with the contrast, the teacher's and the student's before it."""
        return ("query", "key", "strong") if self.hparams.ref_weight > 0 else ("strong",)

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The start of the refined contrast."""
        start = self.hparams.ref_start
        return {"refining": lambda epoch: epoch >= start} if self.hparams.ref_weight > 0 else {}

    def loss(self, batch: Batch) -> Step:
        """Cross entropy with the rectified distribution, whose argmax is the pseudo label."""
        contrasting = self.hparams.ref_weight > 0
        with torch.no_grad():
            key = self.key(batch.x[0])[1] if contrasting else None
            target = rectify(self.key.network(batch.x[-1])[0], batch.candidates)  # [B, C]
            pseudo = restrict(target, batch.candidates).argmax(1)  # ties are the candidates'
        query = self.query(batch.x[1])[1] if contrasting else None
        logits = self.query.network(batch.x[-1])[0]  # [B, C]
        loss = soft_cross_entropy(log_softmax(logits), target).mean()
        if query is not None and key is not None:
            contrast = self.contrast(query, key, target, pseudo)
            loss = loss + self.hparams.ref_weight * contrast
            size = len(self.queue)
            places = queue_places(self.queue_pointer, len(key), size)
            self.queue_targets[places] = target[-size:]
            self.enqueue(key, pseudo)
        return Step(loss, pseudo)

    def contrast(self, query: Tensor, key: Tensor, target: Tensor, pseudo: Tensor) -> Tensor:
        """L_ref, a scalar: positives have the pseudo label, and weigh as their target is similar.

        The paper asks for a common candidate besides. Rows of one pseudo label have that.
        """
        hparams = self.hparams
        if not self.refining:
            return instance_contrast(query, key, self.queue.clone(), hparams.temperature)
        pool = torch.cat([query, key, self.queue])  # [P, E]
        labels = torch.cat([pseudo, pseudo, self.queue_labels])  # [P]
        targets = F.normalize(torch.cat([target, target, self.queue_targets]), dim=1)  # [P, C]
        similarity = F.normalize(target, dim=1) @ targets.T / hparams.target_temperature
        weights = similarity.exp() * (pseudo[:, None] == labels)  # [B, P]
        return contrast_losses(query, pool, weights, hparams.temperature).mean()

    def after_step(self, batch: Batch) -> None:  # noqa: ARG002 - the contract's
        """Move the teacher towards the updated student."""
        self.update_key(self.hparams.teacher_momentum)
