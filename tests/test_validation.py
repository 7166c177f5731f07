"""What every model refuses: true and false where a number is expected."""

from typing import Any

import pytest
from pydantic import ValidationError

from pllbench.grid.protocol import Grid, Overrides, When
from pllbench.method import Hparams
from pllbench.spec import CandidateSpec, RunSpec, TrainSpec, one_line
from pllbench.validation import Values

RUN: dict[str, Any] = {"method": "cc", "version": 1, "hparams": {}, "dataset": "d", "seed": 0}


class Some(Hparams):
    """Hyperparameters of every shape that holds numbers."""

    tau: float = 1.0
    number: int | None = None
    shares: tuple[float, ...] = ()
    by_name: dict[str, list[float]] = {}
    flag: bool = False
    either: bool | float = False


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    ("model", "fields", "key"),
    [
        (TrainSpec, {"epochs": ...}, "epochs"),
        (TrainSpec, {"lr": ...}, "lr"),
        (TrainSpec, {"milestones": [0.5, ...]}, "milestones.1"),
        (CandidateSpec, {"process": "uniform", "q": ...}, "q"),
        (CandidateSpec, {"process": "noisy", "q": 0.5, "eta": ...}, "eta"),
        (RunSpec, RUN | {"seed": ...}, "seed"),
        (RunSpec, RUN | {"data_seed": ...}, "data_seed"),
        (RunSpec, RUN | {"train": {"momentum": ...}}, "train.momentum"),
        (Some, {"tau": ...}, "tau"),
        (Some, {"number": ...}, "number"),
        (Some, {"shares": (..., 0.5)}, "shares.0"),
        (Some, {"by_name": {"a": [1, ...]}}, "by_name.a.1"),
        (Overrides, {"holdout": ...}, "holdout"),
        (When, {"q": ...}, "q.0"),
        (Grid, {"seeds": [0, ...]}, "seeds.1"),
    ],
)
def test_true_and_false_are_no_numbers(
    model: type[Values], fields: dict[str, Any], key: str, value: bool
) -> None:
    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: filled(inner) for name, inner in part.items()}
        if isinstance(part, list | tuple):
            return type(part)(map(filled, part))
        return value if part is ... else part

    with pytest.raises(ValidationError) as error:
        model.parse(filled(fields))
    line = one_line(error.value, "here", model)
    assert line.startswith(f"here: {key}: Input should be a valid ")
    assert line.endswith(f"got {value}")


def test_true_and_false_stay_what_they_are_elsewhere() -> None:
    assert TrainSpec.parse({"compile": True}).compile is True
    assert Some(flag=True, either=True).either is True
    assert Overrides(hparams={"distillation": False}).hparams == {"distillation": False}
