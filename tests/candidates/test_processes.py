"""Candidate processes: random streams, class-dependent, controlled and noisy sets, settings."""

from typing import get_args

import numpy as np
import pytest
import torch

from pllbench.candidates.audit import audit_candidates, candidate_digest, check_candidates
from pllbench.candidates.processes import PROCESSES, TrueLabels, generate
from pllbench.data.catalogue import CIFAR100_SUPERCLASSES
from pllbench.spec import CandidateSpec, Process
from tests.candidates.helpers import draw, labels, sizes, spec


def test_every_process_is_implemented() -> None:
    assert set(PROCESSES) == set(get_args(Process))


def test_too_few_classes_and_labels_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 classes"):
        draw(np.zeros(3, dtype=np.int64), 1, "uniform", q=0.3)
    with pytest.raises(ValueError, match=r"0\.\.9, they run from 1 to 10"):
        draw(np.arange(1, 11), 10, "uniform", q=0.3)


def test_sets_depend_on_the_seed_alone() -> None:
    y = labels(300, 10)
    torch.manual_seed(0)
    first = draw(y, 10, "uniform", seed=7, q=0.3)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    assert (draw(y, 10, "uniform", seed=7, q=0.3) == first).all()
    assert torch.equal(torch.get_rng_state(), state)
    assert (draw(y, 10, "uniform", seed=8, q=0.3) != first).any()


def test_sets_are_those_of_earlier_versions() -> None:
    """A change of this digest changes results: bump `CORE_VERSION` with it."""
    sets = draw(labels(1000, 10), 10, "uniform", q=0.3)
    assert candidate_digest(sets) == "e36c42ea5c66dfed"


def test_every_process_has_a_stream_of_its_own() -> None:
    y = labels(1000, 10)
    coins = draw(y, 10, "uniform", q=0.5, policy="free")
    assert (draw(y, 10, "uniform-set") != coins).any()
    noisy = draw(y, 10, "noisy", q=0.5, eta=1e-9)
    assert (noisy != draw(y, 10, "uniform", q=0.5)).any()


def test_the_last_class_is_paired_with_the_first() -> None:
    sets = draw(np.array([2]), 3, "pair", q=1)
    assert np.flatnonzero(sets[0]).tolist() == [0, 2]
    drawn = sizes(draw(labels(20_000, 10), 10, "pair", q=0.3))
    assert set(drawn.tolist()) == {1, 2}
    assert drawn.mean() == pytest.approx(1.3, abs=0.015)


def test_wrong_labels_are_those_of_the_superclass() -> None:
    y = labels(20_000, 100)
    groups = np.asarray(CIFAR100_SUPERCLASSES)
    whole, half = (draw(y, 100, "hierarchical", q=q) for q in (1, 0.5))
    assert (whole == (groups[y][:, None] == groups)).all()
    assert not (half & ~whole).any()
    assert sizes(half).mean() == pytest.approx(3.0, abs=0.03)
    with pytest.raises(ValueError, match="needs classes with superclasses"):
        generate(TrueLabels(y, 100), spec("hierarchical", q=1), 0)


@pytest.mark.parametrize("process", ["pair", "hierarchical", "controlled"])
def test_rate_0_leaves_the_true_label_alone(process: str) -> None:
    y = labels(200, 100)
    sets = draw(y, 100, process, q=0)
    assert (sizes(sets) == 1).all()
    assert sets[np.arange(200), y].all()


@pytest.mark.parametrize("num_wrong", [1, 3, 9])
def test_controlled_rows_get_r_wrong_labels_or_none(num_wrong: int) -> None:
    y = labels(20_000, 10)
    sets = draw(y, 10, "controlled", q=0.7, num_wrong=num_wrong)
    drawn = sizes(sets)
    assert set(drawn.tolist()) == {1, 1 + num_wrong}
    assert (drawn > 1).mean() == pytest.approx(0.7, abs=0.015)
    wrong = (sets.sum(axis=0) - 2000) / 18_000
    assert wrong == pytest.approx([0.7 * num_wrong / 9] * 10, abs=0.015)
    with pytest.raises(
        ValueError, match=r"num_wrong = 10: .* less than the number of classes, 10$"
    ):
        draw(y, 10, "controlled", q=0.7, num_wrong=10)


def test_noisy_sets_lack_the_true_label_with_probability_eta() -> None:
    y = labels(20_000, 10)
    sets = draw(y, 10, "noisy", q=0.3, eta=0.2)
    assert audit_candidates(sets, y).without_true == pytest.approx(0.2, abs=0.012)
    assert sizes(sets).min() >= 1
    wrong = sets.copy()
    wrong[np.arange(len(y)), y] = False
    assert sizes(wrong).mean() == pytest.approx(2.7404, abs=0.04)
    with pytest.raises(ValueError, match="permit noisy candidates"):
        check_candidates(sets, y, noisy=False, where="x")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"process": "uniform"}, "process uniform needs a rate q"),
        ({"process": "uniform-set", "q": 0.1}, "process uniform-set takes no rate q"),
        ({"process": "instance", "rule": "max", "q": 0.1}, "process instance takes no rate q"),
        ({"process": "pair", "q": 0.1, "policy": "free"}, "process pair has no option 'policy'"),
        ({"process": "uniform", "q": 0.1, "eta": 0.1}, "process uniform has no option 'eta'"),
        ({"process": "noisy", "q": 0.1}, "process noisy needs eta > 0"),
        (
            {"process": "noisy", "q": 0.1, "eta": 0.1, "policy": "free"},
            "a policy that leaves no row alone",
        ),
    ],
)
def test_a_setting_that_would_have_no_effect_is_refused(
    fields: dict[str, object], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        CandidateSpec.parse(fields)


def test_options_at_their_default_change_nothing() -> None:
    plain = spec("pair", q=0.1)
    assert spec("pair", q=0.1, policy="force") == plain
