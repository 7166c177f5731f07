"""Contrastive learning: projection heads, momentum encoders, prototypes, queues and losses.

P. Khosla et al.: Supervised Contrastive Learning, NeurIPS 2020. K. He et al.: Momentum Contrast for
Unsupervised Visual Representation Learning, CVPR 2020.

Letters in shape comments: B batch, C classes, E embedding, K keys, Q queue.
"""

import copy
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from pllbench.method import H, Method, Network, Problem
from pllbench_methods.shared.queues import queue_places


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

    def views(self, xs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Logits [V, B, C] and embeddings [V, B, E] of several views of one batch."""
        logits, features = self.network.views(xs)
        return logits, F.normalize(self.head(features), dim=-1)


def updated_prototypes(
    prototypes: Tensor,
    embeddings: Tensor,
    pseudo: Tensor,
    momentum: Tensor | float,
    each: bool = False,
) -> Tensor:
    """Moving averages of the embeddings by pseudo label, in batch order, unit rows [C, E].

    Args:
        prototypes: [C, E].
        embeddings: [B, E].
        pseudo: [B]; an embedding of label -1 moves no prototype.
        momentum: share of a prototype that one update keeps.
        each: normalise after each update instead of once at the end.
    """
    if each:
        prototypes = torch.cat([prototypes, torch.zeros_like(prototypes[:1])])  # label -1 is last
        for label, embedding in zip(pseudo.split(1), embeddings.split(1), strict=True):
            mixed = momentum * prototypes[label] + (1 - momentum) * embedding
            prototypes[label] = F.normalize(mixed, dim=1)
        return prototypes[:-1]
    # Updates without normalisation in closed form: an embedding decays once for each later
    # embedding of its class, a prototype once for each embedding of its class.
    member = members(pseudo, len(prototypes))  # [B, C]
    later = (pseudo[:, None] == pseudo).triu(1).sum(1, keepdim=True)  # [B, 1]
    weight = (1 - momentum) * momentum**later
    mixed = momentum ** member.sum(0)[:, None] * prototypes + member.T @ (weight * embeddings)
    return F.normalize(mixed, dim=1)


def members(labels: Tensor, num_classes: int) -> Tensor:
    """One-hot rows, float [B, C]; that of a label which is no class, such as -1, is zero."""
    return (labels[:, None] == torch.arange(num_classes, device=labels.device)).float()


def contrast_losses(query: Tensor, pool: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """SupCon loss of every anchor, [B]: weighted mean log share of its positives in the pool.

    The share is among all of the pool but the anchor itself.

    Args:
        query: anchors [B, E], which are also the first B rows of the pool.
        pool: [P, E].
        weights: [B, P], of the positives, in any scale; an anchor itself never counts. Each row has
            another positive.
        temperature: of the similarities.
    """
    similarity = query @ pool.T / temperature  # [B, P]
    itself = torch.eye(*similarity.shape, dtype=torch.bool, device=similarity.device)
    log_total = similarity.masked_fill(itself, -math.inf).logsumexp(1)  # [B]
    weights = weights.masked_fill(itself, 0.0)
    return log_total - (weights * similarity).sum(1) / weights.sum(1)


def supervised_contrast(
    query: Tensor, keys: Tensor, member: Tensor, key_member: Tensor, temperature: float
) -> Tensor:
    """SupCon loss, a scalar: the mean of `contrast_losses`, where one class's rows weigh alike.

    The pool is the queries and the keys, the positives of an anchor are those of its class. Their
    mean similarity is that to their sum, so no [B, B + K] mask is made.

    Args:
        query: anchors [B, E].
        keys: the rest of the pool [K, E]; no gradient goes to them.
        member: classes of the anchors, one-hot [B, C]. Each has another positive.
        key_member: classes of the keys, one-hot or zero [K, C].
        temperature: of the similarities.
    """
    scaled, keys = query / temperature, keys.detach()
    itself = torch.eye(len(query), dtype=torch.bool, device=query.device)
    others = (scaled @ query.T).masked_fill(itself, -math.inf)  # [B, B]
    similarity = torch.cat([others, scaled @ keys.T], 1)  # [B, B + K]
    # Their logsumexp, by any finite column: log_softmax is one kernel, logsumexp several passes.
    log_total = similarity[:, -1] - similarity.log_softmax(1)[:, -1]  # [B]
    sums = member.T @ query + key_member.T @ keys  # [C, E]
    counts = member.sum(0) + key_member.sum(0)  # [C]
    positives = member @ sums - query  # [B, E]
    return (log_total - (scaled * positives).sum(1) / (member @ counts - 1)).mean()


def instance_contrast(query: Tensor, key: Tensor, queue: Tensor, temperature: float) -> Tensor:
    """MoCo loss, a scalar: the own key [B, E] against the queue [Q, E]."""
    own = (query * key).sum(1, keepdim=True)  # [B, 1]
    similarity = torch.cat([own, query @ queue.T], 1) / temperature  # [B, 1 + Q]
    return -similarity.log_softmax(1)[:, 0].mean()


class MomentumContrast(Method[H]):
    """A method with a query encoder, the moving average of it, and a queue of the average's keys.

    Attributes:
        query: the encoder that is trained.
        key: its moving average, without gradient.
        queue: [Q, E], keys of earlier batches; random unit rows at first.
        queue_labels: [Q], their pseudo labels; -1, which matches none, at first.
        queue_pointer: where the next key goes.
    """

    query: Encoder
    key: Encoder
    queue: Tensor
    queue_labels: Tensor
    queue_pointer: Tensor

    def make_encoders(self, problem: Problem, embedding_size: int) -> None:
        """Make the query encoder, and the key encoder as a copy of it."""
        self.query = Encoder(problem.make_network(), embedding_size).to(problem.candidates.device)
        self.key = copy.deepcopy(self.query).requires_grad_(False)

    def make_queue(self, size: int, embedding_size: int, device: torch.device) -> None:
        """Make the queue as buffers."""
        keys = F.normalize(torch.randn(size, embedding_size), dim=1)
        self.register_buffer("queue", keys.to(device))
        self.register_buffer("queue_labels", torch.full((size,), -1, device=device))
        self.register_buffer("queue_pointer", torch.tensor(0, device=device))

    def update_key(self, momentum: float) -> None:
        """Move the parameters of the key encoder towards the query's; BatchNorm keeps its own."""
        average = get_ema_multi_avg_fn(momentum)
        average(list(self.key.parameters()), list(self.query.parameters()), 0)

    def enqueue(self, key: Tensor, pseudo: Tensor) -> None:
        """Write keys [B, E] and pseudo labels [B] over the oldest; the last Q of them if B > Q."""
        size = len(self.queue)
        places = queue_places(self.queue_pointer, len(key), size)
        self.queue[places] = key[-size:]
        self.queue_labels[places] = pseudo[-size:]
        self.queue_pointer.add_(len(key)).remainder_(size)

    def predict(self, x: Tensor) -> Tensor:
        """Logits [B, C] of the query encoder's classifier."""
        logits: Tensor = self.query.network(x)[0]
        return logits
