"""Accuracies of long-tailed runs: means over classes and groups of classes, in the result."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.training.evaluation import class_accuracies
from pllbench.training.trainer import train
from tests.factories import Toy, make_dataset, make_small_task, make_toy_spec


def one_hot(predicted: list[int], num_classes: int) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor(predicted), num_classes).float()


def test_every_class_counts_alike() -> None:
    y = torch.tensor([0, 0, 0, 0, 1, 1, 2])
    found = class_accuracies(one_hot([0, 0, 0, 1, 1, 0, 0], 3), y)
    assert found == {
        "balanced": pytest.approx((0.75 + 0.5 + 0) / 3),
        "many": pytest.approx(0.75),
        "medium": pytest.approx(0.5),
        "few": 0,
    }


def test_groups_are_the_published_thirds() -> None:
    """Ten classes: 3 many, 4 medium, 3 few, as SoLar counts them."""
    y = torch.arange(10).repeat_interleave(10)
    share = torch.tensor([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    right = (torch.arange(10).repeat(10) < (share * 10).round()[y]).tolist()
    predicted = [c if ok else (c + 1) % 10 for c, ok in zip(y.tolist(), right, strict=True)]
    found = class_accuracies(one_hot(predicted, 10), y)
    assert found["balanced"] == pytest.approx(0.55)
    assert found["many"] == pytest.approx(0.9)
    assert found["medium"] == pytest.approx(0.55)
    assert found["few"] == pytest.approx(0.2)
    weights = (3 * found["many"] + 4 * found["medium"] + 3 * found["few"]) / 10
    assert weights == pytest.approx(found["balanced"])


def test_classes_without_test_rows_are_left_out() -> None:
    found = class_accuracies(one_hot([0, 1, 1], 3), torch.tensor([0, 1, 0]))
    assert found == {"balanced": 0.75, "many": 0.5, "medium": 1.0}


@pytest.mark.parametrize("imbalance", [1.0, 4.0])
def test_a_long_tailed_run_has_them_under_every_rule(imbalance: float) -> None:
    spec = make_toy_spec(imbalance=imbalance, holdout=0.2, train={"epochs": 12})
    task = make_small_task(spec, make_dataset(200))
    outcome = train(spec, Toy, task)
    result, curves = outcome.result, outcome.curves
    if imbalance == 1:
        assert result.class_accuracy == {}
        assert not [name for name in curves if name.endswith("_accuracy") and name[0] in "bmf"]
        return
    assert list(result.class_accuracy) == ["balanced", "many", "medium", "few"]
    for metric, values in result.class_accuracy.items():
        column = curves[f"{metric}_accuracy"]
        assert values.keys() == result.accuracy.keys()
        assert values["last"] == column[-1]
        assert values["last10"] == pytest.approx(np.mean(column[-10:]))
        for rule, epoch in result.epoch.items():
            assert values[rule] == column[epoch]
        assert result.values(metric) == values
    assert result.values("accuracy") == result.accuracy
    counts = torch.bincount(task.y, minlength=4).tolist()
    assert counts == sorted(counts, reverse=True)
