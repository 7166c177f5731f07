"""Instance-dependent candidate sets: flip probabilities from an annotator's logits."""

import numpy as np
import numpy.typing as npt
import pytest

from pllbench.candidates.processes import (
    Candidates,
    Labels,
    Logits,
    TrueLabels,
    flip_probabilities,
    generate,
)
from tests.candidates.helpers import labels, sizes, spec

PROBABILITIES = [0.7, 0.2, 0.06, 0.04]
"""Of an annotator, for an instance of class 0."""


def to_logits(probabilities: list[float]) -> Logits:
    """Logits [1, C] with the given softmax."""
    return np.log(np.array([probabilities], dtype=np.float32))


def flips(logits: npt.ArrayLike, **options: object) -> list[float]:
    """Flip probabilities of one instance of class 0."""
    y = np.zeros(1, dtype=np.int64)
    found = flip_probabilities(np.asarray(logits, dtype=np.float32), y, spec("instance", **options))
    return [float(value) for value in found[0]]


def draw(y: Labels, logits: Logits, **options: object) -> Candidates:
    truth = TrueLabels(y, logits.shape[1], logits=logits)
    return generate(truth, spec("instance", **options), seed=0)


def test_flip_probabilities_of_an_annotator() -> None:
    logits = to_logits(PROBABILITIES)
    assert flips(logits, q=0.4) == pytest.approx([0, 1, 0.32, 0.213333], abs=1e-6)
    assert 1 + sum(flips(logits, q=0.4)) == pytest.approx(2.533333, abs=1e-6)
    assert flips(logits, rule="max") == pytest.approx([0, 1, 0.3, 0.2], abs=1e-6)
    assert 1 + sum(flips(logits, rule="max")) == pytest.approx(2.5, abs=1e-6)


def test_an_annotator_without_a_preference() -> None:
    found = flips(np.zeros((1, 10)), q=0.4)
    assert found[1:] == pytest.approx([4 / 9] * 9)
    assert 1 + sum(found) == pytest.approx(5)


@pytest.mark.parametrize("options", [{"q": 0.4}, {"rule": "max"}])
def test_an_annotator_sure_of_one_wrong_label(options: dict[str, object]) -> None:
    y = labels(500, 10)
    logits = np.full((500, 10), -200.0, dtype=np.float32)
    logits[np.arange(500), (y + 3) % 10] = 50
    sets = draw(y, logits, **options)
    assert (sizes(sets) == 2).all()
    assert sets[np.arange(500), y].all()
    assert sets[np.arange(500), (y + 3) % 10].all()


def test_the_mean_size_of_instance_sets_is_bounded() -> None:
    logits = np.random.default_rng(0).normal(size=(300, 10)).astype(np.float32) * 3
    for q in (0.05, 0.4, 1.0):
        found = flip_probabilities(logits, labels(300, 10), spec("instance", q=q))
        assert (1 + found.sum(axis=1) <= 1 + q * 10 + 1e-9).all()


def test_shifts_and_a_true_label_near_certainty_change_nothing() -> None:
    logits = to_logits(PROBABILITIES)
    expected = flips(logits, q=0.4)
    assert flips(logits + 100, q=0.4) == pytest.approx(expected, abs=1e-4)
    sure = logits.copy()
    sure[0, 0] = 30  # a probability of 1 - 1e-13
    assert flips(sure, q=0.4) == pytest.approx(expected, abs=1e-6)


def test_instance_sets_are_nested_in_the_rate_and_need_logits() -> None:
    y = labels(400, 10)
    logits = np.random.default_rng(1).normal(size=(400, 10)).astype(np.float32)
    small, large = (draw(y, logits, q=q) for q in (0.1, 0.4))
    assert not (small & ~large).any()
    assert small[np.arange(400), y].all()
    with pytest.raises(ValueError, match="needs the logits of an annotator"):
        generate(TrueLabels(y, 10), spec("instance", q=0.4), 0)
