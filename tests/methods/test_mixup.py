"""Mixup: its draws come from torch's global generator, its combinations are those of their twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.shared.mixup import draw_partners, draw_share, mixed
from tests.methods.fakes import normal


@pytest.mark.parametrize(("both", "folded"), [(0.75, 0.778208), (1.0, 0.75), (4, 0.636719)])
def test_shares_have_the_mean_of_their_distribution(both: float, folded: float) -> None:
    torch.manual_seed(0)
    shares = np.array([draw_share(both) for _ in range(4000)])
    assert ((shares >= 0) & (shares <= 1)).all()
    # Standard errors are below 0.006 and 0.003.
    assert shares.mean() == pytest.approx(0.5, abs=0.02)
    assert np.maximum(shares, 1 - shares).mean() == pytest.approx(folded, abs=0.01)


def test_draws_repeat_with_the_global_generator() -> None:
    def draw() -> tuple[float, list[int]]:
        return draw_share(8.0), draw_partners(torch.zeros(9, 2)).tolist()

    torch.manual_seed(3)
    first, second = draw(), draw()
    torch.manual_seed(3)
    assert draw() == first
    assert first != second


def test_partners_are_a_permutation() -> None:
    assert sorted(draw_partners(torch.zeros(50, 2)).tolist()) == list(range(50))


def test_mixed_twin() -> None:
    x, partners = normal(5, 2, 3), torch.tensor([3, 0, 2, 4, 1])
    rows = x.double().numpy()
    twin = [0.3 * rows[i] + 0.7 * rows[j] for i, j in enumerate(partners.tolist())]
    np.testing.assert_allclose(mixed(x, partners, 0.3).numpy(), twin, rtol=1e-6, atol=1e-7)
