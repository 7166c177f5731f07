"""The worked examples of docs/methods/supervised.md, and a slow float64 twin."""

import math

import numpy as np
import pytest
import torch

from pllbench_methods.supervised import Supervised
from tests.methods.fakes import log, lookup_problem, make, normal, sets, softmax


def test_cross_entropy_with_the_true_label() -> None:
    problem, batch = lookup_problem(sets({0}, num_classes=3), log([0.5, 0.3, 0.2])[None])
    step = make(Supervised, problem, num_strong=0).loss(batch)
    assert step.loss.item() == pytest.approx(0.693147, abs=1e-6)
    assert step.pseudo is None


def test_mean_over_three_views() -> None:
    views = [[0.7, 0.3], [0.5, 0.5], [0.9, 0.1]]
    problem, batch = lookup_problem(sets({0}, num_classes=2), log(*views)[:, None])
    assert make(Supervised, problem).loss(batch).loss.item() == pytest.approx(0.385061, abs=1e-6)


def test_it_takes_true_labels_and_refuses_sets_of_several_candidates() -> None:
    assert Supervised.labels == "true"
    problem, _ = lookup_problem(sets({0, 1}, num_classes=3), torch.zeros(1, 1, 3))
    with pytest.raises(ValueError, match="true labels"):
        make(Supervised, problem)


def test_equal_logits_cost_log_of_the_number_of_classes() -> None:
    problem, batch = lookup_problem(sets({3}, num_classes=10), torch.ones(3, 1, 10))
    loss = make(Supervised, problem).loss(batch).loss.item()
    assert loss == pytest.approx(2.302585, abs=1e-6)
    assert loss == pytest.approx(math.log(10), abs=1e-6)


def test_loss_equals_its_slow_twin() -> None:
    logits = normal(3, 6, 4)
    label = torch.tensor([0, 1, 2, 3, 0, 1])
    problem, batch = lookup_problem(torch.eye(4, dtype=torch.bool)[label], logits)
    probs = softmax(logits)
    twin = np.mean([[-np.log(probs[v, i, label[i]]) for i in range(6)] for v in range(3)])
    assert make(Supervised, problem).loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
