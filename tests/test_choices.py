"""Choices beside the best: results/choices.md, on numbers that are written out."""

from pathlib import Path

import numpy as np
import pytest

from pllbench import api
from pllbench.results.curves import Curves
from pllbench.results.records import write_record
from tests.factories import make_record, make_spec
from tools import choices

TEXT = """\
| data set | q | chosen | epoch | accuracy | best | accuracy | lost | at random |
| :-- | --: | :-- | --: | --: | :-- | --: | --: | --: |
| Digits | 0.3 | CC (epochs=2) | 2 | 70.00 ± 14.14 | RC (epochs=2) | 80.00 ± 14.14 \
| +10.00 [+10.00, +10.00] | 75.00 |

Lost on average: 10.00 points; by a method at random 5.00.
"""


def curves(covering: list[float], accuracy: list[float]) -> Curves:
    rates = np.array(covering)
    return {
        "covering_rate": rates,
        "approximated_accuracy": rates / 2,
        "accuracy": np.array(accuracy),
    }


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """CC covers more at its second epoch; RC at its first, where it is more accurate."""
    for method, seed, columns in (
        ("cc", 0, curves([0.5, 0.9], [0.9, 0.6])),
        ("cc", 1, curves([0.5, 0.9], [0.9, 0.8])),
        ("rc", 0, curves([0.8, 0.6], [0.7, 0.1])),
        ("rc", 1, curves([0.8, 0.6], [0.9, 0.1])),
    ):
        spec = make_spec(method, seed=seed, train={"epochs": 2}, holdout=0.2)
        write_record(tmp_path, make_record(spec, 50), columns)
    return tmp_path


def test_a_label_keeps_what_differs_but_for_the_hold_out() -> None:
    assert choices.short_label("AsyCo (holdout=0.2)") == "AsyCo"
    assert choices.short_label("AsyCo (epochs=5, holdout=0.2)") == "AsyCo (epochs=5)"
    assert choices.short_label("AsyCo") == "AsyCo"


def test_the_chosen_method_stands_beside_the_most_accurate(results: Path) -> None:
    said = choices.page(api.load(results))
    assert "Methods: CC (epochs=2), RC (epochs=2); n = 2 seeds." in said
    covering, approximated = said.split("## By ")[1:]
    assert covering == f"covering rate\n\n{TEXT}\n"
    assert approximated == f"approximated accuracy\n\n{TEXT}"
