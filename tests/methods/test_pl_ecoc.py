"""The examples of docs/methods/pl_ecoc.md, what a column may be, and PL-ECOC's twin."""

import math

import numpy as np
import pytest
import torch
from sklearn.svm import LinearSVC
from torch import Tensor

from pllbench_methods.pl_ecoc import (
    PLECOC,
    PLECOCHparams,
    decode,
    on_one_side,
    performance,
    random_splits,
)
from tests.methods.fakes import fitted, normal, sets


@pytest.mark.parametrize(("num_classes", "length"), [(2, 10), (10, 34), (13, 38)])
def test_length_of_the_code(num_classes: int, length: int) -> None:
    """Example 1."""
    assert PLECOCHparams().length(num_classes) == length


CODE = torch.tensor([[1.0, 1, 1], [1, -1, -1]])
WEIGHTS = torch.tensor([[0.2, 0.4, 0.4], [0.6, 0.2, 0.2]])
DECISIONS = torch.tensor([[3.0, 0.5, 0.5]])


def test_loss_based_decoding() -> None:
    """Example 2."""
    scores = decode(DECISIONS, CODE, WEIGHTS)
    assert (-scores).exp()[0].tolist() == pytest.approx([0.4952, 0.6894], abs=1e-4)
    assert scores.argmax() == 0


def test_the_largest_sum_of_the_gains_would_be_the_other_class() -> None:
    """Example 2."""
    gains = (-decode(-DECISIONS, CODE, WEIGHTS)).exp()[0]
    assert gains.tolist() == pytest.approx([5.3360, 12.2939], abs=1e-3)


def test_decoding_survives_decisions_whose_exponential_does_not() -> None:
    scores = decode(torch.tensor([[-500.0, 500.0, 500.0]]), CODE, WEIGHTS)
    expected = [-(500 + math.log(0.2)), -(500 + math.log(0.6 + 0.2 + 0.2))]
    assert scores[0].tolist() == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("num_classes", "number"), [(2, 1), (4, 7), (10, 511)])
def test_every_split_of_few_classes_comes_once(num_classes: int, number: int) -> None:
    splits = torch.stack(list(random_splits(num_classes)))
    assert splits.shape == (number, num_classes)
    assert len(splits.unique(dim=0)) == number
    assert (splits[:, -1] == -1).all()
    assert (splits == 1).any(1).all()


def test_splits_of_many_classes_are_random_and_come_once() -> None:
    torch.manual_seed(0)
    splits, again = (torch.stack(list(random_splits(13))) for _ in range(2))
    assert 3500 < len(splits) <= 2**12  # of which 10,000 draws meet nine in ten
    assert len(splits.unique(dim=0)) == len(splits)
    assert not torch.equal(splits[:100], again[:100])
    assert len(list(random_splits(40))) == 10_000
    assert 0.45 < (torch.stack(list(random_splits(40)))[:, :-1] == 1).float().mean() < 0.55


def test_sets_on_one_side_of_a_split() -> None:
    """Example 3."""
    candidates = sets({0, 1}, {2}, {1, 2}, {2, 3}, {0, 1, 2, 3}, num_classes=4)
    sides = torch.tensor([1.0, 1, -1, -1])
    assert on_one_side(candidates, sides).tolist() == [1, -1, 0, -1, 0]


def test_performance_of_columns() -> None:
    """Example 4."""
    candidates = sets({0, 1}, {0}, {1}, {1}, num_classes=3)
    decisions = torch.tensor([[1.0, -1.0], [2.0, 1.0], [-1.0, -1.0], [-3.0, 1.0]])
    code = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    found = performance(decisions, code, candidates)
    # Class 0 has rows 0 and 1, class 1 has rows 0, 2 and 3; nobody has class 2.
    assert found[:2].tolist() == [[1, 0.5], [pytest.approx(2 / 3), pytest.approx(1 / 3)]]
    assert found[2].isnan().all()


def blobs(num_classes: int, num_absent: int = 0, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """60 rows, their labels, and their sets; every third has the next label too."""
    label = torch.arange(60) % num_classes
    x = 6 * torch.eye(num_classes)[label] + normal(60, num_classes, seed=seed)
    candidates = torch.eye(num_classes + num_absent).bool()[label]
    candidates[torch.arange(0, 60, 3), (label[::3] + 1) % num_classes] = True
    return x, label, candidates


def test_every_column_has_the_rows_that_it_needs() -> None:
    x, label, candidates = blobs(5)
    method, pseudo = fitted(PLECOC, x, candidates, min_share=0.8)
    assert pseudo is None
    columns = method.code[:, (method.code != 0).any(0)].T
    assert 0 < len(columns) < 15
    eligible = []
    for sides in random_splits(5):
        side = on_one_side(candidates, sides)
        if (side != 0).sum() >= 48 and side.max() > 0 > side.min():
            eligible.append(sides.tolist())
    assert sorted(columns.tolist()) == sorted(eligible)
    assert (method.predict(x).argmax(1) == label).double().mean() > 0.8


def test_a_code_has_at_most_its_length() -> None:
    x, _, candidates = blobs(5)
    method, _ = fitted(PLECOC, x, candidates, length_factor=3.0)
    assert method.code.shape == (5, 7)
    assert (method.code != 0).all()


def test_a_class_that_is_nobodys_candidate_is_never_predicted() -> None:
    x, _, candidates = blobs(4, num_absent=1)
    method, _ = fitted(PLECOC, x, candidates)
    scores = method.predict(x)
    assert (scores[:, 4] == -torch.inf).all()
    assert scores[:, :4].isfinite().all()
    assert not method.possible[4]


def test_without_a_column_all_labels_have_the_same_score() -> None:
    x, _, _ = blobs(5)
    method, _ = fitted(PLECOC, x, torch.ones(60, 5, dtype=torch.bool))
    assert (method.code == 0).all()
    assert (method.predict(x) == 0).all()


def test_twin() -> None:
    x, _, candidates = blobs(4)
    method, _ = fitted(PLECOC, x, candidates)
    test = blobs(4, seed=1)[0][:9]
    rows, mask = x.double().numpy(), candidates.numpy()
    columns = [column for column in method.code.T.numpy() if column.any()]
    assert len(columns) == 7
    machines = []
    for sides in columns:
        inside = [all(sides[k] > 0 for k in np.flatnonzero(row)) for row in mask]
        outside = [all(sides[k] < 0 for k in np.flatnonzero(row)) for row in mask]
        used = np.array(inside) | np.array(outside)
        machine = LinearSVC(dual=False, C=1.0, tol=1e-8)
        machines.append(machine.fit(rows[used], np.array(inside)[used]))
    sums = np.zeros((9, 4))
    for k in range(4):
        own = rows[mask[:, k]]
        right = [
            np.mean(np.sign(machine.decision_function(own)) == sides[k])
            for machine, sides in zip(machines, columns, strict=True)
        ]
        for machine, sides, share in zip(machines, columns, right, strict=True):
            decision = machine.decision_function(test.double().numpy())
            sums[:, k] += share / sum(right) * np.exp(-decision * sides[k])
    np.testing.assert_allclose((-method.predict(test)).exp(), sums, rtol=1e-2)


def test_images_are_taken_as_rows() -> None:
    x, _, candidates = blobs(4)
    torch.manual_seed(0)
    image, _ = fitted(PLECOC, x.view(60, 1, 2, 2), candidates)
    torch.manual_seed(0)
    flat, _ = fitted(PLECOC, x, candidates)
    assert torch.equal(image.predict(x.view(60, 1, 2, 2)), flat.predict(x))
