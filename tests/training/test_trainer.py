"""The training loop: its schedule and optimizer, what it calls, what ends it, its result."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch, Problem, Step, TrainView
from pllbench.spec import RunSpec
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.trainer import Interrupted, Outcome, Progress, train
from tests.factories import Toy, ToyHparams, make_small_task, make_toy_spec

SPEC = make_toy_spec(
    holdout=0.25, train={"epochs": 5, "network": "mlp"}, views={"scaling": "zscore"}
)


def run(spec: RunSpec = SPEC, cls: type[Toy] = Toy, **arguments: Any) -> Outcome:
    return train(spec, cls, make_small_task(spec), **arguments)


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """The uninterrupted run of `SPEC`."""
    return run()


def test_a_run_learns() -> None:
    found = run(make_toy_spec(train={"epochs": 30, "batch_size": 8}))
    assert found.result.accuracy["last10"] > 0.7
    assert found.curves["loss"][-1] < found.curves["loss"][0]


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

    def restarts(self) -> bool:
        self.note("restarts")
        return super().restarts()

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_pseudo_labels_of_no_whole_numbers_end_the_run(dtype: torch.dtype) -> None:
    class Odd(Toy):
        def loss(self, batch: Batch) -> Step:
            return replace(super().loss(batch), pseudo=torch.zeros(len(batch.index), dtype=dtype))

    reason = f"must be whole numbers, one class a row, not {str(dtype).removeprefix('torch.')}"
    with pytest.raises(ValueError, match=reason):
        run(cls=Odd)


def test_a_method_that_writes_to_its_candidate_sets_leaves_those_of_its_batches() -> None:
    class Overwriting(Toy):
        def __init__(self, problem: Problem, hparams: ToyHparams) -> None:
            super().__init__(problem, hparams)
            problem.candidates.fill_(True)

    assert run(cls=Overwriting).result == run().result


def test_what_the_trainer_calls_and_when() -> None:
    spec = make_toy_spec(train={"epochs": 2, "batch_size": 24}, hparams={"num_strong": 3})
    found = run(spec, Watched)
    assert isinstance(found.method, Watched)
    step = [("loss", True, True), ("after", True, False)]
    start = [("start", True, False), ("restarts", True, True)]
    expected = [*start, *step, *step, ("predict", False, False)]
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


@pytest.mark.parametrize(("batch_size", "steps"), [(1, 48), (47, 2), (48, 1), (1000, 1)])
def test_batches_of_one_and_of_everything(batch_size: int, steps: int) -> None:
    lengths: list[int] = []

    class Counting(Toy):
        def after_step(self, batch: Batch) -> None:
            lengths.append(len(batch.index))

    run(make_toy_spec(train={"epochs": 1, "batch_size": batch_size}), Counting)
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
        task = make_small_task(make_toy_spec(**settings))
        spec = make_toy_spec(**settings, train={"epochs": 1, "lr": 1e-30, "weight_decay": 0.0})
        return [p.detach() for p in train(spec, Toy, task).method.parameters()]

    torch.testing.assert_close(weights(), weights(data_seed=7), rtol=0, atol=0)
    assert not torch.equal(weights()[0], weights(seed=1)[0])


def test_without_a_hold_out_its_rules_have_no_value() -> None:
    found = run(make_toy_spec())
    assert found.result.accuracy.keys() == {"last", "last10", "oracle"}
    assert found.result.epoch.keys() == {"oracle"}
    assert (found.result.num_train, found.result.num_test, found.result.num_holdout) == (48, 12, 0)


def test_noise_rates_are_those_of_the_last_epoch(outcome: Outcome) -> None:
    assert outcome.result.class_noise == outcome.curves["class_noise"][-1]
    assert outcome.result.pairwise_noise == outcome.curves["pairwise_noise"][-1]
    assert 0 < outcome.curves["class_noise"][-1] < 1


@pytest.mark.parametrize("token_law", ["uniform", "unigram"])
def test_a_method_trains_on_text(token_law: str) -> None:
    spec = make_toy_spec(dataset="cnae9", views={"scaling": "tfidf", "token_law": token_law})
    losses = run(spec).curves["loss"]
    assert losses[-1] < losses[0]


def test_a_run_pauses_and_goes_on_as_if_it_had_not(outcome: Outcome, tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint.pt", SPEC.run_id, every=100)
    for until in (2, 2, 4):  # the second finds that it has come so far
        with pytest.raises(Interrupted) as stopped:
            run(checkpoints=checkpoints, until=until)
        curves = stopped.value.curves
        assert curves is not None
        assert curves.keys() == outcome.curves.keys()
        for name, column in curves.items():
            np.testing.assert_array_equal(column, outcome.curves[name][:until])
    ended = run(checkpoints=checkpoints, until=5)
    assert ended.result == outcome.result
    assert ended.resumed_from == (2, 4)


def test_a_run_that_is_asked_to_stop_has_no_columns(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint.pt", SPEC.run_id)
    with pytest.raises(Interrupted) as stopped:
        run(checkpoints=checkpoints, until=4, on_epoch=lambda _: False)
    assert stopped.value.curves is None


def progress_of(spec: RunSpec) -> list[Progress]:
    told: list[Progress] = []

    def tell(progress: Progress) -> bool:
        told.append(progress)
        return True

    run(spec, on_epoch=tell)
    return told


def test_progress_tells_the_hold_outs_rates(outcome: Outcome) -> None:
    told = progress_of(SPEC)
    for name in ("accuracy", "covering_rate", "approximated_accuracy"):
        assert [getattr(one, name) for one in told] == list(outcome.curves[name])
    [only] = progress_of(make_toy_spec(train={"epochs": 1}))
    assert (only.covering_rate, only.approximated_accuracy) == (None, None)
