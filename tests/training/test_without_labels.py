"""Runs on data without true labels: their tensors, and what their results hold."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pllbench.data.readers.base import Dataset
from pllbench.method import FittedMethod, Hparams, TrainView
from pllbench.spec import FITTED, PruningSpec, RunSpec
from pllbench.training.task import Task, make_task
from pllbench.training.trainer import Progress, train
from tests.factories import CPU, NUM_CLASSES, Toy, make_dataset, make_toy_spec

Tensor = torch.Tensor


@pytest.fixture
def known() -> Dataset:
    """60 rows with real candidate sets, of which 48 train."""
    dataset = make_dataset()
    sets = torch.nn.functional.one_hot(dataset.y, NUM_CLASSES).bool()
    sets |= torch.rand(sets.shape, generator=torch.Generator().manual_seed(1)) < 0.4
    return replace(dataset, candidates=sets)


@pytest.fixture
def dataset(known: Dataset) -> Dataset:
    """The same without its labels."""
    return replace(known, true_labels=None)


def spec(**fields: Any) -> RunSpec:
    return make_toy_spec(candidates=None, **fields)


def task_of(dataset: Dataset, **fields: Any) -> Task:
    return make_task(spec(**fields), dataset, CPU)


def test_what_would_be_test_rows_is_the_hold_out(known: Dataset, dataset: Dataset) -> None:
    task, tested = task_of(dataset), task_of(known)
    assert torch.equal(task.x, tested.x)
    assert torch.equal(task.candidates, tested.candidates)
    assert task.true_labels is None
    assert (len(task.test_x), len(task.test_y)) == (0, 0)
    assert torch.equal(task.holdout_x, tested.test_x)
    where = {tuple(row.tolist()): i for i, row in enumerate(dataset.x)}
    rows = [where[tuple(row.tolist())] for row in task.holdout_x]
    assert dataset.candidates is not None
    assert torch.equal(task.holdout_candidates, dataset.candidates[rows])
    assert (task.audit.without_true, tested.audit.without_true) == (None, 0.0)


def test_rows_held_out_of_training_join_it(known: Dataset, dataset: Dataset) -> None:
    task, tested = task_of(dataset, holdout=0.25), task_of(known, holdout=0.25)
    assert (len(task.x), len(task.holdout_x)) == (36, 12 + 12)
    assert torch.equal(task.holdout_x, torch.cat([tested.holdout_x, tested.test_x]))
    assert torch.equal(task.holdout_candidates[:12], tested.holdout_candidates)


def test_pruning_spares_the_sets_of_the_hold_out(dataset: Dataset) -> None:
    pruned = task_of(dataset, pruning=PruningSpec(tau=1.0, k=5).model_dump())
    plain = task_of(dataset)
    assert pruned.candidates.sum() < plain.candidates.sum()
    assert torch.equal(pruned.holdout_candidates, plain.holdout_candidates)
    assert pruned.pruning is not None
    assert pruned.pruning.lost is None


def test_training_is_that_with_labels_and_the_criteria_take_the_place_of_accuracy(
    known: Dataset, dataset: Dataset
) -> None:
    outcome = train(spec(), Toy, task_of(dataset))
    tested = train(spec(), Toy, task_of(known))
    ours, theirs = outcome.method.state_dict(), tested.method.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    result, curves = outcome.result, outcome.curves
    assert (result.accuracy, result.class_accuracy, result.extra) == ({}, {}, {})
    assert (result.class_noise, result.pairwise_noise) == (None, None)
    assert (result.num_train, result.num_test, result.num_holdout) == (48, 0, 12)
    assert set(curves) == {"approximated_accuracy", "covering_rate", "log_odd", "loss", "lr"}
    best = result.epoch["covering_rate"]
    assert set(result.epoch) == {"covering_rate", "approximated_accuracy"}
    covering = curves["covering_rate"]
    assert result.criteria["covering_rate"] == {
        "last": covering[-1],
        "last10": covering.mean(),
        "covering_rate": covering.max(),
        "approximated_accuracy": covering[result.epoch["approximated_accuracy"]],
    }
    assert covering[best] == covering.max()
    assert not result.labelled
    assert result.rules == {"last", "last10", "covering_rate", "approximated_accuracy"}
    assert result.values("approximated_accuracy")["last"] == curves["approximated_accuracy"][-1]
    assert result.values("accuracy") == {}
    assert tested.result.criteria == {}
    assert tested.result.values("covering_rate") == {}


class First(FittedMethod[Hparams]):
    """Predicts class 0 for ever; its pseudo labels are the first candidates."""

    def fit(self, train: TrainView) -> Tensor:
        return torch.cat([batch.candidates.int().argmax(1) for batch in train.batches()])

    def predict(self, x: Tensor) -> Tensor:
        scores = torch.zeros(len(x), NUM_CLASSES)
        scores[:, 0] = 1
        return scores


class Short(First):
    """Gives one pseudo label too few."""

    def fit(self, train: TrainView) -> Tensor:
        return super().fit(train)[1:]


def test_a_fitted_method_has_criteria_of_its_one_epoch(dataset: Dataset) -> None:
    fitted = spec(gradient=False, train=FITTED.model_dump(mode="json"))
    told: list[Progress] = []

    def on_epoch(progress: Progress) -> bool:
        told.append(progress)
        return True

    outcome = train(fitted, First, task_of(dataset), on_epoch=on_epoch)
    task = task_of(dataset)
    share = task.holdout_candidates[:, 0].double().mean().item()
    assert outcome.result.criteria["covering_rate"]["last"] == share
    assert 0 < share < 1
    approximated = outcome.result.criteria["approximated_accuracy"]["last"]
    assert told == [Progress(0, None, share, approximated)]


def test_pseudo_labels_are_checked_without_labels_too(dataset: Dataset) -> None:
    fitted = spec(gradient=False, train=FITTED.model_dump(mode="json"))
    with pytest.raises(ValueError, match=r"pseudo labels of shape \(47,\) for 48 rows"):
        train(fitted, Short, task_of(dataset))


def test_a_record_without_labels_is_read_as_it_was_written(dataset: Dataset) -> None:
    result = train(spec(), Toy, task_of(dataset)).result
    text = result.model_dump_json()
    assert type(result).model_validate_json(text) == result
    assert '"criteria"' in text
    assert np.isfinite(list(result.criteria["covering_rate"].values())).all()
