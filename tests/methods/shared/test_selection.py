"""Reliable instances: chosen class by class, averaged, and mixed with each other."""

import numpy as np
import pytest
import torch

from pllbench_methods.shared.selection import (
    chosen_rows,
    mean_over,
    mix_chosen,
    smallest_by_class,
)
from tests.methods.fakes import normal


def test_smallest_of_each_label() -> None:
    losses = torch.tensor([0.5, 0.1, 0.3, 0.2, 0.9, 0.4])
    labels = torch.tensor([0, 0, 0, 1, 1, 2])
    chosen = smallest_by_class(losses, labels, torch.tensor([1.2, 0.0, 5.0, 3.0]))
    # Two of label 0 (1.2 rounded up), one of label 1 (at least one), all of label 2.
    assert chosen.tolist() == [False, True, True, True, False, True]


def test_of_equal_losses_the_earlier_is_chosen() -> None:
    chosen = smallest_by_class(torch.zeros(4), torch.zeros(4).long(), torch.tensor([2.0]))
    assert chosen.tolist() == [True, True, False, False]


@pytest.mark.parametrize("seed", range(5))
def test_smallest_by_class_twin(seed: int) -> None:
    losses, counts = normal(40, seed=seed), 4 * normal(6, seed=seed + 10).abs()
    labels = normal(40, 6, seed=seed + 20).argmax(1)
    twin = set()
    for label in range(6):
        rows = [i for i in range(40) if labels[i] == label]
        number = max(int(np.ceil(counts[label].item())), 1)
        twin |= set(sorted(rows, key=lambda i: losses[i].item())[:number])
    assert set(smallest_by_class(losses, labels, counts).nonzero().flatten().tolist()) == twin


def test_mean_over_the_chosen() -> None:
    losses = torch.tensor([1.0, 2.0, 6.0])
    assert mean_over(torch.tensor([True, False, True]), losses) == 3.5
    assert mean_over(torch.zeros(3).bool(), losses) == 0


def test_chosen_rows_fill_the_batch_in_turn() -> None:
    torch.manual_seed(0)
    chosen = torch.tensor([False, True, True, False, True, False, False, False])
    orders = [chosen_rows(chosen).tolist() for _ in range(40)]
    for order in orders:
        assert set(order[:3]) == {1, 2, 4}
        assert order == (order[:3] * 3)[:8]
    assert len({tuple(order[:3]) for order in orders}) == 6  # every order comes


def test_mixtures_are_of_chosen_rows_alone_and_mostly_themselves() -> None:
    torch.manual_seed(0)
    chosen = torch.tensor([True, False, True, True, False])
    mixing, target = mix_chosen(torch.eye(5), 2 * torch.eye(5), chosen, 4.0)
    assert (mixing[:, ~chosen] == 0).all()
    torch.testing.assert_close(mixing.sum(1), torch.ones(5))
    assert (mixing.amax(1) >= 0.5).all()
    torch.testing.assert_close(target, 2 * mixing)  # targets are mixed as the instances are


def test_a_single_chosen_row_is_mixed_with_itself() -> None:
    mixing, _ = mix_chosen(torch.eye(3), torch.eye(3), torch.tensor([False, True, False]), 4.0)
    torch.testing.assert_close(mixing, torch.eye(3)[[1, 1, 1]])
