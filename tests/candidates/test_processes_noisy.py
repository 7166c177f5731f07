"""Published processes that leave true labels out: their laws and their settings."""

from itertools import product
from math import prod

import numpy as np
import pytest

from pllbench.candidates.audit import audit_candidates, candidate_digest, check_candidates
from pllbench.candidates.processes import Candidates, TrueLabels, generate
from pllbench.candidates.requirements import require_possible
from pllbench.data.catalogue import CIFAR100_SUPERCLASSES
from pllbench.spec import CandidateSpec
from tests.candidates.helpers import labels, spec

NUM_ROWS = 200_000
"""Standard errors of shares are at most 0.0011, of mean sizes at most 0.004."""


def draw_noisy(process: str, num_classes: int, **options: object) -> Candidates:
    superclasses = CIFAR100_SUPERCLASSES if num_classes == 100 else ()
    truth = TrueLabels(labels(NUM_ROWS, num_classes), num_classes, superclasses)
    return generate(truth, spec(process, **options), 0)


def expected_flip(q: float, eta: float, num_wrong: int) -> tuple[float, float]:
    """P(true label in) and E|Y|, summed over every set that is not empty."""
    total, inside, size = 0.0, 0.0, 0.0
    for bits in product((0, 1), repeat=num_wrong + 1):  # the true label first
        if not any(bits):
            continue
        chance = (1 - eta) if bits[0] else eta
        for bit in bits[1:]:
            chance *= q if bit else 1 - q
        total += chance
        inside += chance * bits[0]
        size += chance * sum(bits)
    return inside / total, size / total


def expected_swap(q: float, eta: float, num_wrong: int) -> tuple[float, float]:
    """P(true label missing) and E|Y|, summed over every set that holds the true label."""
    missing, size = 0.0, 0.0
    for bits in product((0, 1), repeat=num_wrong):
        chance = prod(q if bit else 1 - q for bit in bits)
        size += chance * (1 + sum(bits))
        missing += chance * eta * (not all(bits))
    return missing, size


def test_flipped_sets_have_the_published_law() -> None:
    inside, size = expected_flip(0.5, 0.2, 9)
    assert inside == pytest.approx(0.800313, abs=5e-7)
    assert size == pytest.approx(5.302071, abs=5e-7)
    sets = draw_noisy("noisy_flip", 10, q=0.5, eta=0.2)
    found = audit_candidates(sets, labels(NUM_ROWS, 10))
    assert 1 - (found.without_true or 0) == pytest.approx(0.800313, abs=0.004)
    assert found.mean == pytest.approx(5.302071, abs=0.015)
    assert found.min == 1


def test_rows_that_are_drawn_again_raise_the_share_of_true_labels() -> None:
    """At q = 0.1 and 4 classes 58 % of the rows without their true label are empty at first."""
    inside, size = expected_flip(0.1, 0.8, 3)
    assert inside == pytest.approx(0.479846, abs=5e-7)
    found = audit_candidates(draw_noisy("noisy_flip", 4, q=0.1, eta=0.8), labels(NUM_ROWS, 4))
    assert 1 - (found.without_true or 0) == pytest.approx(inside, abs=0.005)
    assert found.mean == pytest.approx(size, abs=0.008)


@pytest.mark.parametrize(("q", "missing", "size"), [(0.3, 0.299994, 3.7), (0.7, 0.287894, 7.3)])
def test_swapped_sets_have_the_published_law(q: float, missing: float, size: float) -> None:
    assert expected_swap(q, 0.3, 9) == pytest.approx((missing, size), abs=5e-7)
    sets, y = draw_noisy("noisy_swap", 10, q=q, eta=0.3), labels(NUM_ROWS, 10)
    found = audit_candidates(sets, y)
    assert found.without_true == pytest.approx(missing, abs=0.004)
    assert found.mean == pytest.approx(size, abs=0.015)
    counts = sets.sum(axis=0) / NUM_ROWS  # every class is equally often a candidate
    assert counts == pytest.approx(np.full(10, size / 10), abs=0.006)


def test_a_swap_keeps_the_size_and_brings_in_any_other_label() -> None:
    y = labels(NUM_ROWS, 4)
    sets = draw_noisy("noisy_swap", 4, q=0.0, eta=1.0)
    assert (sets.sum(axis=1) == 1).all()
    entered = (sets.argmax(axis=1) - y) % 4
    shares = np.bincount(entered, minlength=4) / NUM_ROWS
    assert shares == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3], abs=0.006)
    assert draw_noisy("noisy_swap", 4, q=1.0, eta=1.0).all(), "no label is left to enter"


@pytest.mark.parametrize(
    ("q", "eta", "inside", "size"),
    [
        (0.5, 0.2, 0.810127, 2.835443),
        (0.5, 0.3, 0.713376, 2.751592),
        (0.1, 0.2, 0.920832, 1.381247),
        (0.8, 0.2, 0.800256, 4.001280),
    ],
)
def test_noisy_sets_of_superclasses(q: float, eta: float, inside: float, size: float) -> None:
    """The noisy form of CIFAR-100-H: four siblings, and rows without a candidate drawn again."""
    assert expected_flip(q, eta, 4) == pytest.approx((inside, size), abs=5e-7)
    sets, y = draw_noisy("hierarchical", 100, q=q, eta=eta), labels(NUM_ROWS, 100)
    found = audit_candidates(sets, y)
    assert 1 - (found.without_true or 0) == pytest.approx(inside, abs=0.004)
    assert found.mean == pytest.approx(size, abs=0.012)
    groups = np.asarray(CIFAR100_SUPERCLASSES)
    assert not (sets & (groups[y][:, None] != groups)).any()


@pytest.mark.parametrize(
    ("q", "mean", "singletons", "whole"),
    [(0.1, 1.4, 0.6561, 0.0001), (0.5, 3.0, 0.0625, 0.0625), (0.8, 4.2, 0.0016, 0.4096)],
)
def test_clean_sets_of_superclasses(q: float, mean: float, singletons: float, whole: float) -> None:
    """CIFAR-100-H at the rates that papers use."""
    sizes = draw_noisy("hierarchical", 100, q=q).sum(axis=1)
    assert sizes.mean() == pytest.approx(mean, abs=0.012)
    assert (sizes == 1).mean() == pytest.approx(singletons, abs=0.005)
    assert (sizes == 5).mean() == pytest.approx(whole, abs=0.005)


def test_sets_of_superclasses_without_noise_are_those_of_earlier_versions() -> None:
    truth = TrueLabels(labels(1000, 100), 100, CIFAR100_SUPERCLASSES)
    sets = generate(truth, spec("hierarchical", q=0.5), 0)
    assert candidate_digest(sets) == "ee648e514b6eb76b"


@pytest.mark.parametrize("process", ["noisy_flip", "noisy_swap"])
def test_noise_needs_a_probability(process: str) -> None:
    with pytest.raises(ValueError, match=f"process {process} needs eta > 0"):
        spec(process, q=0.3)
    with pytest.raises(ValueError, match=f"process {process} needs a rate q"):
        spec(process, eta=0.3)
    with pytest.raises(ValueError, match=f"process {process} has no option 'policy'"):
        spec(process, q=0.3, eta=0.3, policy="free")


def test_sets_that_would_nearly_all_be_empty_are_refused() -> None:
    message = r"eta = 1, q = 0: 100\.00% of the rows would have no candidate"
    with pytest.raises(ValueError, match=message):
        require_possible(spec("noisy_flip", q=0.0, eta=1.0), 10)
    with pytest.raises(ValueError, match=message):
        require_possible(spec("hierarchical", q=0.0, eta=1.0), 100, CIFAR100_SUPERCLASSES)
    require_possible(spec("noisy_flip", q=0.0, eta=0.99), 10)
    require_possible(spec("noisy_swap", q=0.0, eta=1.0), 10)


@pytest.mark.parametrize(
    ("candidates", "noisy"),
    [
        (CandidateSpec(process="hierarchical", q=0.5), False),
        (CandidateSpec(process="hierarchical", q=0.5, eta=0.2), True),
        (CandidateSpec(process="noisy", q=0.5, eta=0.2), True),
        (CandidateSpec(process="noisy_flip", q=0.5, eta=0.2), True),
        (CandidateSpec(process="noisy_swap", q=0.5, eta=0.2), True),
        (CandidateSpec(process="uniform", q=0.5), False),
    ],
)
def test_only_a_noisy_process_may_leave_the_true_label_out(
    candidates: CandidateSpec, noisy: bool
) -> None:
    assert candidates.noisy is noisy
    y = labels(500, 100)
    sets = generate(TrueLabels(y, 100, CIFAR100_SUPERCLASSES), candidates, 0)
    assert ((audit_candidates(sets, y).without_true or 0) > 0) is noisy
    check_candidates(sets, y, noisy=noisy, where="x")


def test_options_are_named_with_the_process() -> None:
    assert spec("noisy_swap", q=0.3, eta=0.1).text == "noisy_swap:eta=0.1"
    assert spec("hierarchical", q=0.5, eta=0.2).text == "hierarchical:eta=0.2"
    assert spec("hierarchical", q=0.5).text == "hierarchical"
