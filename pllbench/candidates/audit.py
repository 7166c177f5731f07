"""The check of candidate sets that come in, and the audit of those that came out.

Letters in shape comments: N instances, C classes.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from pllbench.candidates.processes import (
    Candidates,
    Labels,
)
from pllbench.validation import StrictModel


class Audit(StrictModel):
    """What the candidate sets of the training rows look like."""

    num_rows: int
    num_classes: int
    mean: float
    """Mean number of candidates a row."""
    min: int
    max: int
    singletons: float
    """Share of rows with one candidate."""
    full: float
    """Share of rows in which every class is a candidate."""
    without_true: float | None
    """Share of rows whose true label is no candidate; None where true labels are not known."""
    digest: str
    """SHA-256 (16 hex digits) of the candidate matrix."""


def check_candidates(candidates: Candidates, y: Labels | None, *, noisy: bool, where: str) -> None:
    """Refuse candidate sets that no method can learn from; rows are counted from 0.

    Args:
        candidates: [N, C].
        y: true labels, [N]; None where they are not known.
        noisy: permit rows whose true label is no candidate.
        where: start of the message: a file, or a data set and process.

    Raises:
        ValueError: shapes do not match, a row has no candidate, or (unless `noisy`) a row's true
            label is not among its candidates.
    """
    if y is not None and (candidates.ndim != 2 or len(candidates) != len(y)):
        raise ValueError(
            f"{where}: candidate sets of shape {candidates.shape} for {len(y)} true labels"
        )
    empty = np.flatnonzero(~candidates.any(axis=1))
    if len(empty):
        raise ValueError(
            f"{where}: row {empty[0]} (counted from 0) has no candidate "
            f"({len(empty)} of {len(candidates)} rows)"
        )
    if y is None:
        return
    without = np.flatnonzero(~holds_true(candidates, y))
    if len(without) and not noisy:
        raise ValueError(
            f"{where}: row {without[0]} (counted from 0) does not have its true label "
            f"{y[without[0]]} among its candidates ({len(without)} of {len(y)} rows): mend the "
            f"data or permit noisy candidates"
        )


def holds_true(candidates: Candidates, y: Labels) -> npt.NDArray[np.bool_]:
    """Whether each row's true label is among its candidates, [N]."""
    found: npt.NDArray[np.bool_] = candidates[np.arange(len(y)), y]
    return found


def audit_candidates(candidates: Candidates, y: Labels | None) -> Audit:
    """Facts about candidate sets [N, C] of rows whose true labels are `y` [N], or not known.

    N is at least 1.
    """
    num_rows, num_classes = candidates.shape
    sizes = candidates.sum(axis=1)
    return Audit(
        num_rows=num_rows,
        num_classes=num_classes,
        mean=float(sizes.mean()),
        min=int(sizes.min()),
        max=int(sizes.max()),
        singletons=float((sizes == 1).mean()),
        full=float((sizes == num_classes).mean()),
        without_true=None if y is None else float((~holds_true(candidates, y)).mean()),
        digest=candidate_digest(candidates),
    )


def candidate_digest(candidates: Candidates) -> str:
    """First 16 hex digits of the SHA-256 over shape and packed bits of candidate sets [N, C]."""
    shape = f"{candidates.shape[0]}x{candidates.shape[1]}:".encode()
    return hashlib.sha256(shape + np.packbits(candidates).tobytes()).hexdigest()[:16]
