"""Random logits, candidate sets and targets for the tests of what methods share.

Letters in shape comments: B batch, C classes, V views.
"""

import numpy as np
import torch
from torch import Tensor

from pllbench_methods.shared.confidence import confidence
from tests.methods.fakes import random_candidates

V, B, C = 3, 24, 5


def random_logits(seed: int = 0) -> Tensor:
    """Logits [V, B, C]."""
    return 3 * torch.randn(V, B, C, generator=torch.Generator().manual_seed(seed))


def random_sets() -> Tensor:
    """Candidate sets of all sizes, bool [B, C]."""
    return random_candidates(B, C)


def random_target() -> Tensor:
    """A confidence on `random_sets`, [B, C]."""
    return confidence(random_logits(9), random_sets())


def extreme_logits() -> tuple[Tensor, Tensor]:
    """Logits [4, 3] whose probabilities are 0 and 1 to the last bit, and candidate sets."""
    logits = torch.tensor(
        [[200.0, -200.0, 0.0], [-200.0, 200.0, 200.0], [0.0, 0.0, -200.0], [200.0, 200.0, 200.0]]
    )
    sets = torch.tensor([[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 1]], dtype=torch.bool)
    return logits, sets


def assert_twin(result: Tensor, twin: object) -> None:
    """A result equals its slow float64 twin up to rounding."""
    assert result.dtype == torch.float32
    np.testing.assert_allclose(result.numpy(), np.asarray(twin), rtol=1e-5, atol=1e-6)
