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

from pllbench.method import Batch, Schedule, Step
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.contrastive import instance_contrast
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.prototypes import PrototypeContrast, PrototypeHparams
from pllbench_methods.shared.softmax import log_softmax


class PiCOHparams(PrototypeHparams):
    """Hyperparameters of PiCO."""

    proto_norm: Literal["end_of_batch", "each"] = "end_of_batch"
    """Normalise prototypes once a batch (released code), or after each instance (paper; slow)."""
    proto_start: float = Field(default=1.0, ge=0)
    """Reference epoch (of 800) from which prototypes disambiguate; 100 for many classes."""
    warmup_cont: Literal["moco", "none"] = "moco"
    """Contrastive loss before proto_start: without labels (released code), or none (paper)."""


class PiCO(PrototypeContrast[PiCOHparams]):
    """Class prototypes of a contrastive embedding move the confidence of the candidates.

    Attributes:
        disambiguating: whether prototypes move the confidence in this epoch.
    """

    hparams_type = PiCOHparams
    reference_epochs = 800
    family = "contrastive"
    year = 2022
    venue = "ICLR"
    disambiguating: bool

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """What PiCO's successors have too, and the start of the prototypes."""
        start = self.hparams.proto_start
        return {**super().schedules, "disambiguating": lambda epoch: epoch >= start}

    def loss(self, batch: Batch) -> Step:
        """L_cls + weight * L_cont; the argmax of the updated confidence is the pseudo label."""
        hparams, candidates = self.hparams, batch.candidates
        logits, query = self.query(batch.x[0])  # [B, C], [B, E]
        with torch.no_grad():
            pseudo = restrict(logits, candidates).argmax(1)  # [B]
            # The nearest prototypes, before this batch changes them.
            nearest = restrict(query @ self.prototypes.T, candidates).argmax(1)  # [B]
            self.move_prototypes(query, pseudo, each=hparams.proto_norm == "each")
            key = self.key_embeddings(batch.x[1])  # [B, E]
            target = self.target(batch.index)  # [B, C]
            if self.disambiguating:
                weights = F.one_hot(nearest, target.shape[1]).float()
                target = self.move_confidence(batch.index, weights)
        loss = soft_cross_entropy(log_softmax(logits), target).mean()
        if self.disambiguating:
            loss = loss + hparams.cont_weight * self.label_contrast(query, key, pseudo)
        elif hparams.warmup_cont == "moco":
            queue = self.queue.clone()  # autograd needs it as it is before the new keys
            contrast = instance_contrast(query, key, queue, hparams.temperature)
            loss = loss + hparams.cont_weight * contrast
        self.enqueue(key, pseudo)
        return Step(loss, target.argmax(1))
