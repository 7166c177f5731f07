"""Which candidate of each row is the true label, as a table."""

import numpy as np

from pllbench.candidates.disambiguation import disambiguated

SETS = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
WEIGHTS = np.array([[0.2, 0.8, 0], [0, 1, 0], [0.3, 0.3, 0.4], [0.6, 0.1, 0.3]])


def test_label_and_second_are_the_highest_weights() -> None:
    found = disambiguated(SETS, WEIGHTS, np.array(["ant", "bee", "cow"]))
    assert found.candidates.tolist() == [
        ("ant", "bee"),
        ("bee",),
        ("ant", "bee", "cow"),
        ("bee", "cow"),
    ]
    assert found.label.tolist() == ["bee", "bee", "cow", "ant"]  # the last is no candidate
    assert found.confidence.tolist() == [0.8, 1, 0.4, 0.6]
    assert found.second.tolist() == ["ant", None, "ant", "cow"]


def test_classes_may_be_numbers() -> None:
    found = disambiguated(SETS, WEIGHTS, np.array([5, 7, 9]))
    assert found.label.tolist() == [7, 7, 9, 5]
    assert found.second.tolist() == [5, None, 5, 9]
    assert found.candidates[3] == (7, 9)
