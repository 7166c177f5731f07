"""`PartialLabelClassifier`: scikit-learn's contract, equal numbers to a run, saved and loaded."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pllbench import PartialLabelClassifier, covering_rate_scorer
from pllbench.data.custom import custom_info
from pllbench.data.dataset import load_dataset, split
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.runner.job import Job, RunOptions, execute

NUM_ROWS = 120

NAMES = np.array(["ant", "bee", "cow"])

rng = np.random.default_rng(0)
Y = np.arange(NUM_ROWS) % 3
X = np.eye(3)[Y] + 0.45 * rng.normal(size=(NUM_ROWS, 3))
SETS = np.eye(3, dtype=bool)[Y] | (rng.random((NUM_ROWS, 3)) < 0.4)
NAMED = [set(NAMES[row].tolist()) for row in SETS]

EXPECTED_FAILURES = {
    "check_supervised_y_2d": "a matrix is candidate sets: one column means one class, which is "
    "refused, and no vector of labels that has been turned"
}
"""Checks of scikit-learn that candidate sets do not allow."""


def make(method: str = "proden", **params: Any) -> PartialLabelClassifier:
    return PartialLabelClassifier(method, **({"epochs": 15, "random_state": 0} | params))


@pytest.fixture(scope="module")
def fitted() -> PartialLabelClassifier:
    return make().fit(X, SETS)


@parametrize_with_checks(
    [PartialLabelClassifier(epochs=20)], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_it_predicts_what_the_sets_have_in_common(fitted: PartialLabelClassifier) -> None:
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (NUM_ROWS, 3)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(NUM_ROWS))
    assert fitted.predict(X).tolist() == probabilities.argmax(axis=1).tolist()
    assert fitted.score(X, Y) > 0.9
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert (fitted.n_features_in_, len(fitted.curves_["loss"])) == (3, 15)


@pytest.mark.parametrize(
    "sets",
    [
        NAMED,
        pd.Series(NAMED),
        pd.DataFrame(SETS.astype(int), columns=NAMES),
        pd.DataFrame(SETS, columns=NAMES).astype(float),
    ],
)
def test_classes_are_text_where_labels_are(sets: Any, fitted: PartialLabelClassifier) -> None:
    named = make().fit(X, sets)
    assert named.classes_.tolist() == NAMES.tolist()
    assert named.predict(X).tolist() == NAMES[fitted.predict(X)].tolist()
    assert np.array_equal(named.predict_proba(X), fitted.predict_proba(X))
    assert named.score(X, NAMES[Y]) == fitted.score(X, Y)


def test_sparse_sets_and_frames_of_rows_are_the_same_data(fitted: PartialLabelClassifier) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    other = make().fit(frame, csr_array(SETS))
    assert np.array_equal(other.predict_proba(frame), fitted.predict_proba(X))
    assert other.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        other.predict(frame[["b", "a", "c"]])


@pytest.mark.parametrize(
    ("method", "changed"),
    [
        ("proden", {}),
        ("asyco", {"hparams": {"num_strong": 1}}),
        ("asyco-no-refinement", {}),
        ("pl_knn", {"epochs": None, "hparams": {"num_neighbours": 3}}),
        ("cc", {"network": "mlp", "train": {"batch_size": 16}, "views": {"scaling": "zscore"}}),
    ],
)
def test_it_is_the_run_of_the_same_rows_settings_and_seed(
    tmp_path: Path, method: str, changed: dict[str, Any]
) -> None:
    path = tmp_path / "birds.npz"
    np.savez(path, x=X, y=Y, candidates=SETS)
    params: dict[str, Any] = {"epochs": 12} | changed
    named = {key: params[key] for key in ("epochs", "network") if params.get(key) is not None}
    flags = [
        Setting(reason="train", train=params.get("train", {}) | named),
        Setting(reason="views", views=params.get("views", {})),
        Setting(reason="hparams", hparams=params.get("hparams", {})),
    ]
    asked = tuple(flag for flag in flags if flag.train or flag.views or flag.hparams)
    (run,) = plan(Selection(methods=(method,), datasets=(str(path),), seeds=(3,), flags=asked))
    record, _ = execute(Job(run.spec, run.data, RunOptions(tmp_path, tmp_path, "cpu")))
    train, test = (rows.numpy() for rows in split(load_dataset(custom_info(path), tmp_path), 3))
    ours = PartialLabelClassifier(method, random_state=3, **params).fit(X[train], SETS[train])
    assert ours.score(X[test], Y[test]) == record.result.accuracy["last"]
    assert 0.5 < record.result.accuracy["last"] < 1


def test_a_row_is_disambiguated_by_the_confidence(fitted: PartialLabelClassifier) -> None:
    assert fitted.confidence_.shape == (NUM_ROWS, 3)
    assert fitted.confidence_.sum(axis=1) == pytest.approx(np.ones(NUM_ROWS))
    assert not fitted.confidence_[~SETS].any()
    found = fitted.disambiguate()
    assert list(found) == ["candidates", "label", "confidence", "second"]
    assert found.label.tolist() == fitted.confidence_.argmax(axis=1).tolist()
    assert (found.label == Y).mean() > 0.9
    for row, values in enumerate(found.itertuples(index=False)):
        assert values.candidates == tuple(np.flatnonzero(SETS[row]))
        assert values.label in values.candidates
        assert values.confidence == fitted.confidence_[row].max()
        if len(values.candidates) == 1:
            assert (values.confidence, values.second) == (1, None)
        else:
            others = fitted.confidence_[row].copy()
            others[values.label] = -1
            assert values.second == (others.argmax() if others.max() > 0 else None)


def test_other_rows_are_disambiguated_by_their_probabilities() -> None:
    named = make().fit(X, NAMED)
    rows = X[:4]
    found = named.disambiguate(rows, [{"bee", "cow"}, {"cow"}, {"ant", "bee"}, {"bee"}])
    p = named.predict_proba(rows)
    assert found.candidates.tolist() == [("bee", "cow"), ("cow",), ("ant", "bee"), ("bee",)]
    assert found.label.tolist() == [
        NAMES[1 + p[0, 1:].argmax()],
        "cow",
        NAMES[p[2, :2].argmax()],
        "bee",
    ]
    assert found.confidence[0] == pytest.approx(p[0, 1:].max() / p[0, 1:].sum())
    assert found.second[1] is None
    with pytest.raises(ValueError, match="class 'dog' is not known"):
        named.disambiguate(rows[:1], [{"ant", "dog"}])


def test_the_covering_rate_needs_no_true_labels(fitted: PartialLabelClassifier) -> None:
    share = SETS[np.arange(NUM_ROWS), fitted.predict(X)].mean()
    assert covering_rate_scorer(fitted, X, SETS) == share
    assert 0.5 < share < 1
    named = make().fit(X, NAMED)
    assert covering_rate_scorer(named, X, NAMED) == share
    assert covering_rate_scorer(named, X, [{"dog"}] * NUM_ROWS) == 0
    assert covering_rate_scorer(named, X, pd.DataFrame(SETS * 1, columns=NAMES)) == share


def test_the_covering_rate_of_other_names_of_the_classes_is_refused(
    fitted: PartialLabelClassifier,
) -> None:
    with pytest.raises(ValueError, match="classes such as 0, predictions such as ant"):
        covering_rate_scorer(make().fit(X, NAMED), X, csr_array(SETS * 1))
    with pytest.raises(ValueError, match="classes such as ant, predictions such as 0"):
        covering_rate_scorer(fitted, X, NAMED)


@pytest.mark.parametrize(
    "sets", [SETS * 1, NAMED, csr_array(SETS * 1)], ids=["matrix", "sets", "sparse"]
)
def test_a_grid_search_in_a_pipeline(sets: Any) -> None:
    model = make_pipeline(StandardScaler(), make(epochs=8))
    grid = {
        "partiallabelclassifier__method": ["proden", "cc"],
        "partiallabelclassifier__train__lr": [1e-9, np.float64(0.1)],
    }
    search = GridSearchCV(model, grid, scoring=covering_rate_scorer, cv=3).fit(X, sets)
    assert search.best_params_["partiallabelclassifier__train__lr"] == 0.1
    assert search.best_score_ > 0.8
    best = search.best_estimator_[-1]
    assert (best.epochs, best.train) == (8, {"lr": 0.1})


def test_cross_validation_on_sets() -> None:
    scores = cross_val_score(make(), X, NAMED, scoring=covering_rate_scorer, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.8


def test_a_clone_has_the_parameters_and_no_model(fitted: PartialLabelClassifier) -> None:
    original = make("cc", hparams={"num_strong": 1})
    copy = clone(original).set_params(hparams__view_reduction="sum", epochs=3)
    assert copy.hparams == {"num_strong": 1, "view_reduction": "sum"}
    assert original.hparams == {"num_strong": 1}
    assert (copy.epochs, original.epochs) == (3, 15)
    assert not hasattr(clone(fitted), "classes_")
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        copy.set_params(depth=3)


def test_seeds_are_reproducible_and_fresh_without_one() -> None:
    once, again = (make(epochs=2).fit(X, SETS).predict_proba(X) for _ in range(2))
    assert np.array_equal(once, again)
    other = make(epochs=2, random_state=1).fit(X, SETS).predict_proba(X)
    assert not np.array_equal(once, other)
    one, another = (
        make(epochs=1, random_state=None).fit(X, SETS).predict_proba(X) for _ in range(2)
    )
    assert not np.array_equal(one, another)
    states = [np.random.RandomState(5) for _ in range(2)]
    first, second = (make(epochs=1, random_state=s).fit(X, SETS).predict_proba(X) for s in states)
    assert np.array_equal(first, second)


def test_the_callers_random_numbers_and_threads_stay() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    make(epochs=1).fit(X, SETS).predict(X)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("shape", [(9, 9), (1, 9, 9), (9, 9, 3)])
def test_images(shape: tuple[int, ...], tmp_path: Path) -> None:
    images = rng.integers(0, 60, (60, *shape)).astype(np.uint8)
    images[Y[:60] == 1] += 150
    model = make("cc", epochs=3, network="linear", train={"lr": 0.001}).fit(images, SETS[:60])
    assert model.predict_proba(images).shape == (60, 3)
    model.save(tmp_path / "model")
    loaded = PartialLabelClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(images), model.predict_proba(images))
    with pytest.raises(ValueError, match="images must be uint8"):
        make("cc", network="linear").fit(images / 255.0, SETS[:60])


@pytest.mark.parametrize(
    ("params", "sets", "problem"),
    [
        ({"method": "prodn"}, SETS, "^method: unknown method 'prodn': did you mean proden"),
        ({"method": 3}, SETS, "^method 3: must be the name of a method or variant"),
        ({"kind": "pictures"}, SETS, "^kind pictures: must be one of image, digits, text, tab"),
        ({"stop_after": 1.5}, SETS, r"^stop_after 1\.5: must be from 1 to 15"),
        ({"hparams": 3}, SETS, "hparams: Input should be an object, got 3"),
        ({"train": 3}, SETS, "train: Input should be an object, got 3"),
        ({"device": "gpu"}, SETS, "^device gpu: must be auto, cpu, cuda"),
        ({"method": "supervised"}, SETS, "^method supervised: learns from true labels"),
        ({"hparams": {"tua": 1}}, SETS, "unknown key 'tua'"),
        ({"hparams": {"num_strong": "two"}}, SETS, "num_strong: .* got 'two'"),
        ({"epochs": 0}, SETS, "epochs: .* greater than or equal to 1, got 0"),
        ({"epochs": 1.5}, SETS, "epochs: .* got 1.5"),
        ({"network": "resnet81"}, SETS, "network: .* got 'resnet81'"),
        ({"network": "resnet18"}, SETS, "network resnet18 needs images"),
        ({"train": {"learning_rate": 1}}, SETS, "unknown key 'learning_rate'"),
        ({"train": {"lr": float("nan")}}, SETS, "a number is not finite"),
        ({"views": {"cutout": 3}}, SETS, "proden on tabular data: views: no run reads 'cutout'"),
        ({"method": "pl_knn"}, SETS, "pl_knn on tabular data: train: no run reads 'epochs' here"),
        ({"kind": "text"}, SETS, "has a negative count of a word"),
        ({"kind": "image"}, SETS, "images must be uint8"),
        ({"random_state": -1}, SETS, "^random_state -1: must not be negative"),
        ({}, SETS[:5], "inconsistent numbers of samples"),
        ({}, SETS[:, :1] | True, "1 classes, must be from 2"),
        ({}, np.where(SETS, 1, 2), "must be 0 or 1"),
        ({}, X[:, 0], "Unknown label type: fractional numbers"),
        ({}, [set()] * NUM_ROWS, "row 0 has no candidate"),
        ({}, [{1.0}, {float("nan"), 2.0}] * (NUM_ROWS // 2), "row 1 has a label that is missing"),
    ],
)
def test_what_is_malformed_is_refused(params: dict[str, Any], sets: Any, problem: str) -> None:
    model = make().set_params(**params)
    with pytest.raises(ValueError, match=problem) as caught:
        model.fit(X, sets)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "classes_")


def test_other_forms_of_rows_are_refused() -> None:
    dates = np.full((NUM_ROWS, 2), np.datetime64("2001-02-03"))
    with pytest.raises(ValueError, match=r"^X: dates and durations are no features: give numbers$"):
        make().fit(dates, SETS)


@pytest.mark.parametrize("missing", [np.nan, np.inf, None])
def test_a_feature_that_is_missing_is_named_in_one_line(
    missing: float | None, fitted: PartialLabelClassifier
) -> None:
    rows = X.astype(object)
    rows[[7, 9], 1] = missing
    line = (
        r"^X: row 7 \(counted from 0\) has a feature that is NaN or infinite .* \(2 of 120 rows.$"
    )
    for call in (lambda: make().fit(rows, SETS), lambda: fitted.predict(rows)):
        with pytest.raises(ValueError, match=line):
            call()


def test_what_a_grid_refuses_before_its_runs_is_refused() -> None:
    images = rng.integers(0, 256, (60, 4, 9, 3)).astype(np.uint8)
    with pytest.raises(ValueError, match=r"^images of 4 x 9 pixels are too small for views: each"):
        make("cc", network="linear").fit(images, SETS[:60])


def test_rows_without_sets_and_sets_without_rows_are_refused(
    fitted: PartialLabelClassifier,
) -> None:
    with pytest.raises(ValueError, match=r"^candidate sets: none are given; they must be a matrix"):
        fitted.disambiguate(X)
    with pytest.raises(ValueError, match=r"^candidate sets of other rows need these rows"):
        fitted.disambiguate(y=SETS)


def test_candidate_sets_are_no_true_labels(fitted: PartialLabelClassifier) -> None:
    for sets in (SETS, NAMED):
        with pytest.raises(ValueError, match=r"scored by pllbench\.covering_rate_scorer"):
            fitted.score(X, sets)
    with pytest.raises(ValueError, match="X has 2 features, but PartialLabelClassifier"):
        fitted.predict(X[:, :2])
    with pytest.raises(ValueError, match="row 1"):
        fitted.predict(np.array([[0, 1, 2], [3, 1e300, 0]]))


def test_a_saved_classifier_is_the_same_one(tmp_path: Path) -> None:
    params = {"hparams": {"num_strong": np.int64(1)}, "train": {"milestones": (0.5, 0.9)}}
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make("asyco", epochs=3, **params).fit(frame, NAMED)
    model.save(tmp_path / "birds.model")
    loaded = PartialLabelClassifier.load(tmp_path / "birds.model")
    assert np.array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert np.array_equal(loaded.confidence_, model.confidence_)
    assert loaded.disambiguate().equals(model.disambiguate())
    assert loaded.classes_.tolist() == NAMES.tolist()
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert loaded.get_params() == {
        **model.get_params(),
        "hparams": {"num_strong": 1},
        "train": {"milestones": [0.5, 0.9]},
    }
    assert loaded.curves_ == {}
    refitted = clone(loaded).fit(frame, NAMED)
    assert np.array_equal(refitted.predict_proba(frame), model.predict_proba(frame))
    loaded.save(tmp_path / "again.model")
    again = PartialLabelClassifier.load(tmp_path / "again.model")
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_a_pickled_classifier_is_the_same_one(fitted: PartialLabelClassifier) -> None:
    loaded = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
