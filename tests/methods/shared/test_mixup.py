"""Mixup: its draws come from torch's global generator, its combinations are those of their twin."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench_methods.shared.mixup import (
    draw_larger_share,
    draw_partners,
    draw_share,
    mix,
    mixup_cross_entropy,
)
from tests.methods.fakes import normal, softmax

CPU = torch.device("cpu")


@pytest.mark.parametrize(("alpha", "mean"), [(0.75, 0.778208), (1.0, 0.75), (4.0, 0.636719)])
def test_shares_have_the_mean_of_their_distribution(alpha: float, mean: float) -> None:
    torch.manual_seed(0)
    shares = np.array([draw_share(alpha, CPU) for _ in range(20_000)])
    assert ((shares >= 0) & (shares <= 1)).all()
    assert shares.mean() == pytest.approx(0.5, abs=4 * 0.32 / 20_000**0.5)  # 4 standard errors
    larger = np.array([draw_larger_share(alpha, CPU) for _ in range(20_000)])
    assert larger.min() >= 0.5
    assert larger.mean() == pytest.approx(mean, abs=4 * 0.15 / 20_000**0.5)


def test_the_larger_share_is_that_of_the_same_draw() -> None:
    torch.manual_seed(3)
    shares = [draw_share(4.0, CPU) for _ in range(20)]
    torch.manual_seed(3)
    assert [draw_larger_share(4.0, CPU) for _ in range(20)] == [max(s, 1 - s) for s in shares]


def test_draws_repeat_with_the_global_generator() -> None:
    def draw() -> tuple[Tensor | float, list[int]]:
        return draw_share(8.0, CPU), draw_partners(torch.zeros(9, 2)).tolist()

    torch.manual_seed(3)
    first, second = draw(), draw()
    torch.manual_seed(3)
    assert draw() == first
    assert first != second


def test_partners_are_a_permutation() -> None:
    assert sorted(draw_partners(torch.zeros(50, 2)).tolist()) == list(range(50))


@pytest.mark.parametrize("share", [0.3, torch.tensor(0.3, dtype=torch.float64)])
def test_mix_twin(share: Tensor | float) -> None:
    """The share is a number on the CPU, a 0-d tensor elsewhere."""
    x, partners = normal(5, 2, 3), torch.tensor([3, 0, 2, 4, 1])
    rows = x.double().numpy()
    twin = [0.3 * rows[i] + 0.7 * rows[j] for i, j in enumerate(partners.tolist())]
    np.testing.assert_allclose(mix(x, partners, share).numpy(), twin, rtol=1e-6, atol=1e-7)


def test_cross_entropy_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pllbench_methods.shared.mixup.draw_larger_share", lambda *_: 0.8)
    x, weight, target = normal(6, 4), normal(4, 5, seed=1), normal(6, 5, seed=2).softmax(1)
    torch.manual_seed(0)
    partners = draw_partners(x).numpy()
    torch.manual_seed(0)
    loss = mixup_cross_entropy(lambda rows: rows @ weight, x, target, 4.0)
    rows, targets = x.double().numpy(), target.double().numpy()
    probs = softmax(torch.tensor((0.8 * rows + 0.2 * rows[partners]) @ weight.double().numpy()))
    mixed = 0.8 * targets + 0.2 * targets[partners]
    assert loss.item() == pytest.approx(-(mixed * np.log(probs)).sum(1).mean(), rel=1e-5)
