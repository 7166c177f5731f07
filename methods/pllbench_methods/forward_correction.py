"""Forward correction: the probability of a complementary label through a transition matrix.

X. Yu, T. Liu, M. Gong, D. Tao: Learning with Biased Complementary Labels, ECCV 2018. The paper
estimates the matrix with true labels (anchor points); here it is uniform unless one is given.
"""

from typing import Self

import torch
from pydantic import model_validator
from torch import Tensor

from pllbench.method import Problem
from pllbench_methods.shared.complementary import ComplementaryHparams, PairwiseMethod
from pllbench_methods.shared.softmax import log_softmax


class ForwardHparams(ComplementaryHparams):
    """Hyperparameters of forward correction."""

    transition: tuple[tuple[float, ...], ...] = ()
    """Row y: probabilities of each class as complementary label of an instance of class y. Empty:
    uniform over the wrong classes. A matrix from true labels makes the method an oracle."""

    @model_validator(mode="after")
    def require_distributions(self) -> Self:
        """Refuse rows that are no distributions, and a class that no class can rule out."""
        size = len(self.transition)
        for row in self.transition:
            if len(row) != size or min(row) < 0 or abs(sum(row) - 1) > 1e-6:
                raise ValueError(f"transition needs {size} rows of {size} shares that sum to 1")
        if self.transition and min(map(max, zip(*self.transition, strict=True))) == 0:
            raise ValueError("a column of transition is 0, so that its label could never be seen")
        return self


class ForwardCorrection(PairwiseMethod[ForwardHparams]):
    """Likelihood of the complementary labels. With a uniform matrix, SCL-NL plus a constant.

    Attributes:
        transition: [C, C], row y: the complementary label's distribution if y is the true label.
    """

    hparams_type = ForwardHparams
    family = "loss"
    year = 2018
    venue = "ECCV"
    transition: Tensor

    def __init__(self, problem: Problem, hparams: ForwardHparams) -> None:
        super().__init__(problem, hparams)
        size, device = problem.num_classes, problem.candidates.device
        if len(hparams.transition) not in (0, size):
            raise ValueError(
                f"transition has {len(hparams.transition)} rows, but there are {size} classes"
            )
        uniform = (1 - torch.eye(size)) / (size - 1)
        matrix = torch.tensor(hparams.transition) if hparams.transition else uniform
        self.register_buffer("transition", matrix.to(device))

    def pair_losses(self, logits: Tensor) -> Tensor:
        """-log sum_y transition_yk p_y for every k, [V, B, C]."""
        joint = log_softmax(logits)[..., None] + self.transition.log()  # [V, B, C, C]
        return -joint.logsumexp(-2)
