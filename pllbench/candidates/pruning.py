"""Pruning: candidates that a row's nearest neighbours rarely have are removed before training.

S. He et al.: Candidate Label Set Pruning, ICLR 2024. No true label takes part, and some are lost.

Letters in shape comments: N instances, C classes, D features, K neighbours.
"""

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from pllbench.candidates.audit import Audit, audit_candidates, holds_true
from pllbench.candidates.processes import Candidates, Labels
from pllbench.validation import StrictModel

ROWS_AT_ONCE = 1000
"""Rows whose neighbours' sets are counted at once."""

Features = npt.NDArray[np.float32]
"""[N, D]."""

Neighbours = npt.NDArray[np.int64]
"""Rows that are nearest to each row, [N, K]."""


class PruningAudit(StrictModel):
    """What pruning has done; the audit of the pruned sets stands beside it."""

    before: Audit
    """The sets before."""
    removed: float
    """Share of all surplus candidates, beyond one a row, that went (the paper's coverage)."""
    lost: float | None
    """Share of rows whose true label was among the candidates that went (the paper's error); None
    where true labels are not known."""


def standardised(x: npt.NDArray[np.float32]) -> Features:
    """Columns of x [N, D] less their mean, over their standard deviation; constant ones are 0."""
    spread = x.std(axis=0)
    scaled: Features = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return scaled


def nearest_neighbours(features: Features, k: int) -> Neighbours:
    """The k rows of highest cosine similarity to each row of features [N, D], itself left out."""
    from sklearn.neighbors import NearestNeighbors  # a second, which other commands do not pay

    norms = np.linalg.norm(features, axis=1, keepdims=True)
    directions = features / np.where(norms > 0, norms, 1)
    with threadpool_limits(1):  # workers share the cores, and sums depend on the number of threads
        search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(directions)
        found: Neighbours = search.kneighbors(return_distance=False)
    return found


def prune(candidates: Candidates, neighbours: Neighbours, tau: float) -> Candidates:
    """Sets [N, C] without the candidates that too many neighbours [N, K] do not have.

    A candidate's count is the number of neighbours whose set lacks it. Of a row of s candidates at
    most m = ceil(tau (s - 1)) leave: those whose count is above the (m + 1)-th largest. At least
    one stays, and of equal counts at that place all stay.
    """
    sizes = candidates.sum(axis=1)
    most = np.ceil(tau * (sizes - 1) - 1e-9).astype(np.int64)  # 0.55 * 20 is no more than 11
    pruned = candidates.copy()
    for start in range(0, len(candidates), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        having = candidates[neighbours[rows]].sum(axis=1)  # [chunk, C]
        lacking = np.where(candidates[rows], neighbours.shape[1] - having, 0)
        ordered = -np.sort(-lacking, axis=1)
        threshold = np.take_along_axis(ordered, most[rows, None], axis=1)
        pruned[rows] &= lacking <= threshold
    return pruned


def audit_pruning(before: Candidates, after: Candidates, y: Labels | None) -> PruningAudit:
    """What pruning has done to sets [N, C] of rows whose true labels are y [N], or not known."""
    gone = before & ~after
    surplus = int(before.sum()) - len(before)
    return PruningAudit(
        before=audit_candidates(before, y),
        removed=int(gone.sum()) / surplus if surplus else 0.0,
        lost=None if y is None else float(holds_true(gone, y).mean()),
    )
