"""Mixup: the law of its shares, partners within the batch, and the loss against a twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.shared.mixup import mix, mixup_cross_entropy, mixup_share
from tests.methods.fakes import normal, softmax


@pytest.mark.parametrize(("alpha", "mean"), [(0.75, 0.778208), (1.0, 0.75), (4.0, 0.636719)])
def test_mean_of_the_folded_share(alpha: float, mean: float) -> None:
    torch.manual_seed(0)
    shares = np.array([mixup_share(alpha) for _ in range(20_000)])
    assert shares.min() >= 0.5
    assert shares.mean() == pytest.approx(mean, abs=4 * 0.15 / 20_000**0.5)


def test_shares_come_from_the_global_generator() -> None:
    torch.manual_seed(3)
    first = [mixup_share(4.0) for _ in range(5)]
    torch.manual_seed(3)
    assert [mixup_share(4.0) for _ in range(5)] == first
    assert len(set(first)) == 5


def test_mix_twin() -> None:
    values, partners = normal(4, 3, 2), torch.tensor([2, 0, 3, 1])
    twin = 0.7 * values.numpy() + 0.3 * values.numpy()[partners.numpy()]
    np.testing.assert_allclose(mix(values, partners, 0.7).numpy(), twin, rtol=1e-5)


def test_cross_entropy_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pllbench_methods.shared.mixup.mixup_share", lambda _: 0.8)
    x, weight, target = normal(6, 4), normal(4, 5, seed=1), normal(6, 5, seed=2).softmax(1)
    torch.manual_seed(0)
    partners = torch.randperm(6).numpy()
    torch.manual_seed(0)
    loss = mixup_cross_entropy(lambda rows: rows @ weight, x, target, 4.0)
    rows, targets = x.double().numpy(), target.double().numpy()
    probs = softmax(torch.tensor((0.8 * rows + 0.2 * rows[partners]) @ weight.double().numpy()))
    mixed = 0.8 * targets + 0.2 * targets[partners]
    assert loss.item() == pytest.approx(-(mixed * np.log(probs)).sum(1).mean(), rel=1e-5)
