"""The optimizer: its schedule, its settings, and the parameter groups of a method."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from pllbench.method import Batch, ParamGroup, Step
from pllbench.seeds import stream_seed
from pllbench.spec import TrainSpec
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.optimizer import learning_rate
from pllbench.training.trainer import Interrupted, build_method, train
from tests.factories import Toy, make_small_task, make_toy_spec


def test_multistep_drops_exactly_at_its_milestones() -> None:
    spec = TrainSpec()
    rates = [learning_rate(spec, epoch) for epoch in range(200)]
    assert rates == [0.1] * 100 + [0.1 / 10] * 50 + [0.1 / 100] * 50
    late = TrainSpec(milestones=(0.605, 0.855))
    drops = [e for e in range(1, 200) if learning_rate(late, e) != learning_rate(late, e - 1)]
    assert drops == [121, 171]
    inexact = TrainSpec(epochs=10, milestones=(0.1 + 0.2,))
    assert learning_rate(inexact, 3) == 0.1 / 10


@pytest.mark.parametrize("epochs", [1, 3, 7, 100, 199, 800])
def test_multistep_keeps_its_proportions(epochs: int) -> None:
    spec = TrainSpec(epochs=epochs)
    for epoch in range(epochs):
        drops = (2 * epoch >= epochs) + (4 * epoch >= 3 * epochs)
        assert learning_rate(spec, epoch) == 0.1 / 10**drops


def test_cosine_goes_from_lr_to_a_thousandth() -> None:
    spec = TrainSpec(schedule="cosine", lr=0.02, epochs=800)
    rates = [learning_rate(spec, epoch) for epoch in range(801)]
    assert rates[0] == pytest.approx(0.02, rel=1e-15)
    assert rates[400] == pytest.approx((0.02 + 2e-5) / 2, rel=1e-12)
    assert rates[800] == pytest.approx(2e-5, rel=1e-12)
    assert (np.diff(rates) < 0).all()


class Linear(Toy):
    """One deterministic step an epoch: cross entropy with the candidates' mean."""

    def loss(self, batch: Batch) -> Step:
        target = batch.candidates / batch.candidates.sum(1, keepdim=True)
        logits, _ = self.network(batch.x[0])
        return Step(-(target * logits.log_softmax(1)).sum(1).mean())


class LinearFromEpoch2(Linear):
    """Goes on from its weights with a fresh optimizer."""

    def restarts(self) -> bool:
        return self.epoch == 2


@pytest.mark.parametrize(("cls", "fresh"), [(Linear, None), (LinearFromEpoch2, 2)])
def test_the_optimizer_is_sgd_with_the_settings_of_the_spec(
    cls: type[Toy], fresh: int | None
) -> None:
    settings = {"lr": 0.3, "momentum": 0.5, "weight_decay": 0.2, "epochs": 4, "batch_size": 999}
    spec = make_toy_spec(hparams={"num_strong": 0}, train=settings)
    task = make_small_task(spec)
    found = train(spec, cls, task)
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(0, "init"))
        weight, bias = build_method(spec, Linear, task).parameters()
    target = task.candidates / task.candidates.sum(1, keepdim=True)
    velocity = [torch.zeros_like(weight), torch.zeros_like(bias)]
    for epoch, lr in enumerate((0.3, 0.3, 0.03, 0.003)):  # milestones at 1/2 and 3/4
        if epoch == fresh:
            velocity = [torch.zeros_like(weight), torch.zeros_like(bias)]
        error = (task.x @ weight.T + bias).softmax(1) - target
        gradients = [error.T @ task.x / len(task.x), error.mean(0)]
        for i, (p, g) in enumerate(zip((weight, bias), gradients, strict=True)):
            velocity[i] = 0.5 * velocity[i] + g + 0.2 * p.detach()
            p.data -= lr * velocity[i]
    torch.testing.assert_close(list(found.method.parameters()), [weight, bias])
    assert found.curves["lr"].tolist() == pytest.approx([0.3, 0.3, 0.03, 0.003])


class Grouped(Linear):
    """Its bias learns at a fifth of the rate, with three times the weight decay."""

    def param_groups(self) -> Sequence[ParamGroup]:
        *others, bias = self.parameters()
        return (ParamGroup(others), ParamGroup([bias], 0.2, 3.0))


def test_the_schedule_scales_the_rates_of_parameter_groups() -> None:
    settings = {"lr": 0.3, "momentum": 0.5, "weight_decay": 0.2, "epochs": 4, "batch_size": 999}
    spec = make_toy_spec(hparams={"num_strong": 0}, train=settings)
    task = make_small_task(spec)
    found = train(spec, Grouped, task)
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(0, "init"))
        weight, bias = build_method(spec, Grouped, task).parameters()
    target = task.candidates / task.candidates.sum(1, keepdim=True)
    velocity = [torch.zeros_like(weight), torch.zeros_like(bias)]
    for lr in (0.3, 0.3, 0.03, 0.003):
        error = (task.x @ weight.T + bias).softmax(1) - target
        gradients = [error.T @ task.x / len(task.x), error.mean(0)]
        rates, decays = (lr, lr / 5), (0.2, 0.6)
        for i, (p, g) in enumerate(zip((weight, bias), gradients, strict=True)):
            velocity[i] = 0.5 * velocity[i] + g + decays[i] * p.detach()
            p.data -= rates[i] * velocity[i]
    torch.testing.assert_close(list(found.method.parameters()), [weight, bias])
    assert found.curves["lr"].tolist() == pytest.approx([0.3, 0.3, 0.03, 0.003])


class GroupedFromEpoch2(Grouped):
    """Begins anew with the same weights."""

    def restarts(self) -> bool:
        return self.epoch == 2


@pytest.mark.parametrize("cls", [Grouped, GroupedFromEpoch2])
def test_parameter_groups_resume_exactly(cls: type[Toy], tmp_path: Path) -> None:
    spec = make_toy_spec(train={"epochs": 5, "network": "mlp"})
    task = make_small_task(spec)
    whole = train(spec, cls, task)
    checkpoints = Checkpoints(tmp_path / "checkpoint.pt", spec.run_id)
    for _ in range(4):
        with pytest.raises(Interrupted):
            train(spec, cls, task, checkpoints=checkpoints, on_epoch=lambda _: False)
    pieces = train(spec, cls, task, checkpoints=checkpoints)
    assert pieces.resumed_from == (1, 2, 3, 4)
    for a, b in zip(whole.method.parameters(), pieces.method.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_fresh_optimizer_keeps_the_rates_of_its_groups() -> None:
    """Without momentum and decay there is nothing that a restart could change."""
    settings = {"momentum": 0.0, "weight_decay": 0.0, "epochs": 4}
    spec = make_toy_spec(hparams={"num_strong": 0}, train=settings)
    task = make_small_task(spec)
    once, anew = (train(spec, cls, task).method for cls in (Grouped, GroupedFromEpoch2))
    for a, b in zip(once.parameters(), anew.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_parameter_in_no_group_or_in_two_is_refused() -> None:
    class Forgetful(Linear):
        def param_groups(self) -> Sequence[ParamGroup]:
            return (ParamGroup([self.network.classifier.weight]),)

    class Greedy(Linear):
        def param_groups(self) -> Sequence[ParamGroup]:
            return (*super().param_groups(), ParamGroup([self.network.classifier.bias]))

    spec = make_toy_spec()
    task = make_small_task(spec)
    with pytest.raises(ValueError, match=r"leaves out network\.classifier\.bias"):
        train(spec, Forgetful, task)
    with pytest.raises(ValueError, match="more than one parameter group"):
        train(spec, Greedy, task)
