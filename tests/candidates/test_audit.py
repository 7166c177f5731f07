"""The check of given candidate sets, and the audit of all."""

import numpy as np
import pytest

from pllbench.candidates.audit import audit_candidates, candidate_digest, check_candidates
from pllbench.candidates.processes import Candidates, Labels


def some_sets() -> tuple[Candidates, Labels]:
    """Sets of 40 rows in 4 classes: the true label and the next one."""
    y = np.arange(40) % 4
    one_hot = np.eye(4, dtype=np.bool_)[y]
    return one_hot | np.roll(one_hot, 1, axis=1), y


@pytest.mark.parametrize("noisy", [False, True])
def test_a_row_without_candidates_is_always_refused(noisy: bool) -> None:
    sets, y = some_sets()
    sets[17] = False
    sets[23] = False
    with pytest.raises(
        ValueError, match=r"^a\.mat: row 17 \(counted from 0\) has no candidate \(2 of 40 rows\)$"
    ):
        check_candidates(sets, y, noisy=noisy, where="a.mat")


def test_a_row_without_its_true_label_needs_permission() -> None:
    sets, y = some_sets()
    sets[5] = [True, False, True, True]
    assert y[5] == 1
    with pytest.raises(ValueError, match=r"row 5 .* true label 1 .*\(1 of 40 rows\).*noisy"):
        check_candidates(sets, y, noisy=False, where="a.mat")
    check_candidates(sets, y, noisy=True, where="a.mat")
    assert audit_candidates(sets, y).without_true == 1 / 40


def test_sets_of_other_rows_are_refused() -> None:
    sets, y = some_sets()
    with pytest.raises(ValueError, match=r"shape \(40, 4\) for 39 true labels"):
        check_candidates(sets, y[:-1], noisy=False, where="a.mat")
    with pytest.raises(ValueError, match=r"shape \(40,\)"):
        check_candidates(sets[:, 0], y, noisy=False, where="a.mat")


def test_audit_counts() -> None:
    sets = np.array([[1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]], dtype=np.bool_)
    facts = audit_candidates(sets, np.array([0, 1, 2, 2]))
    assert (facts.num_rows, facts.num_classes) == (4, 3)
    assert (facts.mean, facts.min, facts.max) == (2.0, 1, 3)
    assert (facts.singletons, facts.full, facts.without_true) == (0.25, 0.25, 0.25)
    assert facts.digest == candidate_digest(sets)


def test_digest_tells_shapes_and_sets_apart() -> None:
    sets = np.zeros((4, 6), dtype=np.bool_)
    other = sets.copy()
    other[3, 5] = True
    variants = (sets, other, sets.reshape(6, 4), sets[:, :5])
    digests = {candidate_digest(variant) for variant in variants}
    assert len(digests) == 4
    assert candidate_digest(np.asfortranarray(other)) == candidate_digest(other)
    assert all(len(digest) == 16 for digest in digests)
