"""Passes over the whole training set between epochs, and what is made from them.

Letters in shape comments: N training instances, C classes, D features.
"""

import math

import torch
from torch import Tensor

from pllbench.method import Network, TrainView

DISTANCES = 2**24
"""Distances that are held at once: 64 MiB."""


def plain_outputs(network: Network, train: TrainView) -> tuple[Tensor, Tensor, Tensor]:
    """Of all plain instances, in eval mode: logits [N, C], features [N, D], candidates [N, C]."""
    network.eval()
    outputs = [(*network(batch.x[0]), batch.candidates) for batch in train.batches()]
    network.train()
    logits, features, candidates = map(torch.cat, zip(*outputs, strict=True))
    return logits, features, candidates


def nearest_neighbours(features: Tensor, count: int) -> Tensor:
    """The `count` nearest other rows of every row, by Euclidean distance, nearest first.

    Args:
        features: [N, D].
        count: at most N - 1 come back; where N is 1, the row itself.

    Returns:
        int64 [N, count].
    """
    total = len(features)
    count = max(min(count, total - 1), 1)
    rows = torch.arange(total, device=features.device)
    found = []
    for part in rows.split(max(DISTANCES // total, 1)):
        distances = torch.cdist(features[part], features)
        distances.scatter_(1, part[:, None], math.inf)
        found.append(distances.topk(count, largest=False).indices)
    return torch.cat(found)
