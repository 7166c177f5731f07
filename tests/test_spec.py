"""The specification of a run: what changes its id and what does not, and what it refuses."""

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pllbench.budget import Budget, TuningSpec
from pllbench.method import Hparams
from pllbench.spec import (
    FITTED,
    LARGEST,
    CandidateSpec,
    PruningSpec,
    RunSpec,
    TrainSpec,
    ViewSpec,
)
from pllbench.validation import StrictModel

FIELDS: dict[str, Any] = {
    "method": "rc",
    "version": 1,
    "hparams": {"tau": 1.0, "reduction": "mean"},
    "changed": ("tau",),
    "dataset": "digits",
    "candidates": CandidateSpec(process="uniform", q=0.3),
    "seed": 0,
}
SPEC = RunSpec(**FIELDS)

OTHER_VALUES: dict[str, Any] = {
    "method": "cc",
    "version": 2,
    "hparams": {"tau": 2.0, "reduction": "mean"},
    "labels": "true",
    "gradient": False,
    "source": "0123",
    "dataset": "cnae9",
    "digest": "0123",
    "kind": "image",
    "candidates": None,
    "candidates.process": "another",
    "candidates.q": 0.1,
    "candidates.policy": "free",
    "candidates.sizes": "code",
    "candidates.num_wrong": 2,
    "candidates.eta": 0.1,
    "candidates.rule": "max",
    "candidates.annotator": "another",
    "candidates.annotator_network": "mlp",
    "candidates.annotator_epochs": 7,
    "annotator": "0123",
    "annotations": "votes=2",
    "pruning": PruningSpec(tau=0.6, k=5),
    "tuning": TuningSpec(budget=Budget(trials=(20,), space="01234567"), own_space="01234567"),
    "imbalance": 10.0,
    "seed": 1,
    "data_seed": 0,
    "folds": 5,
    "holdout": 0.1,
    "train.network": "mlp",
    "train.forward": "concat",
    "train.epochs": 201,
    "train.batch_size": 65,
    "train.lr": 0.2,
    "train.momentum": 0.0,
    "train.weight_decay": 0.0,
    "train.schedule": "cosine",
    "train.milestones": (0.5,),
    "train.precision": "bf16",
    "train.channels_last": True,
    "train.compile": "step",
    "train.graph": True,
    "views.scaling": "zscore",
    "views.tfidf_norm": 1.0,
    "views.noise_std": 0.2,
    "views.token_rate": 0.2,
    "views.token_law": "unigram",
    "views.normalisation": "training",
    "views.cutout": 20,
    "views.autoaugment": "svhn",
    "core_version": 99,
}
"""For every field of a spec, a value that is not that of `SPEC`."""


def with_value(spec: RunSpec, path: str, value: object) -> RunSpec:
    owner, _, key = path.rpartition(".")
    if not owner:
        return spec.model_copy(update={key: value})
    part = getattr(spec, owner).model_copy(update={key: value})
    return spec.model_copy(update={owner: part})


def train(**fields: Any) -> RunSpec:
    return RunSpec(**FIELDS, train=TrainSpec(**fields))


def test_every_field_has_another_value_here() -> None:
    parts: dict[str, type[StrictModel]] = {
        "train": TrainSpec,
        "views": ViewSpec,
        "candidates": CandidateSpec,
    }
    paths = {f"{owner}.{key}" for owner, model in parts.items() for key in model.model_fields}
    own = set(RunSpec.model_fields) - {"changed", "train", "views"}  # changed follows hparams
    assert set(OTHER_VALUES) == paths | own


@pytest.mark.parametrize("path", OTHER_VALUES)
def test_every_field_changes_the_id(path: str) -> None:
    assert with_value(SPEC, path, OTHER_VALUES[path]).run_id != SPEC.run_id


@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_has_an_id_of_its_own(deep: bool) -> None:
    """An id is computed once, and a copy is another run."""
    first = SPEC.run_id
    other = SPEC.model_copy(update={"seed": 7}, deep=deep)
    assert other.run_id == RunSpec(**FIELDS | {"seed": 7}).run_id != first
    assert other.model_copy(update={"seed": 0}, deep=deep).run_id == first == SPEC.run_id
    assert SPEC.model_copy(deep=deep) == SPEC
    assert pickle.loads(pickle.dumps(SPEC)) == SPEC
    assert not {"run_id", "identity"} & {*SPEC.model_dump(), *SPEC.identity}


@pytest.mark.parametrize("path", OTHER_VALUES)
def test_runs_that_differ_in_the_seed_alone_are_a_cell(path: str) -> None:
    same = path == "seed"
    assert (with_value(SPEC, path, OTHER_VALUES[path]).cell == SPEC.cell) == same
    newer = SPEC.model_copy(update={"hparams": SPEC.hparams | {"rate": 0.5}})
    assert newer.cell == SPEC.cell  # a new hyperparameter at its default


def test_the_source_of_a_registered_method_is_not_written() -> None:
    assert "source" not in SPEC.identity  # so that no older id changes
    assert "source" not in SPEC.model_dump()
    own = SPEC.model_copy(update={"source": "0123"})
    assert RunSpec.parse(own.model_dump(mode="json")).identity["source"] == "0123"


def test_a_method_without_gradient_has_one_id_whatever_is_asked_of_training() -> None:
    fitted = RunSpec(**FIELDS, gradient=False, train=FITTED)
    assert (fitted.train.epochs, fitted.identity["gradient"]) == (1, False)
    assert "gradient" not in SPEC.identity  # so that no older id changes
    assert "gradient" not in SPEC.model_dump()  # nor the look of a record
    assert "tuning" not in SPEC.model_dump()
    assert fitted.model_dump()["gradient"] is False
    with pytest.raises(ValidationError, match="has no train settings of its own"):
        RunSpec(**FIELDS, gradient=False, train=TrainSpec(epochs=1, network="mlp"))


def test_specs_that_differ_in_one_field_are_all_different_runs() -> None:
    ids = {with_value(SPEC, path, value).run_id for path, value in OTHER_VALUES.items()}
    assert len(ids) == len(OTHER_VALUES)


def test_the_id_of_a_spec_never_changes() -> None:
    """Fails if an edit would orphan every stored record: then CORE_VERSION must be bumped."""
    old = SPEC.model_copy(update={"core_version": 1})
    assert old.identity == {
        "method": "rc",
        "version": 1,
        "hparams": {"tau": 1.0},
        "dataset": "digits",
        "candidates": {"process": "uniform", "q": 0.3},
        "seed": 0,
        "core_version": 1,
    }
    assert old.run_id == "2d9021c56dc5ad8b"


def test_a_new_option_at_its_default_changes_no_id() -> None:
    class WiderTrain(TrainSpec):
        nesterov: bool = False

    class Wider(RunSpec):
        train: TrainSpec = WiderTrain()
        ensemble: int | None = None

    assert Wider(**FIELDS).run_id == SPEC.run_id
    assert Wider(**FIELDS, ensemble=2).run_id != SPEC.run_id


def test_a_hyperparameter_counts_by_being_changed() -> None:
    default = SPEC.model_copy(update={"hparams": {"tau": 1.0}, "changed": ()})
    newer = SPEC.model_copy(update={"hparams": {"tau": 1.0, "rate": 0.5}, "changed": ()})
    assert newer.run_id == default.run_id  # a new hyperparameter at its default
    assert SPEC.run_id != default.run_id
    assert newer.model_copy(update={"changed": ("rate",)}).run_id != default.run_id


@pytest.mark.parametrize(
    "same",
    [
        SPEC.model_copy(update={"hparams": {"reduction": "mean", "tau": 1.0}}),
        RunSpec(**dict(reversed(FIELDS.items()))),
        RunSpec(**FIELDS, data_seed=None, holdout=0, train=TrainSpec(), views=ViewSpec()),
        RunSpec(
            **FIELDS | {"candidates": {"q": np.arange(0.1, 0.4, 0.1)[2], "process": "uniform"}}
        ),
        RunSpec(**FIELDS | {"candidates": {"q": 0.1 + 0.2, "process": "uniform"}}),
    ],
)
def test_spelling_does_not_change_the_id(same: RunSpec) -> None:
    assert same.run_id == SPEC.run_id


def test_whole_numbers_and_floats_are_one_value() -> None:
    assert train(lr=1).run_id == train(lr=1.0).run_id
    assert train(milestones=(0.5, 1)).run_id == train(milestones=(0.5, 1.0)).run_id
    changed = {"hparams": {"a": 1, "b": 2}, "changed": ("b", "a")}
    in_order = changed | {"changed": ("a", "b")}
    assert RunSpec(**FIELDS | changed).run_id == RunSpec(**FIELDS | in_order).run_id


def test_q_has_ten_digits_and_no_sign() -> None:
    assert CandidateSpec(process="uniform", q=0.30000000000000004).q == 0.3
    assert json.dumps(CandidateSpec(process="uniform", q=-0.0).q) == "0.0"
    assert CandidateSpec(process="uniform", q=1e-10).q == 1e-10


values = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())
hparams = st.dictionaries(st.text(), values | st.floats(allow_nan=False, allow_infinity=False))
positive = st.floats(min_value=1e-300, max_value=LARGEST)
specs = st.builds(
    RunSpec,
    method=st.text(),
    version=st.integers(),
    hparams=hparams,
    labels=st.sampled_from(["candidates", "true"]),
    dataset=st.text(),
    digest=st.none() | st.text(),
    candidates=st.none() | st.builds(CandidateSpec, process=st.just("uniform"), q=st.floats(0, 1)),
    seed=st.integers(min_value=0),
    data_seed=st.none() | st.integers(min_value=0),
    holdout=st.floats(0, 1, exclude_max=True),
    train=st.builds(TrainSpec, lr=positive, weight_decay=positive, epochs=st.integers(1, LARGEST)),
    views=st.builds(ViewSpec, noise_std=positive, token_law=st.sampled_from(["uniform"])),
)


@given(specs, st.data())
def test_json_round_trip_keeps_spec_and_id(spec: RunSpec, data: st.DataObject) -> None:
    names = st.sets(st.sampled_from(sorted(spec.hparams))) if spec.hparams else st.just(set[str]())
    spec = spec.model_copy(update={"changed": tuple(data.draw(names))})
    back = RunSpec.parse(json.loads(spec.model_dump_json()))
    assert back == spec
    assert back.run_id == spec.run_id


FLOATS = [
    (model, name)
    for model in (TrainSpec, ViewSpec, CandidateSpec, RunSpec)
    for name, field in model.model_fields.items()
    if field.annotation is float
]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
@pytest.mark.parametrize(("model", "name"), FLOATS)
def test_numbers_are_finite_and_in_range(model: type[StrictModel], name: str, value: float) -> None:
    fields = FIELDS if model is RunSpec else {"process": "uniform", "q": 0.3}
    fields = {} if model in (TrainSpec, ViewSpec) else fields
    with pytest.raises(ValidationError, match=name):
        model.parse(fields | {name: value})


def test_hyperparameters_are_finite() -> None:
    class Some(Hparams):
        tau: float = 1.0

    for value in (float("nan"), float("inf")):
        with pytest.raises(ValidationError, match="tau"):
            Some(tau=value)
        with pytest.raises(ValidationError, match="hparams"):
            RunSpec(**FIELDS | {"hparams": {"tau": value}})


def test_specs_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(SPEC, "seed", 3)  # noqa: B010 - mypy refuses the plain assignment as well
