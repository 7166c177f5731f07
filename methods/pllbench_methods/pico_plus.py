"""PiCO+: contrastive label disambiguation where the true label may be no candidate.

H. Wang, R. Xiao, Y. Li, L. Feng, G. Niu, G. Chen, J. Zhao: PiCO+: Contrastive Label Disambiguation
for Robust Partial Label Learning, TPAMI 2024. The order of a step is that of the released code.

Letters in shape comments: B batch, C classes, E embedding, Q queue, P = 2 B + Q contrast pool.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Problem, Schedule, Step, TrainView
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.contrastive import contrast_losses, instance_contrast
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.mixup import mixup_cross_entropy
from pllbench_methods.shared.prototypes import PrototypeContrast, PrototypeHparams
from pllbench_methods.shared.queues import queue_places
from pllbench_methods.shared.selection import mean_over
from pllbench_methods.shared.softmax import log_softmax, softmax


class PiCOPlusHparams(PrototypeHparams):
    """Hyperparameters of PiCO+."""

    proto_start: float = Field(default=5.0, ge=0)
    """Reference epoch (of 800) from which prototypes disambiguate and instances are selected."""
    pure_ratio: float = Field(default=0.6, gt=0, le=1)
    """Share of the instances that count as reliable; the authors' value, from no true rate."""
    oracle_noise_rate: float | None = Field(default=None, ge=0, lt=1)
    """The true share of sets without the true label: all others count as reliable, an oracle."""
    knn_start: float = Field(default=100.0, ge=0)
    """Reference epoch from which unreliable instances attract their neighbours."""
    num_neighbours: int = Field(default=16, ge=1)
    """Members of the contrast pool that an unreliable instance attracts, itself among them."""
    guess_temperature: float = Field(default=0.07, gt=0)
    """Temperature of the label guess for unreliable instances."""
    cls_weight: float = Field(default=2.0, ge=0)
    """Weight of the reliable instances' cross entropy."""
    unreliable_weight: float = Field(default=0.1, ge=0)
    """Weight of the unreliable ones' losses, and of the contrast with all pseudo labels."""
    mixup_alpha: float = Field(default=4.0, gt=0)
    """Parameter of mixup's Beta distribution."""
    mixup_weight: float = Field(default=1.0, ge=0)
    """Weight of mixup's cross entropy."""


class PiCOPlus(PrototypeContrast[PiCOPlusHparams]):
    """PiCO on the instances near the prototype of their candidates; the others are guessed.

    Attributes:
        distance: [N], minus the cosine of an embedding and the prototype of its best candidate.
        reliable: [N], whether an instance is among the nearest of the last epoch; all at first.
        queue_reliable: [Q], the same of the queue's entries.
        disambiguating: whether the warm-up is over in this epoch.
        attracting: whether unreliable instances attract their neighbours.
    """

    hparams_type = PiCOPlusHparams
    reference_epochs = 800
    family = "contrastive"
    year = 2024
    venue = "TPAMI"
    noisy_candidates = True
    distance: Tensor
    reliable: Tensor
    queue_reliable: Tensor
    disambiguating: bool
    attracting: bool

    def __init__(self, problem: Problem, hparams: PiCOPlusHparams) -> None:
        super().__init__(problem, hparams)
        device, num_rows = problem.candidates.device, len(problem.candidates)
        self.register_buffer("distance", torch.zeros(num_rows, device=device))
        self.register_buffer("reliable", torch.ones(num_rows, dtype=torch.bool, device=device))
        unseen = torch.zeros(hparams.queue_size, dtype=torch.bool, device=device)
        self.register_buffer("queue_reliable", unseen)

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """PiCO's, the end of the warm-up, and the start of the neighbours."""
        hparams = self.hparams
        return {
            **super().schedules,
            "disambiguating": lambda epoch: epoch >= hparams.proto_start,
            "attracting": lambda epoch: epoch >= hparams.knn_start,
        }

    def on_epoch_start(self, train: TrainView) -> None:  # noqa: ARG002 - the contract's
        """Select the nearest instances as reliable."""
        if self.disambiguating:
            num_rows, rate = len(self.distance), self.hparams.oracle_noise_rate
            count = int(num_rows * self.hparams.pure_ratio)
            if rate is not None:
                count = round(num_rows * (1 - rate))
            self.reliable.fill_(False)
            self.reliable[self.distance.argsort(stable=True)[:count]] = True

    def loss(self, batch: Batch) -> Step:
        """L_cls + L_cont; the pseudo label is the argmax of the confidence, or of the guess.

        The guess is for unreliable instances and may be no candidate.
        """
        hparams, candidates, index = self.hparams, batch.candidates, batch.index
        reliable = self.reliable[index]  # [B]
        logits, query = self.query(batch.x[0])  # [B, C], [B, E]
        with torch.no_grad():
            inside = restrict(logits, candidates).argmax(1)  # [B]
            pseudo = torch.where(reliable, inside, logits.argmax(1))
            similarity = query @ self.prototypes.T  # [B, C], before the batch changes them
            self.distance[index] = -similarity.gather(1, inside[:, None])[:, 0]
            self.move_prototypes(query, torch.where(reliable, pseudo, -1))
            key = self.key_embeddings(batch.x[1])  # [B, E]
            target = self.target(index)  # [B, C]
            if self.disambiguating:
                nearest = restrict(similarity, candidates).argmax(1)
                weights = F.one_hot(nearest, target.shape[1]).float()
                target = self.move_confidence(index, weights)
                guess = softmax(similarity / hparams.guess_temperature)
                target = torch.where(reliable[:, None], target, guess)
        losses = soft_cross_entropy(log_softmax(logits), target)  # [B]
        if self.disambiguating:
            loss = self.classification(batch.x[0], losses, target, reliable)
            loss = loss + self.contrast(query, key, pseudo, reliable)
        else:
            queue = self.queue.clone()  # autograd needs it as it is before the new keys
            contrast = instance_contrast(query, key, queue, hparams.temperature)
            loss = losses.mean() + hparams.cont_weight * contrast
        places = queue_places(self.queue_pointer, len(key), hparams.queue_size)
        self.queue_reliable[places] = reliable[-hparams.queue_size :]
        self.enqueue(key, pseudo)
        return Step(loss, target.argmax(1))

    def classification(self, x: Tensor, losses: Tensor, target: Tensor, reliable: Tensor) -> Tensor:
        """L_cls, a scalar: mixup on all rows, and the means over both kinds of rows, 0 if none.

        Args:
            x: the query view.
            losses: cross entropy [B] with the target.
            target: [B, C].
            reliable: bool [B].
        """
        hparams = self.hparams
        trusted = mean_over(reliable, losses)
        guessed = mean_over(~reliable, losses)
        mixed = mixup_cross_entropy(self.predict, x, target, hparams.mixup_alpha)
        return (
            hparams.mixup_weight * mixed
            + hparams.cls_weight * trusted
            + hparams.unreliable_weight * guessed
        )

    def contrast(self, query: Tensor, key: Tensor, pseudo: Tensor, reliable: Tensor) -> Tensor:
        """L_cont, a scalar: reliable positives or neighbours, and weakly all of a pseudo label."""
        hparams = self.hparams
        pool = torch.cat([query, key, self.queue])  # [P, E]
        labels = torch.cat([pseudo, pseudo, self.queue_labels])  # [P]
        trusted = torch.cat([reliable, reliable, self.queue_reliable])  # [P]
        positive = (pseudo[:, None] == labels) & trusted & reliable[:, None]  # [B, P]
        anchor_weights = torch.ones_like(reliable, dtype=torch.float32)
        if self.attracting:
            count = min(hparams.num_neighbours, len(pool))
            near = (query.detach() @ pool.detach().T).topk(count).indices  # [B, count]
            neighbours = torch.zeros_like(positive).scatter(1, near, True)
            positive = torch.where(reliable[:, None], positive, neighbours)
            weights = hparams.cont_weight, hparams.unreliable_weight
            anchor_weights = torch.where(reliable, *weights)
        columns = torch.arange(len(pool), device=pool.device)
        own_key = columns == columns[: len(key), None] + len(query)  # [B, P]
        losses = contrast_losses(query, pool, (positive | own_key).float(), hparams.temperature)
        relaxed = self.label_contrast(query, key, pseudo)
        return (anchor_weights * losses).mean() + hparams.unreliable_weight * relaxed
