"""What an epoch asks of its steps, and what it makes of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch, Hparams, Method, Problem, Schedule, Step
from pllbench.testing.support import toy_spec, toy_task
from pllbench.training.loader import Loader
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench.training.trainer import build_method, train


class Mean(Method[Hparams]):
    """Cross entropy with equal weights on the candidates; guesses the last one."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()
        self.gradients: list[bool] = []

    def loss(self, batch: Batch) -> Step:
        self.gradients.append(any(p.grad is not None for p in self.parameters()))
        logits, _ = self.network(batch.x[0])
        target = batch.candidates / batch.candidates.sum(1, keepdim=True)
        num_classes = batch.candidates.shape[1]
        last = (batch.candidates * torch.arange(num_classes)).argmax(1)
        return Step(-(target * logits.log_softmax(1)).sum(1).mean(), last)

    def predict(self, x: Tensor) -> Tensor:
        logits: Tensor = self.network(x)[0]
        return logits


class Renewing(Mean):
    calls = 0

    def after_step(self, batch: Batch) -> None:
        assert not torch.is_grad_enabled()
        self.calls += 1


class Inheriting(Renewing):
    pass


def stepped(cls: type[Mean], num_steps: int = 3) -> Mean:
    task = toy_task(48)
    method = build_method(toy_spec(cls), cls, task)
    assert isinstance(method, Mean)
    optimizer = SGD(method.parameters(), 0.1)
    loader = Loader(task.x, task.candidates, task.views, method.views, 16, seed=0)
    for batch, _ in zip(loader.epoch(0), range(num_steps), strict=True):
        take_step(method, batch, optimizer)
    return method


def test_no_gradient_is_kept_through_a_forward_pass() -> None:
    assert stepped(Mean).gradients == [False] * 3


@pytest.mark.parametrize("cls", [Renewing, Inheriting])
def test_a_method_with_an_after_step_has_it_called_after_each(cls: type[Renewing]) -> None:
    method = stepped(cls)
    assert isinstance(method, Renewing)
    assert method.calls == 3


def test_noise_rates_are_those_of_all_pseudo_labels_of_an_epoch() -> None:
    task = toy_task(48)
    curves = train(toy_spec(Mean), Mean, task).curves
    last = (task.candidates * torch.arange(5)).argmax(1).tolist()
    y = task.y.tolist()
    wrong = sum(a != b for a, b in zip(last, y, strict=True)) / 48
    assert 0 < wrong < 1
    np.testing.assert_allclose(curves["class_noise"], wrong, rtol=1e-12)
    pairs = [(i, j) for i in range(48) for j in range(48) if i != j]
    disagreeing = sum((last[i] == last[j]) != (y[i] == y[j]) for i, j in pairs) / len(pairs)
    np.testing.assert_allclose(curves["pairwise_noise"], disagreeing, rtol=1e-12)


class Silent(Mean):
    """Gives no pseudo labels in its short batch, the last of an epoch."""

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        return step if len(batch.index) == 16 else replace(step, pseudo=None)


def test_an_epoch_with_a_step_without_pseudo_labels_has_no_noise_rates() -> None:
    found = train(toy_spec(Silent), Silent, toy_task(40))
    assert "class_noise" not in found.curves
    assert (found.result.class_noise, found.result.pairwise_noise) == (None, None)
    assert "class_noise" in train(toy_spec(Silent), Silent, toy_task(48)).curves


class Numbered(Mean):
    """The loss of a batch is the mean number of its rows."""

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        numbers = batch.index.float().mean()
        return replace(step, loss=0 * step.loss + numbers, logs={"number": numbers})


@pytest.mark.parametrize("batch_size", [1, 16, 39, 40, 1000])
def test_losses_and_logs_of_an_epoch_are_means_over_its_rows(batch_size: int) -> None:
    found = train(toy_spec(Numbered, batch_size=batch_size), Numbered, toy_task(40)).curves
    np.testing.assert_allclose(found["loss"], 19.5, rtol=1e-6)
    np.testing.assert_allclose(found["log_number"], 19.5, rtol=1e-6)


@pytest.mark.parametrize(
    ("log", "found"), [(torch.zeros(3), r"\[3\]"), (0.5, "float"), (None, "NoneType")]
)
def test_a_log_that_is_no_scalar_tensor_is_named(log: Any, found: str) -> None:
    class Logging(Mean):
        def loss(self, batch: Batch) -> Step:
            return replace(super().loss(batch), logs={"share": log})

    reason = f"^the log 'share' must be a scalar tensor in every step, is {found}$"
    with pytest.raises(ValueError, match=reason):
        train(toy_spec(Logging), Logging, toy_task(40))


class Rising(Mean):
    """A schedule from 0 to 100 and a switch at 50 reference epochs; the loss is the number."""

    reference_epochs = 100
    height: Tensor
    up: bool

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        return {"height": lambda epoch: epoch, "up": lambda epoch: epoch >= 50}

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        return replace(step, loss=0 * step.loss + self.height)


def test_schedules_are_set_for_every_epoch_and_have_columns() -> None:
    found = train(toy_spec(Rising, epochs=5), Rising, toy_task(40)).curves
    assert found["loss"].tolist() == [0, 20, 40, 60, 80]
    assert found["schedule_height"].tolist() == [0, 20, 40, 60, 80]
    assert found["schedule_up"].tolist() == [0, 0, 0, 1, 1]


class Determined(Mean):
    """Notes what cuDNN is asked for."""

    def loss(self, batch: Batch) -> Step:
        self.asked = (torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark)
        return super().loss(batch)


def test_cudnn_gives_equal_results_in_a_run_and_is_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", False)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    method = train(toy_spec(Determined, epochs=1), Determined, toy_task(20)).method
    assert isinstance(method, Determined)
    assert method.asked == (True, False)
    assert not torch.backends.cudnn.deterministic
    assert torch.backends.cudnn.benchmark
