"""PiCO: contrastive label disambiguation.

H. Wang, R. Xiao, Y. Li, L. Feng, G. Niu, G. Chen, J. Zhao: PiCO: Contrastive Label Disambiguation
for Partial Label Learning, ICLR 2022. The order of a step is that of the released code.

Letters in shape comments: B batch, C classes, E embedding, Q queue, P = 2 B + Q contrast pool.
"""

import copy
import math
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from pllbench.method import Batch, Hparams, Method, Network, Problem, Step
from pllbench_methods.losses import restrict, soft_cross_entropy, uniform_confidence


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


class Encoder(nn.Module):
    """A network with a projection head: logits [B, C] and unit embeddings [B, E]."""

    def __init__(self, network: Network, embedding_size: int) -> None:
        super().__init__()
        width = network.num_features
        self.network = network
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, embedding_size)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [B, C] and embeddings [B, E] of one view."""
        logits, features = self.network(x)
        return logits, F.normalize(self.head(features), dim=1)


def updated_prototypes(
    prototypes: Tensor, embeddings: Tensor, pseudo: Tensor, momentum: float, each: bool = False
) -> Tensor:
    """Moving averages of the embeddings by pseudo label, in batch order, unit rows [C, E].

    Args:
        prototypes: [C, E].
        embeddings: [B, E].
        pseudo: [B].
        momentum: share of a prototype that one update keeps.
        each: normalise after each update instead of once at the end.
    """
    if each:
        prototypes = prototypes.clone()
        for label, embedding in zip(pseudo.split(1), embeddings.split(1), strict=True):
            mixed = momentum * prototypes[label] + (1 - momentum) * embedding
            prototypes[label] = F.normalize(mixed, dim=1)
        return prototypes
    # Updates without normalisation in closed form: an embedding decays once for each later
    # embedding of its class, a prototype once for each embedding of its class.
    member = F.one_hot(pseudo, len(prototypes)).float()  # [B, C]
    later = (pseudo[:, None] == pseudo).triu(1).sum(1, keepdim=True)  # [B, 1]
    weight = (1 - momentum) * momentum**later
    mixed = momentum ** member.sum(0)[:, None] * prototypes + member.T @ (weight * embeddings)
    return F.normalize(mixed, dim=1)


def supervised_contrast(
    query: Tensor, pool: Tensor, positive: Tensor, temperature: float
) -> Tensor:
    """SupCon loss, a scalar: log share of each positive among all of the pool but the anchor.

    Args:
        query: anchors [B, E], which are also the first B rows of the pool.
        pool: [P, E].
        positive: bool [B, P]; an anchor itself never counts. Each row has another positive.
        temperature: of the similarities.
    """
    similarity = query @ pool.T / temperature  # [B, P]
    itself = torch.eye(*similarity.shape, dtype=torch.bool, device=similarity.device)
    log_total = similarity.masked_fill(itself, -math.inf).logsumexp(1)  # [B]
    weights = (positive & ~itself).float()
    return (log_total - (weights * similarity).sum(1) / weights.sum(1)).mean()


def instance_contrast(query: Tensor, key: Tensor, queue: Tensor, temperature: float) -> Tensor:
    """MoCo loss, a scalar: the own key [B, E] against the queue [Q, E]."""
    own = (query * key).sum(1, keepdim=True)  # [B, 1]
    similarity = torch.cat([own, query @ queue.T], 1) / temperature  # [B, 1 + Q]
    return -similarity.log_softmax(1)[:, 0].mean()


class PiCO(Method[PiCOHparams]):
    """Class prototypes of a contrastive embedding move the confidence of the candidates.

    Attributes:
        query: the encoder that is trained and predicts.
        key: its moving average, without gradient.
        confidence: [N, C], weights of the candidates.
        prototypes: [C, E], unit rows, zero until a class is first seen.
        queue: [Q, E], keys of earlier batches; random unit rows at first.
        queue_labels: [Q], their pseudo labels; -1, which matches none, at first.
        queue_pointer: where the next key goes.
    """

    hparams_type = PiCOHparams
    reference_epochs = 800
    confidence: Tensor
    prototypes: Tensor
    queue: Tensor
    queue_labels: Tensor
    queue_pointer: Tensor

    def __init__(self, problem: Problem, hparams: PiCOHparams) -> None:
        super().__init__(problem, hparams)
        device = problem.candidates.device
        size, width = hparams.queue_size, hparams.embedding_size
        self.query = Encoder(problem.make_network(), width).to(device)
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("confidence", uniform_confidence(problem.candidates))
        self.register_buffer("prototypes", torch.zeros(problem.num_classes, width, device=device))
        self.register_buffer("queue", F.normalize(torch.randn(size, width), dim=1).to(device))
        self.register_buffer("queue_labels", torch.full((size,), -1, device=device))
        self.register_buffer("queue_pointer", torch.tensor(0, device=device))

    @property
    def views(self) -> tuple[str, ...]:
        """The query view and the key view."""
        return ("query", "key")

    @property
    def phi(self) -> float:
        """Share of the confidence that an update keeps."""
        progress = self.epoch / self.epochs
        return self.hparams.phi_start + (self.hparams.phi_end - self.hparams.phi_start) * progress

    def loss(self, batch: Batch) -> Step:
        """L_cls + weight * L_cont; the argmax of the updated confidence is the pseudo label."""
        hparams, candidates = self.hparams, batch.candidates
        disambiguating = self.reference_epoch >= hparams.proto_start
        logits, query = self.query(batch.x[0])  # [B, C], [B, E]
        with torch.no_grad():
            pseudo = restrict(logits, candidates).argmax(1)  # [B]
            # The nearest prototypes, before this batch changes them.
            nearest = restrict(query @ self.prototypes.T, candidates).argmax(1)  # [B]
            momentum, each = hparams.proto_momentum, hparams.proto_norm == "each"
            self.prototypes.copy_(
                updated_prototypes(self.prototypes, query, pseudo, momentum, each)
            )
            self.update_key()
            _, key = self.key(batch.x[1])  # [B, E]
            target = self.confidence[batch.index]  # [B, C]
            if disambiguating:
                target = target.lerp(F.one_hot(nearest, target.shape[1]).float(), 1 - self.phi)
                self.confidence[batch.index] = target
        loss = soft_cross_entropy(logits.log_softmax(1), target).mean()
        if disambiguating:
            pool = torch.cat([query, key, self.queue])  # [P, E]
            labels = torch.cat([pseudo, pseudo, self.queue_labels])  # [P]
            positive = pseudo[:, None] == labels
            contrast = supervised_contrast(query, pool, positive, hparams.temperature)
            loss = loss + hparams.cont_weight * contrast
        elif hparams.warmup_cont == "moco":
            queue = self.queue.clone()  # autograd needs it as it is before the new keys
            contrast = instance_contrast(query, key, queue, hparams.temperature)
            loss = loss + hparams.cont_weight * contrast
        self.enqueue(key, pseudo)
        return Step(loss, target.argmax(1))

    def update_key(self) -> None:
        """Move the parameters of the key encoder towards the query's; BatchNorm keeps its own."""
        average = get_ema_multi_avg_fn(self.hparams.key_momentum)
        average(list(self.key.parameters()), list(self.query.parameters()), 0)

    def enqueue(self, key: Tensor, pseudo: Tensor) -> None:
        """Write keys [B, E] and pseudo labels [B] over the oldest; the last Q of them if B > Q."""
        size = len(self.queue)
        places = (self.queue_pointer + torch.arange(len(key), device=key.device))[-size:] % size
        self.queue[places] = key[-size:]
        self.queue_labels[places] = pseudo[-size:]
        self.queue_pointer.add_(len(key)).remainder_(size)

    def predict(self, x: Tensor) -> Tensor:
        """Logits [B, C] of the query encoder's classifier."""
        logits: Tensor = self.query.network(x)[0]
        return logits
