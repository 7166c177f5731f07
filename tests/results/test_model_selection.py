"""Selection rules: the accuracy and the epoch that each takes from the curves of a run."""

import numpy as np
import pytest

from pllbench.results.model_selection import HoldoutCurves, Select, choose, holdout_score


def choose_from(**curves: list[float]) -> tuple[dict[Select, float], dict[Select, int]]:
    return choose({name: np.array(values) for name, values in curves.items()})


def test_last10_is_the_mean_of_at_most_10_epochs() -> None:
    assert choose_from(accuracy=[0.5, 0.7])[0]["last10"] == pytest.approx(0.6)
    twelve, _ = choose_from(accuracy=[1.0, 1.0, *(i / 10 for i in range(10))])
    assert twelve["last10"] == pytest.approx(0.45)
    assert twelve["last"] == 0.9


def test_every_rule_chooses_its_epoch() -> None:
    accuracy, epoch = choose_from(
        accuracy=[0.1, 0.9, 0.3, 0.4, 0.5],
        covering_rate=[0.2, 0.8, 0.8, 0.8, 0.1],
        approximated_accuracy=[0.9, 0.6, 0.7, 0.6, 0.9],
    )
    # Ties go to the better value of the other criterion.
    assert epoch == {"oracle": 1, "covering_rate": 2, "approximated_accuracy": 0}
    assert accuracy == {
        "last": 0.5,
        "last10": pytest.approx(0.44),
        "oracle": 0.9,
        "covering_rate": 0.3,
        "approximated_accuracy": 0.1,
    }


def test_of_equal_epochs_the_hold_out_chooses_the_last_and_the_oracle_the_first() -> None:
    same = [0.5, 0.5, 0.5]
    _, epoch = choose_from(accuracy=same, covering_rate=same, approximated_accuracy=same)
    assert epoch == {"oracle": 0, "covering_rate": 2, "approximated_accuracy": 2}


def test_without_a_hold_out_its_rules_have_no_value() -> None:
    accuracy, epoch = choose_from(accuracy=[0.5, 0.7])
    assert accuracy.keys() == {"last", "last10", "oracle"}
    assert epoch.keys() == {"oracle"}


def test_a_score_is_the_mean_of_the_last_ten_epochs_so_far() -> None:
    rates = np.array([*(i / 100 for i in range(20)), 0.9])
    curves = {"accuracy": 1 - rates, "covering_rate": rates, "approximated_accuracy": rates / 2}
    held = HoldoutCurves.of(curves)
    assert holdout_score(held, "covering_rate", 4) == pytest.approx(0.015)  # 0, 1, 2, 3 of 100
    assert holdout_score(held, "covering_rate", 20) == pytest.approx(0.145)  # 10 to 19
    assert holdout_score(held, "approximated_accuracy", 20) == pytest.approx(0.0725)


def test_a_score_is_made_of_the_hold_out_alone() -> None:
    assert {*HoldoutCurves.__slots__} == {"covering_rate", "approximated_accuracy"}
    with pytest.raises(KeyError):
        HoldoutCurves.of({"accuracy": np.array([1.0])})
