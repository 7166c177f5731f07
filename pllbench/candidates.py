"""Candidate sets: generating processes, the check of what comes in, the audit of what came out.

A process turns true labels into candidate sets. Data sets with real candidate sets pass through
`check` alone. Letters in shape comments: N instances, C classes.
"""

import hashlib
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from pllbench.seeds import stream_seed
from pllbench.spec import CandidateSpec, Frozen, Policy, Process

Labels = npt.NDArray[np.int64]
"""True labels, [N], 0..C-1."""

Candidates = npt.NDArray[np.bool_]
"""Candidate sets, [N, C]."""


class Audit(Frozen):
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
    without_true: float
    """Share of rows whose true label is no candidate."""
    digest: str
    """SHA-256 (16 hex digits) of the candidate matrix."""


def generate(y: Labels, num_classes: int, spec: CandidateSpec, seed: int) -> Candidates:
    """Candidate sets [N, C] of the true labels `y`, by the process that `spec` names.

    The random stream depends on the seed and the process alone. So at one seed the sets of a
    process are nested in its rate where the process can give that, and torch's generators are
    neither read nor moved.

    Raises:
        ValueError: fewer than two classes, a label outside 0..C-1, or a rate that the process
            cannot serve.
    """
    if num_classes < 2:
        raise ValueError(f"candidate sets need at least 2 classes, got {num_classes}")
    if len(y) and not 0 <= y.min() <= y.max() < num_classes:
        raise ValueError(
            f"true labels must be 0..{num_classes - 1}, they run from {y.min()} to {y.max()}"
        )
    rng = np.random.default_rng(stream_seed(seed, "candidates", spec.process))
    return PROCESSES[spec.process](y, num_classes, spec, rng)


def uniform(
    y: Labels, num_classes: int, spec: CandidateSpec, rng: np.random.Generator
) -> Candidates:
    """Every wrong label is a candidate with probability q, independently; then the policy.

    Drawn as the number of wrong labels (the inverse of the size law at one uniform number a row)
    and a random order of the wrong labels, whose first entries are taken. That is equal in law to
    a coin a label, and unlike it nested in q under every policy: a larger q only adds candidates.

    Expected number of candidates, with n = C - 1:
        free: 1 + nq; force: 1 + nq + (1 - q)^n; resample: 1 + nq / (1 - (1 - q)^n).
    """
    num_rows, num_wrong = len(y), num_classes - 1
    cdf = np.cumsum(size_law(num_wrong, spec.q, spec.policy))
    cdf /= cdf[-1]  # exactly 1 at its end, so that every draw below 1 finds a size
    sizes = np.searchsorted(cdf, rng.random(num_rows), side="right")  # [N]
    order = rng.random((num_rows, num_wrong)).argsort(axis=1)  # [N, C-1], a permutation a row
    wrong = (y[:, None] + 1 + order) % num_classes
    candidates = np.zeros((num_rows, num_classes), dtype=np.bool_)
    np.put_along_axis(candidates, wrong, np.arange(num_wrong) < sizes[:, None], axis=1)
    np.put_along_axis(candidates, y[:, None], values=True, axis=1)
    return candidates


def size_law(num_wrong: int, q: float, policy: Policy) -> npt.NDArray[np.float64]:
    """Weights [num_wrong + 1] of 0, 1, ... wrong candidates in a row: probabilities up to scale.

    `free` is the binomial law (PiCO); `force` gives a row without a wrong candidate one of them
    (PRODEN, DPLL, AsyCo); `resample` draws such a row again (VALEN).

    Raises:
        ValueError: `resample` with q = 0, which would draw for ever.
    """
    from scipy import stats  # half a second, which commands that only read records do not pay

    law: npt.NDArray[np.float64] = stats.binom.pmf(np.arange(num_wrong + 1), num_wrong, q)
    if policy == "force":
        law[1] += law[0]
    if policy != "free":
        law[0] = 0.0
    if not law.any():
        raise ValueError(f"q = {q:g} never gives a wrong candidate: policy 'resample' needs q > 0")
    return law


PROCESSES: Mapping[
    Process, Callable[[Labels, int, CandidateSpec, np.random.Generator], Candidates]
] = {"uniform": uniform}
"""Generating processes by the name that a candidate setting gives."""


def check(candidates: Candidates, y: Labels, *, noisy: bool, where: str) -> None:
    """Refuse candidate sets that no method can learn from; rows are counted from 0.

    Args:
        candidates: [N, C].
        y: true labels, [N].
        noisy: permit rows whose true label is no candidate.
        where: start of the message: a file, or a data set and process.

    Raises:
        ValueError: shapes do not match, a row has no candidate, or (unless `noisy`) a row's true
            label is not among its candidates.
    """
    if candidates.ndim != 2 or len(candidates) != len(y):
        raise ValueError(
            f"{where}: candidate sets of shape {candidates.shape} for {len(y)} true labels"
        )
    empty = np.flatnonzero(~candidates.any(axis=1))
    if len(empty):
        raise ValueError(
            f"{where}: row {empty[0]} (counted from 0) has no candidate "
            f"({len(empty)} of {len(y)} rows)"
        )
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


def audit(candidates: Candidates, y: Labels) -> Audit:
    """Facts about candidate sets [N, C] of rows with true labels `y` [N]; N is at least 1."""
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
        without_true=float((~holds_true(candidates, y)).mean()),
        digest=digest(candidates),
    )


def digest(candidates: Candidates) -> str:
    """First 16 hex digits of the SHA-256 over shape and packed bits of candidate sets [N, C]."""
    shape = f"{candidates.shape[0]}x{candidates.shape[1]}:".encode()
    return hashlib.sha256(shape + np.packbits(candidates).tobytes()).hexdigest()[:16]
