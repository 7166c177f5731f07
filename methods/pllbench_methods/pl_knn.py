"""PL-kNN: a vote of the nearest neighbours for their candidates.

E. Hüllermeier, J. Beringer: Learning from Ambiguously Labeled Examples, IDA 2005.

Ties go to the lowest label; where the vote of a row's neighbours is for none of its candidates, its
pseudo label is the lowest of them.
"""

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Hparams, Problem, TrainView
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.rows import InstanceBased, all_rows, nearest


class PLKNNHparams(Hparams):
    """Hyperparameters of PL-kNN."""

    num_neighbours: int = Field(default=10, ge=2)
    """Neighbours that vote; the weight of a single one would be 0."""


def weighted_votes(distances: Tensor, candidates: Tensor) -> Tensor:
    """Votes [M, C] of neighbours at the distances [M, K] for their candidates [M, K, C].

    The weight of a neighbour is 1 - d / sum d, and 1 where all distances are 0.
    """
    total = distances.sum(1, keepdim=True)
    weights = torch.where(total > 0, 1 - distances / total, 1.0)  # [M, K]
    return (weights[:, None] @ candidates.double()).squeeze(1)


class PLKNN(InstanceBased[PLKNNHparams]):
    """There is nothing to learn: the rows and their candidate sets are the model.

    Attributes:
        rows: [N, D].
        candidates: [N, C].
    """

    hparams_type = PLKNNHparams
    family = "classical"
    year = 2005
    venue = "IDA"
    candidates: Tensor

    def __init__(self, problem: Problem, hparams: PLKNNHparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("candidates", problem.candidates.clone())

    def fit(self, train: TrainView) -> Tensor:
        """Keep the rows; the pseudo label of each is the best candidate by its neighbours' vote."""
        rows, candidates = all_rows(train)
        self.rows.copy_(rows)
        return restrict(self.votes(None), candidates).argmax(1)

    def votes(self, x: Tensor | None) -> Tensor:
        """Votes [M, C] for the rows x [M, D]; for the training rows, without their own, if None."""
        distances, index = nearest(self.rows, x, self.hparams.num_neighbours)
        return weighted_votes(distances, self.candidates[index])

    def predict(self, x: Tensor) -> Tensor:
        """Log of the votes: probabilities are shares of the votes."""
        return self.votes(x.flatten(1)).log().float()
