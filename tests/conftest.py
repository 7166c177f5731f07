"""Shared by all tests: one torch thread (a second one makes small tensors many times slower)."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor

torch.set_num_threads(1)

# Speed is measured in benchmarks: a slow example on a busy machine is no failure.
settings.register_profile("pllbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pllbench")


@pytest.fixture
def no_uploads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse tensors made of the host's numbers on a device: their copy waits for a GPU."""
    make: Callable[..., Tensor] = torch.tensor

    def tensor(*values: Any, device: torch.device | str | None = None, **options: Any) -> Tensor:
        assert torch.device(device or "cpu").type == "cpu"
        return make(*values, **options)

    monkeypatch.setattr(torch, "tensor", tensor)
