"""What strict models refuse, and validation errors as one line."""

from typing import Any

import pytest
from pydantic import ValidationError

from pllbench.grid.benchmark import Grid
from pllbench.grid.protocol import Overrides, When
from pllbench.method import Hparams
from pllbench.spec import CandidateSpec, RunSpec, TrainSpec
from pllbench.validation import FieldError, StrictModel, did_you_mean, one_line, require_keys

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
    model: type[StrictModel], fields: dict[str, Any], key: str, value: bool
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


@pytest.mark.parametrize(
    ("model", "fields", "message"),
    [
        (
            CandidateSpec,
            {"process": "uniform", "q": 0, "policy": "resample"},
            "here: policy resample needs q > 0: it draws until a wrong label comes",
        ),
        (CandidateSpec, {"process": "uniform", "q": 1.5}, "here: q: Input should be less"),
        (CandidateSpec, {"q": 0.5}, "here: process: Field required"),
        (TrainSpec, {"epoch": 3}, "here: unknown key 'epoch', did you mean epochs?"),
        (TrainSpec, {"lr": "fast"}, "here: lr: Input should be a valid number, got 'fast'"),
        (
            RunSpec,
            RUN | {"train": {"batchsize": 3}},
            "here: train: unknown key 'batchsize', did you mean batch_size?",
        ),
        (RunSpec, RUN | {"changed": ["rate"]}, "here: changed names 'rate', which is no"),
        (RunSpec, RUN | {"holdout": 1}, "here: holdout: Input should be less than 1, got 1"),
        (RunSpec, RUN | {"seed": -1}, "here: seed: Input should be greater"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    model: type[StrictModel], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError) as error:
        model.parse(fields)
    line = one_line(error.value, "here", model)
    assert "\n" not in line
    assert line.startswith(message)


def test_require_keys_names_place_and_nearest_match() -> None:
    require_keys(["lr", "epochs"], TrainSpec, "--train")
    with pytest.raises(ValueError, match=r"^--train: unknown key 'Epoch', did you mean epochs\?$"):
        require_keys(["lr", "Epoch"], TrainSpec, "--train")


def test_nearest_match_ignores_case_and_says_what_is_known() -> None:
    assert did_you_mean("PRODEM", ["proden", "rc"]) == "did you mean proden?"
    assert did_you_mean("zzz", ["b", "a"]) == "known: a, b"
    assert did_you_mean("zzz", []) == "known: none"


def test_an_error_of_a_field_says_field_value_and_reason() -> None:
    assert str(FieldError("q", "must be from 0 to 1", 1.5)) == "q 1.5: must be from 0 to 1"
    error = FieldError("address", "only with engine ray")
    assert (str(error), error.value) == ("address: only with engine ray", None)
