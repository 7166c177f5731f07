"""Candidate sets of annotators' labels: votes, rules, their laws."""

import numpy as np
import pytest

from pllbench.candidates.annotations import Votes, count_votes, sets_of_votes
from pllbench.candidates.processes import Candidates
from pllbench.spec import RunSpec
from tests.factories import make_spec

NUM_ROWS = 100_000


def of_rows(*rows: list[int]) -> Votes:
    return np.array(rows, dtype=np.int64)


def members(sets: Candidates) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in sets]


def test_an_annotator_counts_once_for_a_label() -> None:
    annotations = [(0, 7, 2), (0, 7, 2), (0, 8, 2), (0, 7, 1), (2, 7, 0)]
    votes = count_votes(np.array(annotations), 3, 4)
    assert votes.tolist() == [[0, 1, 2, 0], [0, 0, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("union", [[0, 1, 2], [0, 3], [1, 2, 3]]),
        ("votes=2", [[0, 1], [0, 3], [2]]),
        ("votes=3", [[0], [0, 3], [2]]),
        ("votes=9", [[0], [0, 3], [2]]),
        ("top=1", [[0], [0], [2]]),
        ("top=2", [[0, 1], [0, 3], [1, 2]]),
        ("top=3", [[0, 1, 2], [0, 3], [1, 2, 3]]),
        ("top=9", [[0, 1, 2], [0, 3], [1, 2, 3]]),
    ],
)
def test_rules(rule: str, expected: list[list[int]]) -> None:
    """The last rows have ties: two labels with one vote each, and one vote beside two."""
    votes = of_rows([7, 2, 1, 0], [1, 0, 0, 1], [0, 1, 2, 1])
    assert members(sets_of_votes(votes, rule, seed=0)) == expected


@pytest.mark.parametrize(
    ("number", "size", "majority"), [(3, 1.732, 0.973), (10, 2.543941, 1 - 0.3**10)]
)
def test_draws_have_the_law_of_distinct_labels(number: int, size: float, majority: float) -> None:
    """Votes 7, 2, 1: expected sizes from the chance 1 - (1 - p)^n of each label."""
    shares = [0.7, 0.2, 0.1]
    assert sum(1 - (1 - p) ** number for p in shares) == pytest.approx(size, abs=5e-7)
    sets = sets_of_votes(np.tile([7, 2, 1], (NUM_ROWS, 1)), f"draws={number}", seed=0)
    assert sets.sum(axis=1).mean() == pytest.approx(size, abs=0.008)
    assert sets[:, 0].mean() == pytest.approx(majority, abs=0.002)
    assert sets.any(axis=1).all()


def test_draws_depend_on_the_seed_and_other_rules_do_not() -> None:
    votes = np.tile([3, 2, 1], (50, 1))
    for rule, differs in (("draws=2", True), ("union", False), ("top=2", False)):
        one, again, other = (sets_of_votes(votes, rule, seed) for seed in (0, 0, 1))
        assert (one == again).all()
        assert (one != other).any() == differs


@pytest.mark.parametrize(
    "rule", ["", "all", "votes", "votes=0", "votes=1", "votes=-2", "top=0", "top=1.5", "draws=x"]
)
def test_other_rules_are_refused(rule: str) -> None:
    with pytest.raises(ValueError, match=r"must be union, votes=N \(from 2\), top=K or draws=N"):
        make_spec(annotations=rule)


def test_the_rule_is_part_of_the_identity() -> None:
    specs: list[RunSpec] = [
        make_spec(dataset="lost", q=None, annotations=rule)
        for rule in (None, "union", "votes=2", "votes=12", "top=2", "draws=2")
    ]
    assert len({spec.run_id for spec in specs}) == 6
    assert specs[1].identity["annotations"] == "union"
