"""PL A-kNN: as many nearest neighbours as a row needs.

N. A. Errandonea, S. Mazuelas, J. A. Lozano, S. Dasgupta: Learnability with Partial Labels and
Adaptive Nearest Neighbors, AISTATS 2026. Rule and preprocessing are those of the released code for
tables; where it adds 1e-12 to a divisor, zeros are treated by themselves here.

Letters in shape comments: N training instances, M instances that are asked about, C classes, D
features, K neighbours.
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Hparams, Problem, TrainView
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.rows import InstanceBased, all_rows, nearest


class PLAkNNHparams(Hparams):
    """Hyperparameters of PL A-kNN."""

    max_neighbours: int = Field(default=50, ge=1)
    """Neighbours of a row that are asked at most."""
    margin: float = Field(default=0.5, gt=0)
    """c_1: factor of the lead that decides against a label."""
    delta: float = Field(default=0.1, gt=0, lt=1)
    """Probability at which that lead may be wrong, in the theory."""
    preprocessing: Literal["tables", "none"] = "tables"
    """Whether rows are compressed, smoothed and scaled by density before they are compared."""
    smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of the neighbours in a smoothed row."""
    smoothing_neighbours: int = Field(default=10, ge=1)
    """Neighbours that a row is smoothed with."""
    density_neighbours: int = Field(default=50, ge=1)
    """Neighbours whose mean distance scales a row."""

    def bound(self, num_rows: int, num_classes: int) -> float:
        """A = c_1 sqrt(ln N + ln(C / delta))."""
        return self.margin * math.sqrt(math.log(num_rows) + math.log(num_classes / self.delta))


def compress(x: Tensor) -> Tensor:
    """Signed cube roots of rows [M, D], each of length 1; a zero row stays zero."""
    return F.normalize(x.sign() * x.abs() ** (1 / 3), dim=1)


def smooth(x: Tensor | None, rows: Tensor, share: float, num: int) -> Tensor:
    """Unit rows x [M, D] that have moved towards their neighbours among `rows` [N, D].

    Neighbours count by a Gaussian kernel as wide as the median of their distances; if that is 0,
    those at distance 0 alone. Where x is None, it is the rows themselves, without their own.
    """
    distances, index = nearest(rows, x, num)
    width = distances.quantile(0.5, dim=1, keepdim=True)
    ratio = torch.where(distances > 0, distances / width, 0.0)
    weights = (-(ratio**2) / 2).softmax(1).to(rows)  # [M, K]
    moved = [weight @ rows[near] for weight, near in zip(weights, index, strict=True)]
    return F.normalize((1 - share) * (rows if x is None else x) + share * torch.stack(moved), dim=1)


def spread(x: Tensor | None, rows: Tensor, num: int) -> Tensor:
    """Mean distance [M, 1] to the nearest of `rows`; 1 where it is 0. As `smooth` for None."""
    distances = nearest(rows, x, num)[0].mean(1, keepdim=True).to(rows)
    return torch.where(distances > 0, distances, 1.0)


def decide(sets: Tensor, bound: float) -> Tensor:
    """Scores [M, C] from the candidate sets [M, K, C] of neighbours, the nearest first.

    One neighbour after another adds its set to the counts. A label whose count is so far behind the
    largest that their difference, over the number of neighbours k, is at least bound / sqrt(k) is
    dropped: its score is -inf. A row with one label left asks no further. The score of the labels
    that are left is their best lead over the second largest count in all of this, by sqrt(k) and
    less the bound.
    """
    counts = torch.zeros(len(sets), sets.shape[2], dtype=torch.float64, device=sets.device)
    left = torch.ones_like(counts, dtype=torch.bool)
    score = torch.full_like(counts, -math.inf)
    for k, candidates in enumerate(sets.unbind(1), 1):
        undecided = left & (left.sum(1, keepdim=True) > 1)
        counts += candidates
        largest = restrict(counts, left).topk(2, dim=1).values  # [M, 2]
        lead = (counts - largest[:, 1:]) / math.sqrt(k) - bound
        score = torch.where(undecided, torch.maximum(score, lead), score)
        behind = (largest[:, :1] - counts) / k >= bound / math.sqrt(k)
        left = left & ~(undecided & behind)
    return restrict(score, left)


class PLAkNN(InstanceBased[PLAkNNHparams]):
    """Asks the neighbours of a row until one label leads, and at most a fixed number of them.

    Attributes:
        rows: [N, D], compressed and smoothed.
        spread: [N, 1], mean distance of a row to its neighbours, by which it is divided.
        candidates: [N, C].
    """

    hparams_type = PLAkNNHparams
    family = "classical"
    year = 2026
    venue = "AISTATS"
    spread: Tensor
    candidates: Tensor

    def __init__(self, problem: Problem, hparams: PLAkNNHparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("spread", torch.ones_like(self.rows[:, :1]))
        self.register_buffer("candidates", problem.candidates.clone())

    def fit(self, train: TrainView) -> None:
        """Keep the preprocessed rows."""
        rows, _ = all_rows(train)
        hparams = self.hparams
        if hparams.preprocessing == "tables":
            rows = smooth(None, compress(rows), hparams.smoothing, hparams.smoothing_neighbours)
            self.spread.copy_(spread(None, rows, hparams.density_neighbours))
        self.rows.copy_(rows)

    def predict(self, x: Tensor) -> Tensor:
        """Scores [M, C] of the labels that are left, -inf of those that are dropped."""
        x, hparams = x.flatten(1), self.hparams
        if hparams.preprocessing == "tables":
            x = smooth(compress(x), self.rows, hparams.smoothing, hparams.smoothing_neighbours)
            x = x / spread(x, self.rows, hparams.density_neighbours)
        _, index = nearest(self.rows / self.spread, x, hparams.max_neighbours)
        bound = hparams.bound(*self.candidates.shape)
        return decide(self.candidates[index], bound).float()
