"""PL-ECOC: error-correcting output codes, without disambiguation.

M.-L. Zhang, F. Yu, C.-Z. Tang: Disambiguation-Free Partial Label Learning, IEEE TKDE 29(10), 2017.

The binary classifiers are linear, with squared hinge loss: scikit-learn solves that problem in the
primal without random numbers. At most 10,000 splits of many classes are tried, none twice.

Letters in shape comments: N training instances, M instances that are asked about, C classes, D
features, L columns of the code.
"""

import math
from collections.abc import Iterator

import torch
from pydantic import Field
from sklearn.svm import LinearSVC
from torch import Tensor

from pllbench.method import FittedMethod, Hparams, Problem, TrainView
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.rows import all_rows

FEW_CLASSES = 10
"""Up to so many, every split is tried."""

NUM_SPLITS = 10_000
"""Random splits that are tried of more classes."""


class PLECOCHparams(Hparams):
    """Hyperparameters of PL-ECOC."""

    length_factor: float = Field(default=10.0, gt=0)
    """Columns of the code for each bit that the number of classes has, rounded up."""
    min_share: float = Field(default=0.1, ge=0, le=1)
    """Share of the training rows that a column needs: rows whose whole set is on one side."""
    svm_c: float = Field(default=1.0, gt=0)
    """C of the columns' support vector machines: weight of the loss against the squared norm."""

    def length(self, num_classes: int) -> int:
        """L, the number of columns, where so many are found."""
        return math.ceil(self.length_factor * math.log2(num_classes))


def random_splits(num_classes: int) -> Iterator[Tensor]:
    """Splits of the classes in two, as sides -1 and 1 [C], in random order and none twice.

    A split and its reverse are the same: the last class is always at -1.
    """
    if num_classes <= FEW_CLASSES:
        numbers = torch.arange(1, 2 ** (num_classes - 1))
        sides = numbers[:, None] >> torch.arange(num_classes) & 1
    else:
        drawn = torch.randint(2, (NUM_SPLITS, num_classes))
        sides = (drawn ^ drawn[:, -1:]).unique(dim=0)
    yield from sides[torch.randperm(len(sides))] * 2.0 - 1


def on_one_side(candidates: Tensor, sides: Tensor) -> Tensor:
    """Where the sets [N, C] lie on one side of a split [C]: 1 or -1 for that side, else 0. [N]."""
    balance = candidates.float() @ sides
    return torch.where(balance.abs() == candidates.sum(1), balance.sign(), 0.0)


def performance(decisions: Tensor, code: Tensor, candidates: Tensor) -> Tensor:
    """How often a column is right for a class, among the rows that have it as candidate: [C, L].

    NaN for a class that nobody has as candidate.

    Args:
        decisions: [N, L], the columns' decision values.
        code: [C, L] of -1 and 1.
        candidates: [N, C].
    """
    share = candidates.T.double() @ (decisions > 0).double() / candidates.sum(0)[:, None]
    return torch.where(code > 0, share, 1 - share)


def decode(decisions: Tensor, code: Tensor, weights: Tensor) -> Tensor:
    """-log of the sum over columns of weight * exp(-decision * code), [M, C]; the best is highest.

    For decision values [M, L], code and weights [C, L].
    """
    return -(weights.log() - decisions[:, None] * code).logsumexp(2)


class PLECOC(FittedMethod[PLECOCHparams]):
    """Many binary problems, each of the rows whose whole candidate set is on one side of a split.

    Attributes:
        normals: [L, D] and
        offsets: [L], the columns' linear classifiers.
        code: [C, L], side of each class in each column; 0 where a column was not found.
        weights: [C, L], rows that sum to 1: how far a column is to be trusted about a class.
        possible: [C], classes that some column is right about.
    """

    hparams_type = PLECOCHparams
    family = "classical"
    year = 2017
    venue = "TKDE"
    normals: Tensor
    offsets: Tensor
    code: Tensor
    weights: Tensor
    possible: Tensor

    def __init__(self, problem: Problem, hparams: PLECOCHparams) -> None:
        super().__init__(problem, hparams)
        num_classes, device = problem.num_classes, problem.candidates.device
        length = hparams.length(num_classes)
        self.register_buffer(
            "normals", torch.zeros(length, math.prod(problem.shape), device=device)
        )
        self.register_buffer("offsets", torch.zeros(length, device=device))
        self.register_buffer("code", torch.zeros(num_classes, length, device=device))
        self.register_buffer("weights", torch.full_like(self.code, 1 / length))
        self.register_buffer("possible", torch.ones(num_classes, dtype=torch.bool, device=device))

    def fit(self, train: TrainView) -> None:
        """Find the columns and weigh them; without any, all labels keep the same score."""
        rows, candidates = all_rows(train)
        sets, num_found = candidates.cpu(), 0
        for sides in random_splits(len(self.code)):
            if num_found == len(self.normals):
                break
            side = on_one_side(sets, sides)
            used = side != 0
            enough = used.sum() >= self.hparams.min_share * len(rows)
            if enough and bool((side > 0).any() and (side < 0).any()):
                # Its tolerance falls with the smaller side's share: a small one takes many rounds.
                machine = LinearSVC(C=self.hparams.svm_c, dual=False, max_iter=10_000)
                machine.fit(rows.cpu()[used].numpy(), side[used].numpy())
                self.normals[num_found] = torch.from_numpy(machine.coef_[0])
                self.offsets[num_found] = machine.intercept_[0]
                self.code[:, num_found] = sides
                num_found += 1
        if num_found:
            found = slice(num_found)
            right = performance(self.decisions(rows)[:, found], self.code[:, found], candidates)
            total = right.nan_to_num().sum(1, keepdim=True)
            self.possible.copy_(total[:, 0] > 0)
            self.weights.zero_()
            self.weights[:, found] = torch.where(total > 0, right / total, 0.0).float()

    def decisions(self, x: Tensor) -> Tensor:
        """Decision values [M, L] of the columns for rows x [M, D]."""
        return x @ self.normals.T + self.offsets

    def predict(self, x: Tensor) -> Tensor:
        """Scores [M, C] by loss-based decoding."""
        scores = decode(self.decisions(x.flatten(1)), self.code, self.weights)
        return restrict(scores, self.possible)
