"""The training rows as a whole, and the nearest of them.

Letters in shape comments: N training instances, M instances that are asked about, C classes, D
features, K neighbours.
"""

from math import prod
from typing import TypeVar

import torch
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits
from torch import Tensor

from pllbench.method import FittedMethod, Hparams, Problem, TrainView

H = TypeVar("H", bound=Hparams)

CHUNK = 1024
"""Rows whose differences from their neighbours are in memory at once."""


def all_rows(train: TrainView) -> tuple[Tensor, Tensor]:
    """The plain training rows in order, flattened to [N, D], and their candidate sets [N, C]."""
    batches = list(train.batches())
    rows = torch.cat([batch.x[0].flatten(1) for batch in batches])
    return rows, torch.cat([batch.candidates for batch in batches])


def nearest(rows: Tensor, x: Tensor | None, num: int) -> tuple[Tensor, Tensor]:
    """The nearest of some rows by Euclidean distance; of equally far ones, the earlier first.

    Which of several rows at the distance of the last neighbour is taken, is the library's choice.

    Args:
        rows: [N, D].
        x: [M, D]; None for the rows themselves, which are no neighbours of their own.
        num: K, at most; fewer where there are not so many rows.

    Returns:
        Distances, float64 and ascending, and row numbers: [M, K] each.
    """
    if x is None and len(rows) < 2:
        raise ValueError("a single training row has no neighbours")
    points = rows.cpu()
    asked = points if x is None else x.cpu()
    # As many threads as torch has: workers share the cores, and sums depend on the number.
    with threadpool_limits(torch.get_num_threads()):
        search = NearestNeighbors(n_neighbors=min(num, len(rows) - (x is None)), algorithm="brute")
        search.fit(points.numpy())
        found = search.kneighbors(None if x is None else asked.numpy(), return_distance=False)
    index = torch.from_numpy(found).sort(1).values
    # The library's distances are of dot products: those of equal rows are not quite 0.
    distances = torch.cat(
        [
            torch.linalg.vector_norm(points[near].double() - some[:, None].double(), dim=2)
            for near, some in zip(index.split(CHUNK), asked.split(CHUNK), strict=True)
        ]
    )
    distances, order = distances.sort(dim=1, stable=True)
    return distances.to(rows.device), index.gather(1, order).to(rows.device)


class InstanceBased(FittedMethod[H]):
    """A method that keeps the training rows, and predicts from the nearest of them.

    Attributes:
        rows: [N, D].
    """

    rows: Tensor

    def __init__(self, problem: Problem, hparams: H) -> None:
        super().__init__(problem, hparams)
        sets = problem.candidates
        empty = torch.zeros(len(sets), prod(problem.shape), device=sets.device)
        self.register_buffer("rows", empty)
