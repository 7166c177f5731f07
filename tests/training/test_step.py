"""One training step: gradient, update, and what the method sees after it."""

import copy
from collections.abc import Iterator

import pytest
import torch

from pllbench.method import Batch
from pllbench.training.loader import Loader
from pllbench.training.sgd import SGD
from pllbench.training.step import take_gradient, take_step, update
from pllbench.training.trainer import build_method
from tests.factories import Toy, make_small_task, make_toy_spec


class Recording(Toy):
    """Keeps its weights and whether gradients are on after each step."""

    def after_step(self, batch: Batch) -> None:
        self.seen = (self.network.classifier.weight.clone(), torch.is_grad_enabled())


@pytest.fixture
def method() -> Iterator[Recording]:
    """A method in training mode without random numbers of its own."""
    spec = make_toy_spec(hparams={"jitter": 0.0})
    made = build_method(spec, Recording, make_small_task(spec))
    assert isinstance(made, Recording)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield made.train()


@pytest.fixture
def batch(method: Recording) -> Batch:
    """The first batch of its run."""
    task = make_small_task(make_toy_spec())
    loader = Loader(task.x, task.candidates, task.views, method.views, 16, 0)
    return next(loader.epoch(0))


def test_a_gradient_replaces_the_last_one_and_changes_no_parameter(
    method: Recording, batch: Batch
) -> None:
    weight = method.network.classifier.weight
    copied = copy.deepcopy(method)
    before = copied.network.classifier.weight
    (expected,) = torch.autograd.grad(copied.loss(batch).loss, before)
    weight.grad = torch.full_like(weight, 1e6)
    take_gradient(method.loss, batch, SGD(method.parameters(), 0.5))
    assert torch.equal(weight, before)
    torch.testing.assert_close(weight.grad, expected)


def test_an_update_is_the_optimizers_and_the_method_sees_the_new_weights(
    method: Recording, batch: Batch
) -> None:
    weight = method.network.classifier.weight
    optimizer = SGD(method.parameters(), 0.5)
    take_gradient(method.loss, batch, optimizer)
    assert weight.grad is not None
    expected = weight.detach() - 0.5 * weight.grad
    update(method, batch, optimizer)
    torch.testing.assert_close(weight.detach(), expected)
    assert torch.equal(method.seen[0], weight)
    assert method.seen[1] is False


def test_a_step_is_both_halves(method: Recording, batch: Batch) -> None:
    weight = method.network.classifier.weight
    before = weight.detach().clone()
    step = take_step(method, batch, SGD(method.parameters(), 0.5))
    assert step.pseudo is not None
    assert weight.grad is not None
    torch.testing.assert_close(weight.detach(), before - 0.5 * weight.grad)
    assert torch.equal(method.seen[0], weight)
