"""True labels and candidate sets for the tests of the generating processes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pllbench.candidates.audit import check_candidates
from pllbench.candidates.processes import Candidates, Labels, TrueLabels, generate
from pllbench.data.catalogue import CIFAR100_SUPERCLASSES
from pllbench.spec import CandidateSpec


def labels(num_rows: int, num_classes: int) -> Labels:
    """Every class in turn, [num_rows]."""
    return np.arange(num_rows, dtype=np.int64) % num_classes


def spec(process: str, **options: object) -> CandidateSpec:
    """Candidate settings of a process, with options by field."""
    return CandidateSpec.parse({"process": process} | options)


def draw(y: Labels, num_classes: int, process: str, seed: int = 0, **options: Any) -> Candidates:
    """Sets [N, C] that a process generates; `check_candidates` has found nothing wrong with them.

    With 100 classes, these have the superclasses of CIFAR-100.
    """
    superclasses = CIFAR100_SUPERCLASSES if num_classes == 100 else ()
    truth = TrueLabels(y, num_classes, superclasses)
    sets = generate(truth, spec(process, **options), seed)
    check_candidates(sets, y, noisy=process == "noisy", where=process)
    return sets


def sizes(sets: Candidates) -> npt.NDArray[np.int64]:
    """Number of candidates of each row, [N]."""
    counted: npt.NDArray[np.int64] = sets.sum(axis=1)
    return counted
