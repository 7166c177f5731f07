"""AsyCo's disambiguation loss against a slow float64 twin."""

import numpy as np
import pytest
from torch import Tensor

from pllbench_methods.shared.disambiguation import disambiguation_losses
from tests.methods.fakes import softmax
from tests.methods.shared.helpers import assert_twin, random_logits, random_sets, random_target


@pytest.fixture(scope="module")
def candidates() -> Tensor:
    return random_sets()


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_disambiguation_losses_equal_their_slow_twin(candidates: Tensor, gamma: float) -> None:
    logits, target = random_logits(), random_target()
    probs = softmax(logits)
    twin = -np.log((probs * candidates.numpy()).sum(-1))
    twin -= gamma * (target.double().numpy() * np.log(probs)).sum(-1)
    assert_twin(disambiguation_losses(logits, target, candidates, gamma), twin)
