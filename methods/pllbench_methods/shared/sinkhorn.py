"""Optimal transport of instances to labels with a given share of every label.

M. Cuturi: Sinkhorn Distances: Lightspeed Computation of Optimal Transport, NeurIPS 2013.
"""

import math

import torch
from torch import Tensor

RANGE = 350.0
"""Logs further below their maximum count as there: a product of two such still fits float64."""


def sinkhorn(scores: Tensor, log_prior: Tensor, iterations: int) -> Tensor:
    """Log factors of the labels [C] that bring the labels' shares close to a prior.

    The plan is exp(scores + factors), normalised by rows: `(scores + factors).softmax(1)`. Each
    iteration fits the columns to the prior, then the rows, which weigh alike at first.

    Args:
        scores: logs [N, C], -inf where a row cannot have a label. A row of -inf alone does not
            count, and a label that no row can have gets the factor -inf.
        log_prior: logs of the labels' shares [C].
        iterations: at least 1.
    """
    scores = scores.double()
    plan = _relative_exp(scores)  # [N, C]
    rows = _relative_exp(scores.amax(1))  # [N]
    for _ in range(iterations):
        factors = _fitted(log_prior.double(), rows @ plan)  # [C]
        sums = plan @ _relative_exp(factors)  # [N]
        rows = _relative_exp(_fitted(torch.zeros_like(sums), sums))
    return factors.float()


def _relative_exp(logs: Tensor) -> Tensor:
    """Exponentials relative to the largest of the last axis, but exactly 0 for -inf."""
    relative = logs - logs.amax(-1, keepdim=True)
    return relative.clamp(min=-RANGE).exp().masked_fill(logs.isneginf(), 0.0)


def _fitted(log_marginal: Tensor, sums: Tensor) -> Tensor:
    """Log factors that bring sums to their marginals; -inf for an empty row or column."""
    return (log_marginal - sums.log()).masked_fill(sums == 0, -math.inf)
