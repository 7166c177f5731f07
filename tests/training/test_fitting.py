"""Methods without gradient in the trainer: one fit, one evaluation, one row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch, FittedMethod, Hparams, Problem, TrainView
from pllbench.spec import RunSpec
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.trainer import Outcome, Progress, train
from tests.factories import Toy, make_small_task, make_toy_spec
from tests.testing.fitted_methods import Centroids, Silent

SETTINGS: dict[str, Any] = {"gradient": False, "train": {"epochs": 1, "batch_size": 64}}
SPEC = make_toy_spec(holdout=0.25, views={"scaling": "zscore"}, **SETTINGS)


def run(spec: RunSpec = SPEC, cls: type[Centroids] = Centroids, **arguments: Any) -> Outcome:
    return train(spec, cls, make_small_task(spec), **arguments)


def test_the_run_is_one_row_without_loss_and_learning_rate() -> None:
    found = run()
    assert {name: len(values) for name, values in found.curves.items()} == {
        "accuracy": 1,
        "approximated_accuracy": 1,
        "class_noise": 1,
        "covering_rate": 1,
        "pairwise_noise": 1,
    }
    accuracy = found.curves["accuracy"][0]
    assert accuracy > 0.6
    assert set(found.result.accuracy.values()) == {accuracy}
    assert found.result.class_noise == found.curves["class_noise"][0] < 0.3


def test_without_pseudo_labels_there_are_no_noise_rates() -> None:
    found = run(cls=Silent)
    assert "class_noise" not in found.curves
    assert (found.result.class_noise, found.result.pairwise_noise) == (None, None)


class Watched(Centroids):
    """Notes what the trainer does with it, and draws a random number in `fit`."""

    drawn: Tensor

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("drawn", torch.zeros(()))
        self.shape = problem.shape
        self.notes: list[tuple[Any, ...]] = []

    def note(self, name: str) -> None:
        self.notes.append((name, torch.is_grad_enabled()))

    def fit(self, train: TrainView) -> Tensor | None:
        self.note("fit")
        self.index = torch.cat([batch.index for batch in train.batches()])
        self.rows = torch.cat([batch.x[0] for batch in train.batches()])
        self.drawn.copy_(torch.rand(()))
        return super().fit(train)

    def pseudo(self, rows: Tensor, candidates: Tensor) -> None:
        return None

    def predict(self, x: Tensor) -> Tensor:
        self.note("predict")
        assert not self.training
        return super().predict(x)

    def loss(self, batch: Batch) -> Any:
        raise AssertionError("no step is taken")

    def after_step(self, batch: Batch) -> None:
        raise AssertionError("no step is taken")

    def on_epoch_start(self, train: TrainView) -> None:
        raise AssertionError("no epoch begins")


def watched(spec: RunSpec) -> Watched:
    method = run(spec, Watched).method
    assert isinstance(method, Watched)
    return method


def test_it_is_fitted_once_on_all_plain_rows_and_evaluated_once() -> None:
    method = watched(make_toy_spec(**SETTINGS))
    assert method.notes == [("fit", False), ("predict", False)]
    task = make_small_task(SPEC)
    method = watched(SPEC)
    assert method.notes == [("fit", False), *[("predict", False)] * 2]  # the hold-out as well
    assert method.shape == (5,)
    assert torch.equal(method.index, torch.arange(len(task.x)))
    torch.testing.assert_close(method.rows, task.views.plain(task.x))


def test_random_numbers_of_a_fit_come_from_the_runs_seed() -> None:
    drawn = [watched(make_toy_spec(seed=seed, **SETTINGS)).drawn.item() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_there_is_nothing_to_stop_between_and_nothing_to_resume(tmp_path: Path) -> None:
    told: list[Progress] = []

    def stop(progress: Progress) -> bool:
        told.append(progress)
        return False

    checkpoints = Checkpoints(tmp_path / "checkpoint", SPEC.run_id, every=1)
    found = run(checkpoints=checkpoints, on_epoch=stop)
    names = ("accuracy", "covering_rate", "approximated_accuracy")
    assert told == [Progress(0, *(found.curves[name].item() for name in names))]
    assert not any(tmp_path.iterdir())


class Broken(Centroids):
    def fit(self, train: TrainView) -> Tensor | None:
        self.centroids.fill_(torch.nan)
        return None


def test_scores_that_are_nan_end_the_run() -> None:
    with pytest.raises(FloatingPointError, match=r"^a score is NaN after fitting: predict, row 0"):
        run(cls=Broken)


def test_a_score_of_minus_infinity_is_a_probability_of_zero() -> None:
    found = run(cls=Silent)
    assert np.isfinite(found.curves["approximated_accuracy"]).all()
    assert 0.5 < found.curves["approximated_accuracy"][0] <= 1


class Neither(FittedMethod[Hparams]):
    def predict(self, x: Tensor) -> Tensor:
        raise AssertionError


def test_a_method_has_a_loss_or_a_fit() -> None:
    candidates = torch.ones(2, 3, dtype=torch.bool)
    problem = Problem(candidates, 1, lambda: pytest.fail("no network"), (6,))
    with pytest.raises(TypeError, match=r"abstract method '?fit"):
        Neither(problem, Hparams())  # type: ignore[abstract]
    spec = make_toy_spec()
    task = make_small_task(spec)
    toy = train(spec, Toy, task).method
    with pytest.raises(NotImplementedError, match="Toy is trained in steps"):
        toy.fit(None)  # type: ignore[arg-type]
    batch = Batch((task.x,), torch.arange(len(task.x)), task.candidates)
    with pytest.raises(NotImplementedError, match="Centroids is fitted, not trained in steps"):
        run().method.loss(batch)
