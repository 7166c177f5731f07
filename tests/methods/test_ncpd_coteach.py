"""The worked examples of docs/methods/ncpd_coteach.md, and a slow float64 twin."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench_methods.ncpd_coteach import NCPDCoteach
from tests.methods.fakes import (
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_candidates,
    sets,
    softmax,
)

# Four instances in the batch, whose pair losses are those of the page's example of exchange, and
# four outside it that bring the mean size of the candidate sets to 2, hence the noise rate to 1/2.
BATCH_CANDIDATES = sets({0}, {0}, {0}, {0}, num_classes=4)
ALL_CANDIDATES = torch.cat([BATCH_CANDIDATES, sets(*[{0, 1, 2}] * 4, num_classes=4)])
FORGOTTEN = 10  # the epoch at which the noise rate is reached


def logits_with_losses(*losses: float) -> Tensor:
    """Logits [1, B, 4] whose cross entropy with class 0 is the given one."""
    p = (-torch.tensor(losses)).exp()
    return torch.stack([p, *[(1 - p) / 3] * 3], 1).log()[None]


A = logits_with_losses(0.1, 0.5, 2, 3)
B = logits_with_losses(3, 2, 0.5, 0.1)


def trained_rows(first: Tensor, second: Tensor, epoch: int) -> tuple[list[bool], list[bool]]:
    """Which instances the first and the second network receive gradients for."""
    lookup, batch = lookup_problem(BATCH_CANDIDATES, first, second)
    problem = replace(lookup, candidates=ALL_CANDIDATES)
    method = make(NCPDCoteach, problem, num_strong=0)
    method.epoch = epoch
    method.loss(batch).loss.backward()
    rows = [logit_gradient(net)[0].abs().sum(1) > 0 for net in (method.network, method.peer)]
    return rows[0].tolist(), rows[1].tolist()


@pytest.mark.parametrize(
    ("mean_size", "noise_rate"),
    [(2.2874, 0.5628), (3.7404, 0.7326), (5.5020, 0.8182), (7.3000, 0.8630)],
)
def test_noise_rate_of_uniform_candidate_sets(mean_size: float, noise_rate: float) -> None:
    total = round(10_000 * mean_size)
    sizes = torch.full((10_000,), total // 10_000)
    sizes[: total % 10_000] += 1
    candidates = torch.arange(10) < sizes[:, None]
    problem, _ = lookup_problem(candidates, torch.zeros(1, 1, 10), torch.zeros(1, 1, 10))
    assert make(NCPDCoteach, problem).noise_rate == pytest.approx(noise_rate, abs=5e-5)


def test_each_network_trains_on_what_its_peer_finds_easy() -> None:
    first, second = trained_rows(A, B, FORGOTTEN)
    assert second == [True, True, False, False]  # chosen by A
    assert first == [False, False, True, True]  # chosen by B


def test_at_first_both_networks_use_all_pairs() -> None:
    assert trained_rows(A, B, epoch=0) == ([True] * 4, [True] * 4)


def test_what_a_network_trains_on_does_not_depend_on_its_own_ranking() -> None:
    reordered = logits_with_losses(0.5, 2, 0.1, 3)
    assert trained_rows(A, B, FORGOTTEN)[0] == trained_rows(reordered, B, FORGOTTEN)[0]
    assert trained_rows(A, B, FORGOTTEN)[1] != trained_rows(reordered, B, FORGOTTEN)[1]


def test_remember_rate_falls_linearly_and_with_its_exponent() -> None:
    problem, _ = lookup_problem(ALL_CANDIDATES, A, B, A, B)
    method = make(NCPDCoteach, problem)
    rates = []
    for epoch in (0, 5, 10, 100):
        method.epoch = epoch
        rates.append(method.remember_rate)
    assert rates == pytest.approx([1, 0.75, 0.5, 0.5])
    squared = make(NCPDCoteach, problem, ramp_exponent=2)
    squared.epoch = 5
    assert squared.remember_rate == pytest.approx(1 - 0.5 * 0.25)


def test_a_batch_keeps_at_least_one_pair() -> None:
    lookup, _ = lookup_problem(BATCH_CANDIDATES[:1], A[:, :1], B[:, :1])
    method = make(NCPDCoteach, replace(lookup, candidates=ALL_CANDIDATES), num_strong=0)
    method.epoch = FORGOTTEN
    batch = Batch((torch.eye(1),), torch.tensor([0]), BATCH_CANDIDATES[:1])
    assert method.loss(batch).loss.item() == pytest.approx(0.1 + 3, abs=1e-5)


def test_loss_equals_its_slow_twin() -> None:
    candidates = random_candidates(12)
    logits = [normal(3, 12, 5), normal(3, 12, 5, seed=1)]
    problem, batch = lookup_problem(candidates, *logits)
    method = make(NCPDCoteach, problem)
    method.epoch = 4
    pairs = [(int(i), int(k)) for i, k in candidates.nonzero()]
    keep = int((1 - (1 - 12 / len(pairs)) * 0.4) * len(pairs))
    twin = 0.0
    for own, other in (logits, reversed(logits)):
        ranking = np.log(softmax(other)).mean(0)
        chosen = sorted(pairs, key=lambda pair: -ranking[pair])[:keep]
        twin -= np.mean([np.log(softmax(own)).mean(0)[pair] for pair in chosen])
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
