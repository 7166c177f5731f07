"""IPAL: label propagation among the training rows, prediction by reconstruction.

M.-L. Zhang, F. Yu: Solving the Partial Label Learning Problem: An Instance-Based Approach, IJCAI
2015.

A row whose neighbours all have weight 0 takes part in the propagation with its own candidates
alone. In prediction, labels that no neighbour has are left out: their part of the reconstruction is
0, which could otherwise be the nearest one.

Letters in shape comments: N training instances, M instances that are asked about, C classes, D
features, K neighbours.
"""

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from scipy.optimize import nnls
from scipy.sparse import csr_array
from torch import Tensor

from pllbench.method import Hparams, Problem, TrainView
from pllbench_methods.shared.confidence import restrict, uniform_confidence
from pllbench_methods.shared.rows import InstanceBased, all_rows, nearest


class IPALHparams(Hparams):
    """Hyperparameters of IPAL."""

    num_neighbours: int = Field(default=10, ge=1)
    """Neighbours of a row, in training and in prediction."""
    alpha: float = Field(default=0.95, ge=0, lt=1)
    """Share of the neighbours in a row's confidence; the rest is uniform on its candidates."""
    num_iterations: int = Field(default=100, ge=0)
    """Rounds of the propagation."""


def reconstruction_weights(rows: Tensor, x: Tensor, index: Tensor) -> npt.NDArray[np.float64]:
    """Weights [M, K] >= 0 with which neighbours, summed, come nearest to x [M, D].

    `index` [M, K] says which of the `rows` [N, D] they are.
    """
    points = rows.cpu().numpy()
    pairs = zip(x.cpu().numpy(), index.cpu().numpy(), strict=True)
    # three rounds a neighbour, SciPy's default, end too early for columns of very unequal size
    rounds = 100 * index.shape[1]
    return np.stack([nnls(points[near].T, point, maxiter=rounds)[0] for point, near in pairs])


def neighbour_graph(weights: npt.NDArray[np.float64], index: Tensor) -> csr_array:
    """W [N, N] with the weights [N, K] at the neighbours `index` [N, K]; rows sum to 1, or to 0."""
    num_rows, num_neighbours = index.shape
    total = weights.sum(1, keepdims=True)
    shares = weights / np.where(total > 0, total, 1.0)
    ends = np.arange(num_rows + 1) * num_neighbours
    entries = shares.ravel(), index.cpu().numpy().ravel(), ends
    return csr_array(entries, shape=(num_rows, num_rows))


def propagate(weights: csr_array, candidates: Tensor, alpha: float, num_iterations: int) -> Tensor:
    """Confidence [N, C], float64, after rounds of F <- alpha W F + (1 - alpha) F_0.

    F_0 is uniform on the candidates [N, C], and each round's F is restricted to them and
    normalised. `weights` is W [N, N], whose rows sum to 1 or 0.
    """
    mask = candidates.double().numpy()
    initial = uniform_confidence(candidates).double().numpy()
    confidence = initial
    for _ in range(num_iterations):
        confidence = (alpha * (weights @ confidence) + (1 - alpha) * initial) * mask
        confidence /= confidence.sum(1, keepdims=True)
    return torch.from_numpy(confidence)


def balanced_labels(confidence: Tensor, candidates: Tensor) -> Tensor:
    """Labels [N]: the best candidates once each class has the mass that it began with.

    A class that is nobody's candidate has no mass, and is masked.
    """
    mass = uniform_confidence(candidates).double().sum(0) / confidence.sum(0)  # [C]
    return restrict(confidence * mass, candidates).argmax(1)


class IPAL(InstanceBased[IPALHparams]):
    """Labels spread over a graph of neighbours, then a row takes that which reconstructs it best.

    Attributes:
        rows: [N, D].
        pseudo: [N], the labels that the propagation leaves.
    """

    hparams_type = IPALHparams
    family = "classical"
    year = 2015
    venue = "IJCAI"
    pseudo: Tensor

    def __init__(self, problem: Problem, hparams: IPALHparams) -> None:
        super().__init__(problem, hparams)
        self.num_classes = problem.num_classes
        self.register_buffer("pseudo", problem.candidates.long().argmax(1))

    def fit(self, train: TrainView) -> Tensor:
        """Propagate the candidates; the labels that it leaves are the pseudo labels."""
        hparams = self.hparams
        rows, candidates = all_rows(train)
        self.rows.copy_(rows)
        _, index = nearest(self.rows, None, hparams.num_neighbours)
        graph = neighbour_graph(reconstruction_weights(self.rows, self.rows, index), index)
        sets = candidates.cpu()
        confidence = propagate(graph, sets, hparams.alpha, hparams.num_iterations)
        self.pseudo.copy_(balanced_labels(confidence, sets))
        return self.pseudo.clone()

    def predict(self, x: Tensor) -> Tensor:
        """-||x - its reconstruction from the neighbours of a label||^2 of every label, [M, C]."""
        x = x.flatten(1)
        _, index = nearest(self.rows, x, self.hparams.num_neighbours)
        weights = torch.from_numpy(reconstruction_weights(self.rows, x, index)).to(x)
        found = F.one_hot(self.pseudo[index], self.num_classes)  # [M, K, C]
        scores = []
        for point, near, weight, label in zip(x, index, weights, found, strict=True):
            parts = (label * weight[:, None]).T @ self.rows[near]  # [C, D]
            scores.append(-(point - parts).square().sum(1))
        return restrict(torch.stack(scores), found.any(1))
