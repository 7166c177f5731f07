"""The loop: its schedule and optimizer, what it calls, what ends it, what its summaries say."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench import trainer
from pllbench.checkpoints import Checkpoints
from pllbench.method import Batch, ParamGroup, Problem, Step, TrainView
from pllbench.records import Result
from pllbench.seeds import stream_seed
from pllbench.spec import RunSpec, TrainSpec
from pllbench.trainer import Interrupted, Outcome, learning_rate, summarise, train
from tests.factories import Toy, ToyHparams, make_small_task, make_spec

SPEC = make_spec(holdout=0.25, train={"epochs": 5, "network": "mlp"}, views={"scaling": "zscore"})
TASK = make_small_task(SPEC)


def run(spec: RunSpec = SPEC, cls: type[Toy] = Toy, **arguments: Any) -> Outcome:
    return train(spec, cls, make_small_task(spec), **arguments)


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """The uninterrupted run of `SPEC`."""
    return run()


def test_it_learns() -> None:
    found = run(make_spec(train={"epochs": 30, "batch_size": 8}))
    assert found.result.accuracy["last10"] > 0.7
    assert found.curves["loss"][-1] < found.curves["loss"][0]


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


def test_the_optimizer_is_sgd_with_the_settings_of_the_spec() -> None:
    settings = {"lr": 0.3, "momentum": 0.5, "weight_decay": 0.2, "epochs": 4, "batch_size": 999}
    spec = make_spec(hparams={"num_strong": 0}, train=settings)
    task = make_small_task(spec)
    found = train(spec, Linear, task)
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(0, "init"))
        weight, bias = trainer.build(spec, Linear, task).parameters()
    target = task.candidates / task.candidates.sum(1, keepdim=True)
    velocity = [torch.zeros_like(weight), torch.zeros_like(bias)]
    for lr in (0.3, 0.3, 0.03, 0.003):  # milestones at a half and three quarters
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
    spec = make_spec(hparams={"num_strong": 0}, train=settings)
    task = make_small_task(spec)
    found = train(spec, Grouped, task)
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(0, "init"))
        weight, bias = trainer.build(spec, Grouped, task).parameters()
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


def test_parameter_groups_resume_exactly(tmp_path: Path) -> None:
    whole = run(cls=Grouped)
    for _ in range(4):
        checkpoints = Checkpoints(tmp_path / "checkpoint.pt", SPEC.run_id)
        with pytest.raises(Interrupted):
            run(cls=Grouped, checkpoints=checkpoints, on_epoch=lambda _: False)
    pieces = run(cls=Grouped, checkpoints=Checkpoints(tmp_path / "checkpoint.pt", SPEC.run_id))
    assert pieces.resumed_from == (1, 2, 3, 4)
    for a, b in zip(whole.method.parameters(), pieces.method.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_parameter_in_no_group_or_in_two_is_refused() -> None:
    class Forgetful(Linear):
        def param_groups(self) -> Sequence[ParamGroup]:
            return (ParamGroup([self.network.classifier.weight]),)

    class Greedy(Linear):
        def param_groups(self) -> Sequence[ParamGroup]:
            return (*super().param_groups(), ParamGroup([self.network.classifier.bias]))

    with pytest.raises(ValueError, match=r"leaves out network\.classifier\.bias"):
        run(make_spec(), Forgetful)
    with pytest.raises(ValueError, match="more than one parameter group"):
        run(make_spec(), Greedy)


def test_a_problem_holds_no_labels_and_no_rows() -> None:
    names = [field.name for field in fields(Problem)]
    assert names == ["candidates", "epochs", "make_network", "input_shape"]


class Faulty(Toy):
    """Its loss, or one of its scores, is not finite at epoch 1."""

    value = float("nan")
    at_step = 2
    steps = 0

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        self.steps += self.epoch == 1
        broken = self.epoch == 1 and self.steps == self.at_step + 1
        return replace(step, loss=step.loss * self.value if broken else step.loss)


@pytest.mark.parametrize(("value", "at_step"), [("nan", 0), ("nan", 2), ("inf", 1)])
def test_a_loss_that_is_not_finite_ends_the_run(value: str, at_step: int) -> None:
    cls = type("Broken", (Faulty,), {"value": float(value), "at_step": at_step})
    message = rf"^loss is {value} at epoch 1, step {at_step} of 3$"
    with pytest.raises(FloatingPointError, match=message):
        run(cls=cls)


class Overflowing(Toy):
    """Its last step makes the weights NaN, after a finite loss."""

    steps = 0

    def after_step(self, batch: Batch) -> None:
        self.steps += 1
        if self.steps == 3 * self.epochs:
            self.network.classifier.bias.fill_(torch.nan)


def test_weights_that_the_last_step_broke_end_the_run() -> None:
    with pytest.raises(FloatingPointError, match=r"^a score is NaN after the last step of epoch 4"):
        run(cls=Overflowing)


class Watched(Toy):
    """Notes what the trainer does with it."""

    def __init__(self, problem: Problem, hparams: ToyHparams) -> None:
        super().__init__(problem, hparams)
        self.notes: list[tuple[Any, ...]] = []

    def note(self, name: str) -> None:
        self.notes.append((name, self.epoch, self.training, torch.is_grad_enabled()))

    def on_epoch_start(self, train: TrainView) -> None:
        self.note("start")
        assert sum(len(batch.index) for batch in train.batches()) == 48

    def loss(self, batch: Batch) -> Step:
        self.note("loss")
        self.before = self.network.classifier.weight.detach().clone()
        assert len(batch.x) == len(self.views)
        return replace(super().loss(batch), pseudo=None)

    def after_step(self, batch: Batch) -> None:
        self.note("after")
        assert not torch.equal(self.before, self.network.classifier.weight)

    def predict(self, x: Tensor) -> Tensor:
        self.note("predict")
        return super().predict(x)

    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        scores = super().predict(x)
        late = {"late": scores} if self.epoch else {}
        return {"same": scores, "opposite": -scores} | late


def test_what_the_trainer_calls_and_when() -> None:
    spec = make_spec(train={"epochs": 2, "batch_size": 24}, hparams={"num_strong": 3})
    found = run(spec, Watched)
    assert isinstance(found.method, Watched)
    step = [("loss", True, True), ("after", True, False)]
    expected = [("start", True, False), *step, *step, ("predict", False, False)]
    assert found.method.notes == [
        (name, epoch, *modes) for epoch in range(2) for name, *modes in expected
    ]
    assert "class_noise" not in found.curves  # no pseudo labels were given
    assert (found.result.class_noise, found.result.pairwise_noise) == (None, None)
    np.testing.assert_array_equal(found.curves["accuracy_same"], found.curves["accuracy"])
    assert found.result.extra.keys() == {"same", "opposite"}  # late has no value in one epoch
    assert found.result.extra["same"] == found.result.accuracy["last10"]


def test_every_column_has_a_value_an_epoch(outcome: Outcome) -> None:
    assert {len(values) for values in outcome.curves.values()} == {5}
    assert np.isnan(outcome.curves["log_odd"]).tolist() == [True, False, True, False, True]
    odd = [1, 3]
    np.testing.assert_array_equal(outcome.curves["log_odd"][odd], outcome.curves["loss"][odd])
    others = set(outcome.curves) - {"log_odd"}
    assert all(np.isfinite(outcome.curves[name]).all() for name in others)
    assert others == {
        "accuracy",
        "approximated_accuracy",
        "class_noise",
        "covering_rate",
        "loss",
        "lr",
        "pairwise_noise",
    }


@pytest.mark.parametrize("chunk", [1, 7, 512])
def test_evaluation_does_not_depend_on_its_batch_size(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(trainer, "EVALUATION_CHUNK", chunk)
    found = run()
    for name in ("accuracy", "covering_rate"):
        np.testing.assert_array_equal(found.curves[name], outcome.curves[name])
    criterion = "approximated_accuracy"
    np.testing.assert_allclose(found.curves[criterion], outcome.curves[criterion], rtol=1e-6)
    assert found.result.epoch == outcome.result.epoch


@pytest.mark.parametrize(("batch_size", "steps"), [(1, 48), (47, 2), (48, 1), (1000, 1)])
def test_batches_of_one_and_of_everything(batch_size: int, steps: int) -> None:
    lengths: list[int] = []

    class Counting(Toy):
        def after_step(self, batch: Batch) -> None:
            lengths.append(len(batch.index))

    run(make_spec(train={"epochs": 1, "batch_size": batch_size}), Counting)
    assert (len(lengths), sum(lengths)) == (steps, 48)


def test_a_view_that_the_data_does_not_have_is_refused_before_training() -> None:
    class Odd(Toy):
        @property
        def views(self) -> tuple[str, ...]:
            return ("wek",)

    with pytest.raises(ValueError, match=r"tabular data has no view 'wek': did you mean weak\?"):
        run(cls=Odd)


def test_methods_start_from_the_same_weights_at_one_seed() -> None:
    def weights(**settings: Any) -> list[Tensor]:
        task = make_small_task(make_spec(**settings))
        spec = make_spec(**settings, train={"epochs": 1, "lr": 1e-30, "weight_decay": 0.0})
        return [p.detach() for p in train(spec, Toy, task).method.parameters()]

    torch.testing.assert_close(weights(), weights(data_seed=7), rtol=0, atol=0)
    assert not torch.equal(weights()[0], weights(seed=1)[0])


def summary(**curves: list[float]) -> Result:
    arrays = {name: np.array(values) for name, values in curves.items()}
    return summarise(arrays, TASK)


def test_last10_is_the_mean_of_at_most_10_epochs() -> None:
    assert summary(accuracy=[0.5, 0.7]).accuracy["last10"] == pytest.approx(0.6)
    twelve = summary(accuracy=[1.0, 1.0, *(i / 10 for i in range(10))])
    assert twelve.accuracy["last10"] == pytest.approx(0.45)
    assert twelve.accuracy["last"] == 0.9


def test_every_rule_chooses_its_epoch() -> None:
    found = summary(
        accuracy=[0.1, 0.9, 0.3, 0.4, 0.5],
        covering_rate=[0.2, 0.8, 0.8, 0.8, 0.1],
        approximated_accuracy=[0.9, 0.6, 0.7, 0.6, 0.9],
    )
    # Ties go to the better value of the other criterion.
    assert found.epoch == {"oracle": 1, "covering_rate": 2, "approximated_accuracy": 0}
    assert found.accuracy == {
        "last": 0.5,
        "last10": pytest.approx(0.44),
        "oracle": 0.9,
        "covering_rate": 0.3,
        "approximated_accuracy": 0.1,
    }


def test_of_equal_epochs_the_hold_out_chooses_the_last_and_the_oracle_the_first() -> None:
    same = [0.5, 0.5, 0.5]
    found = summary(accuracy=same, covering_rate=same, approximated_accuracy=same)
    assert found.epoch == {"oracle": 0, "covering_rate": 2, "approximated_accuracy": 2}


def test_without_a_hold_out_its_rules_have_no_value() -> None:
    found = run(make_spec())
    assert found.result.accuracy.keys() == {"last", "last10", "oracle"}
    assert found.result.epoch.keys() == {"oracle"}
    assert (found.result.num_train, found.result.num_test, found.result.num_holdout) == (48, 12, 0)


def test_noise_rates_are_those_of_the_last_epoch(outcome: Outcome) -> None:
    assert outcome.result.class_noise == outcome.curves["class_noise"][-1]
    assert outcome.result.pairwise_noise == outcome.curves["pairwise_noise"][-1]
    assert 0 < outcome.curves["class_noise"][-1] < 1


@pytest.mark.parametrize("token_law", ["uniform", "unigram"])
def test_text_runs_too(token_law: str) -> None:
    spec = make_spec(dataset="cnae9", views={"scaling": "tfidf", "token_law": token_law})
    losses = run(spec).curves["loss"]
    assert losses[-1] < losses[0]
