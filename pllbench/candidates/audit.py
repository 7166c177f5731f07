"""Candidate sets: generated or given, the check of what comes in, the audit of what came out.

A process (`processes.py`) turns true labels into candidate sets. Data sets with real candidate sets
pass through `check` alone. Letters in shape comments: N instances, C classes.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from pllbench.candidates.processes import (
    PROCESSES,
    Candidates,
    Labels,
    Logits,
    Truth,
    require_possible,
)
from pllbench.seeds import stream_seed
from pllbench.spec import CandidateSpec
from pllbench.validation import Values


class Audit(Values):
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


def generate(
    y: Labels,
    num_classes: int,
    spec: CandidateSpec,
    seed: int,
    *,
    superclasses: tuple[int, ...] = (),
    logits: Logits | None = None,
) -> Candidates:
    """Candidate sets [N, C] of the true labels `y`, by the process that `spec` names.

    The random stream depends on the seed and the process alone. So at one seed the sets of a
    process are nested in its rate where the process can give that, and torch's generators are
    neither read nor moved.

    Args:
        y: true labels [N].
        num_classes: C.
        spec: process and rate.
        seed: of the random stream.
        superclasses: superclass of each class [C]; empty where classes have none.
        logits: scores [N, C] of an annotator, for instance-dependent sets.

    Raises:
        ValueError: fewer than two classes, a label outside 0..C-1, or something that the process
            needs is not there.
    """
    require_possible(spec, num_classes, superclasses)
    if len(y) and not 0 <= y.min() <= y.max() < num_classes:
        raise ValueError(
            f"true labels must be 0..{num_classes - 1}, they run from {y.min()} to {y.max()}"
        )
    rng = np.random.default_rng(stream_seed(seed, "candidates", spec.process))
    truth = Truth(y, num_classes, superclasses, logits)
    return PROCESSES[spec.process](truth, spec, rng)


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
