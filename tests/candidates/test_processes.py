"""Candidate processes: the law of each, what it needs, and what it does not take."""

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from pllbench.candidates.audit import audit, check, generate
from pllbench.candidates.processes import Candidates, Labels, flip_probabilities
from pllbench.data.catalogue import CIFAR100_SUPERCLASSES
from pllbench.spec import CandidateSpec


def labels(num_rows: int, num_classes: int) -> Labels:
    return np.arange(num_rows, dtype=np.int64) % num_classes


def spec(process: str, **options: object) -> CandidateSpec:
    return CandidateSpec.parse({"process": process} | options)


def sets(y: Labels, num_classes: int, process: str, **options: object) -> Candidates:
    found = generate(y, num_classes, spec(process, **options), seed=0)
    check(found, y, noisy=process == "noisy", where=process)
    return found


def sizes_of(found: Candidates) -> npt.NDArray[np.int64]:
    sizes: npt.NDArray[np.int64] = found.sum(axis=1)
    return sizes


# Uniform sets.


def test_three_classes_have_three_sets_equally_often() -> None:
    y = np.zeros(30_000, dtype=np.int64)
    found = Counter(tuple(np.flatnonzero(row)) for row in sets(y, 3, "uniform-set"))
    assert set(found) == {(0,), (0, 1), (0, 2)}
    assert stats.chisquare(list(found.values())).pvalue > 1e-4


def test_sizes_of_uniform_sets_of_four_classes() -> None:
    counts = np.bincount(sizes_of(sets(labels(35_000, 4), 4, "uniform-set")))[1:]
    assert stats.chisquare(counts, np.array([1, 3, 3]) * 35_000 / 7).pvalue > 1e-4


@pytest.mark.parametrize("num_classes", [2, 3, 10, 63, 64, 100, 300, 1000])
@pytest.mark.parametrize("sizes", ["paper", "code"])
def test_uniform_sets_of_any_number_of_classes_are_never_full(num_classes: int, sizes: str) -> None:
    y = labels(2000, num_classes)
    found = sizes_of(sets(y, num_classes, "uniform-set", sizes=sizes))
    assert found.max() < num_classes
    n = num_classes - 1
    mean = num_classes / 2
    if sizes == "paper":  # 1 + n / 2, given that it is not the full set
        mean = 1 + n / 2 - (n / 2) / (2.0**n - 1)
    spread = num_classes**0.5 / 2
    assert found.mean() == pytest.approx(mean, abs=4 * spread / len(y) ** 0.5)


def test_uniform_sets_are_coins_given_that_the_set_is_not_full() -> None:
    y = np.zeros(64_000, dtype=np.int64)
    ours = sets(y, 5, "uniform-set")
    coins = sets(y, 5, "uniform", q=0.5, policy="free")
    coins = coins[~coins.all(axis=1)]
    code = 1 << np.arange(5)
    pair = [np.bincount(found @ code, minlength=32) for found in (ours, coins)]
    table = np.array([counts for counts in np.array(pair).T if counts.any()]).T
    assert table.shape[1] == 15
    assert stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize(
    ("num_classes", "paper", "code"), [(10, 5.4912, 5.0), (4, 16 / 7, 2.0), (3, 5 / 3, 1.5)]
)
def test_mean_sizes_of_the_paper_and_of_its_code(
    num_classes: int, paper: float, code: float
) -> None:
    y = labels(40_000, num_classes)
    for expected, sizes in ((paper, "paper"), (code, "code")):
        found = sizes_of(sets(y, num_classes, "uniform-set", sizes=sizes))
        assert found.mean() == pytest.approx(expected, abs=4 * found.std() / 200)


# Instance-dependent sets.

G = np.log(np.array([[0.7, 0.2, 0.06, 0.04]], dtype=np.float32))


def flips(
    logits: npt.NDArray[np.float64] | npt.NDArray[np.float32], **options: object
) -> list[float]:
    found = flip_probabilities(
        logits.astype(np.float32), np.zeros(1, dtype=np.int64), spec("instance", **options)
    )
    return [float(value) for value in found[0]]


def test_flip_probabilities_of_an_annotator() -> None:
    assert flips(G, q=0.4) == pytest.approx([0, 1, 0.32, 0.213333], abs=1e-6)
    assert 1 + sum(flips(G, q=0.4)) == pytest.approx(2.533333, abs=1e-6)
    assert flips(G, rule="max") == pytest.approx([0, 1, 0.3, 0.2], abs=1e-6)
    assert 1 + sum(flips(G, rule="max")) == pytest.approx(2.5, abs=1e-6)


def test_an_annotator_without_a_preference() -> None:
    found = flips(np.zeros((1, 10)), q=0.4)
    assert found[1:] == pytest.approx([4 / 9] * 9)
    assert 1 + sum(found) == pytest.approx(5)


@pytest.mark.parametrize("options", [{"q": 0.4}, {"rule": "max"}])
def test_an_annotator_sure_of_one_wrong_label(options: dict[str, object]) -> None:
    y = labels(500, 10)
    logits = np.full((500, 10), -200.0, dtype=np.float32)
    logits[np.arange(500), (y + 3) % 10] = 50
    found = generate(y, 10, spec("instance", **options), 0, logits=logits)
    assert (sizes_of(found) == 2).all()
    assert found[np.arange(500), (y + 3) % 10].all()


def test_the_mean_size_of_instance_sets_is_bounded() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(300, 10)).astype(np.float32) * 3
    for q in (0.05, 0.4, 1.0):
        found = flip_probabilities(logits, labels(300, 10), spec("instance", q=q))
        assert (1 + found.sum(axis=1) <= 1 + q * 10 + 1e-9).all()


def test_shifts_and_a_true_label_near_certainty_change_nothing() -> None:
    expected = flips(G, q=0.4)
    assert flips(G + 100, q=0.4) == pytest.approx(expected, abs=1e-4)
    sure = G.astype(np.float64).copy()
    sure[0, 0] = 30  # g_y = 1 - 1e-13
    assert flips(sure, q=0.4) == pytest.approx(expected, abs=1e-6)


def test_instance_sets_are_nested_in_the_rate_and_need_logits() -> None:
    y = labels(400, 10)
    logits = np.random.default_rng(1).normal(size=(400, 10)).astype(np.float32)
    small, large = (generate(y, 10, spec("instance", q=q), 0, logits=logits) for q in (0.1, 0.4))
    assert not (small & ~large).any()
    assert small[np.arange(400), y].all()
    with pytest.raises(ValueError, match="needs the logits of an annotator"):
        generate(y, 10, spec("instance", q=0.4), 0)


# Class-dependent sets.


def test_the_last_class_is_paired_with_the_first() -> None:
    found = sets(np.array([2]), 3, "pair", q=1)
    assert np.flatnonzero(found[0]).tolist() == [0, 2]
    sizes = sizes_of(sets(labels(20_000, 10), 10, "pair", q=0.3))
    assert set(sizes.tolist()) == {1, 2}
    assert sizes.mean() == pytest.approx(1.3, abs=0.015)


def test_wrong_labels_are_those_of_the_superclass() -> None:
    y = labels(20_000, 100)
    groups = np.asarray(CIFAR100_SUPERCLASSES)
    whole, half = (
        generate(y, 100, spec("hierarchical", q=q), 0, superclasses=CIFAR100_SUPERCLASSES)
        for q in (1, 0.5)
    )
    assert (whole == (groups[y][:, None] == groups)).all()
    assert not (half & ~whole).any()
    assert sizes_of(half).mean() == pytest.approx(3.0, abs=0.03)
    with pytest.raises(ValueError, match="needs classes with superclasses"):
        generate(y, 100, spec("hierarchical", q=1), 0)


@pytest.mark.parametrize("process", ["pair", "hierarchical", "controlled"])
def test_rate_0_leaves_the_true_label_alone(process: str) -> None:
    y = labels(200, 100)
    found = generate(y, 100, spec(process, q=0), 0, superclasses=CIFAR100_SUPERCLASSES)
    assert (sizes_of(found) == 1).all()
    assert found[np.arange(200), y].all()


@pytest.mark.parametrize("num_wrong", [1, 3, 9])
def test_controlled_rows_get_r_wrong_labels_or_none(num_wrong: int) -> None:
    y = labels(20_000, 10)
    found = sets(y, 10, "controlled", q=0.7, num_wrong=num_wrong)
    sizes = sizes_of(found)
    assert set(sizes.tolist()) == {1, 1 + num_wrong}
    assert (sizes > 1).mean() == pytest.approx(0.7, abs=0.015)
    wrong = (found.sum(axis=0) - 2000) / 18_000
    assert wrong == pytest.approx([0.7 * num_wrong / 9] * 10, abs=0.015)
    with pytest.raises(
        ValueError, match=r"num_wrong = 10: .* less than the number of classes, 10$"
    ):
        generate(y, 10, spec("controlled", q=0.7, num_wrong=10), 0)


def test_noisy_sets_lack_the_true_label_with_probability_eta() -> None:
    y = labels(20_000, 10)
    found = sets(y, 10, "noisy", q=0.3, eta=0.2)
    assert audit(found, y).without_true == pytest.approx(0.2, abs=0.012)
    assert sizes_of(found).min() >= 1
    wrong = found.copy()
    wrong[np.arange(len(y)), y] = False
    assert sizes_of(wrong).mean() == pytest.approx(2.7404, abs=0.04)
    with pytest.raises(ValueError, match="permit noisy candidates"):
        check(found, y, noisy=False, where="x")


# Settings.


def test_every_process_has_a_stream_of_its_own() -> None:
    y = labels(1000, 10)
    coins = sets(y, 10, "uniform", q=0.5, policy="free")
    assert (sets(y, 10, "uniform-set") != coins).any()
    assert (sets(y, 10, "noisy", q=0.5, eta=1e-9) != sets(y, 10, "uniform", q=0.5)).any()


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
