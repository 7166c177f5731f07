"""Softmax over few and many classes: the numbers are torch's, whatever the layout."""

import math

import pytest
import torch

from pllbench_methods.shared.softmax import SHORT, log_softmax, softmax

functions = pytest.mark.parametrize(
    ("function", "theirs"), [(log_softmax, torch.log_softmax), (softmax, torch.softmax)]
)


@functions
@pytest.mark.parametrize("num_classes", [1, 2, 10, SHORT - 1, SHORT, 40])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 7), (2, 3, 7)])
def test_values_and_gradients_are_torchs(
    function: object, theirs: object, num_classes: int, shape: tuple[int, ...]
) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(*shape, num_classes, generator=generator)
    upstream = torch.randn(logits.shape, generator=generator)
    found, expected = logits.clone().requires_grad_(), logits.double().requires_grad_()
    ours, other = function(found), theirs(expected, -1)  # type: ignore[operator]
    torch.testing.assert_close(ours, other.float(), rtol=1e-5, atol=1e-6)
    (ours * upstream).sum().backward()
    (other * upstream.double()).sum().backward()
    assert expected.grad is not None
    torch.testing.assert_close(found.grad, expected.grad.float(), rtol=1e-5, atol=1e-6)


@functions
def test_what_is_masked_has_no_probability(function: object, theirs: object) -> None:
    logits = torch.tensor([[200.0, -math.inf, -200.0], [-math.inf, 0.0, -math.inf]])
    assert torch.equal(function(logits), theirs(logits, -1))  # type: ignore[operator]
