"""A scikit-learn classifier that learns from candidate sets, with any method of the suite.

Letters in shape comments: N training instances, M rows, C classes, D features.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import torch
from pydantic import ValidationError
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
from torch import Tensor

from pllbench.candidates.forms import as_candidates
from pllbench.candidates.processes import Candidates
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.readers.base import Dataset, require_classes
from pllbench.data.readers.custom import as_rows
from pllbench.grid.protocol import Setting
from pllbench.grid.single import single_run
from pllbench.spec import Kind, RunSpec
from pllbench.training.alone import alone
from pllbench.training.model import fit_model, read_model, restricted, write_model
from pllbench.validation import FieldError, one_line

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]

OPTIONS = ("hparams", "train", "views")
"""Parameters that are dictionaries: `hparams__tau` is the entry `tau` of `hparams`."""

LARGEST_SEED = 2**31 - 1


class PartialLabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # untyped
    """A classifier that is trained on candidate sets: one of a row's several labels is true.

    At equal settings, seed and training rows its weights are those of a run of `pllbench run` on
    custom data.

    What is None is what the default protocol says for the method and the kind of data.

    Attributes:
        method: a method or variant, as `pllbench list methods` and `variants` name them.
        epochs: length of training.
        network: encoder, as `pllbench list networks` names it.
        hparams: hyperparameters of the method, by name.
        train: further train settings, such as `lr` and `batch_size`.
        views: view settings, such as `scaling`.
        kind: `tabular`, `text`, `image` or `digits`; by the shape of the rows where None.
        random_state: seed of initialisation, order and views.
        device: `auto` (a GPU where there is one), `cpu` or `cuda`.
        classes_: [C], what the columns of candidate sets stand for.
        confidence_: [N, C], what the method believes of each training row.
        curves_: per-epoch columns of the training, such as `loss`; empty after `load`.
        n_features_in_: D of rows of features.
    """

    def __init__(
        self,
        method: str = "proden",
        *,
        epochs: int | None = None,
        network: str | None = None,
        hparams: Mapping[str, Any] | None = None,
        train: Mapping[str, Any] | None = None,
        views: Mapping[str, Any] | None = None,
        kind: Kind | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
    ) -> None:
        self.method = method
        self.epochs = epochs
        self.network = network
        self.hparams = hparams
        self.train = train
        self.views = views
        self.kind = kind
        self.random_state = random_state
        self.device = device

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True  # images
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `hparams__tau=0.9` sets one entry of `hparams`."""
        entries = {name for name in params if name.startswith(tuple(f"{o}__" for o in OPTIONS))}
        super().set_params(**{name: params[name] for name in params.keys() - entries})
        for name in sorted(entries):
            owner, _, key = name.partition("__")
            setattr(self, owner, {**(getattr(self, owner) or {}), key: params[name]})
        return self

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Train on rows and their candidate sets.

        Args:
            X: features [N, D], or images, uint8: [N, height, width], or with 1 or 3 channels first
                or last.
            y: candidate sets: a matrix [N, C] of 0 and 1, dense or sparse; a data frame with such a
                column a class; N sets of labels; or N labels, each the only candidate of its row.

        Raises:
            ValueError: rows, sets or parameters are malformed, or do not fit each other.
            FloatingPointError: the loss was not finite.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        candidates, classes = _candidate_sets(y)
        rows, kind = self._rows(X, reset=True)
        check_consistent_length(X, candidates)
        require_classes(len(classes), "candidate sets")
        info = DatasetInfo("X", "X", kind, "fixed", real_candidates=True, labelled=False)
        sets = torch.from_numpy(np.ascontiguousarray(candidates))
        dataset = Dataset(info, rows, None, len(classes), sets, num_train=len(rows))
        spec = self._spec(info)
        with alone():
            self._model = fit_model(spec, dataset, _device(self.device))
        self._candidates = candidates
        self.classes_ = classes
        self.confidence_ = self._model.confidence.numpy()
        self.curves_ = dict(self._model.curves)
        return self

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Class probabilities [M, C] of rows, in the order of `classes_`."""
        check_is_fitted(self)
        rows, _ = self._rows(X, reset=False)
        with alone():
            found: Array = self._model.probabilities(rows).numpy()
        return found

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The most probable class [M] of rows."""
        probabilities = self.predict_proba(X)
        found: Array = self.classes_[probabilities.argmax(axis=1)]
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Accuracy, a fraction, on rows whose true labels `y` [M] are known.

        Raises:
            ValueError: `y` is no vector of labels; `pllbench.covering_rate_scorer` takes candidate
                sets.
        """
        if np.ndim(y) != 1 or any(isinstance(label, set | frozenset) for label in y):
            raise ValueError(
                "score needs the true label of each row; candidate sets are scored by "
                "pllbench.covering_rate_scorer"
            )
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def disambiguate(self, X: Any = None, y: Any = None) -> "pd.DataFrame":  # noqa: N803
        """Which candidate of each row is the true label: of the training rows, or of others.

        Of training rows `confidence_` decides. Of other rows with candidate sets `y`, in any form
        that `fit` takes, it is the class probabilities among the candidates.

        Returns:
            A row for each row: `candidates` (a tuple), `label` (of the highest confidence, a
            candidate unless the method allows for sets without the true label), `confidence`, and
            `second`, the next best label (None where it has no confidence).
        """
        check_is_fitted(self)
        if X is None:
            return self._disambiguated(self._candidates, self.confidence_)
        candidates = self._aligned(y)
        check_consistent_length(X, candidates)
        probabilities = torch.from_numpy(self.predict_proba(X))
        confidence = restricted(probabilities, torch.from_numpy(candidates)).numpy()
        return self._disambiguated(candidates, confidence)

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to a file; it holds numbers and text, no code.

        Raises:
            ValueError: it is fitted to classes that are neither text nor numbers.
            OSError: the file cannot be written.
        """
        check_is_fitted(self)
        extra = {
            "params": _plain(self.get_params(deep=False) | {"random_state": self._model.spec.seed}),
            "classes": self.classes_.tolist(),
            "features": self._features(),
        }
        write_model(Path(path), self._model, extra)

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> Self:
        """The classifier that `save` has written.

        Raises:
            ValueError: it is none, damaged, or of a method or version that is not installed.
        """
        model, extra = read_model(Path(path), _device(device))
        found = cls(**extra["params"])
        found.device = device
        found._model = model
        found._candidates = model.task.candidates.cpu().numpy()
        found.classes_ = np.array(extra["classes"])
        found.confidence_ = model.confidence.numpy()
        found.curves_ = {}
        for name, value in extra["features"].items():
            setattr(
                found, name, np.array(value, dtype=object) if isinstance(value, list) else value
            )
        return found

    def _features(self) -> dict[str, Any]:
        """What is known of the columns of X, as plain values."""
        found: dict[str, Any] = {"n_features_in_": self.n_features_in_}
        if hasattr(self, "feature_names_in_"):
            found["feature_names_in_"] = [str(name) for name in self.feature_names_in_]
        return found

    def _rows(self, X: Any, *, reset: bool) -> tuple[Tensor, Kind]:  # noqa: N803
        """Rows as data sets have them, and their kind; what does not fit is refused."""
        values = validate_data(self, X, reset=reset, dtype=None, allow_nd=True)
        kind = self.kind or ("tabular" if values.ndim == 2 else "image")
        if values.ndim == 2 and values.dtype.kind not in "biuf":
            values = values.astype(np.float64)
        return as_rows(values, kind, "X"), kind

    def _spec(self, info: DatasetInfo) -> RunSpec:
        """The run that the parameters ask for."""
        named = {"epochs": self.epochs, "network": self.network}
        train = {key: value for key, value in named.items() if value is not None}
        options = {"train": {**(self.train or {}), **train}, "views": self.views or {}}
        try:
            setting = Setting.parse(_plain(options | {"hparams": self.hparams or {}}))
        except ValidationError as error:
            raise ValueError(one_line(error, "PartialLabelClassifier", Setting)) from error
        spec = single_run(self.method, info, setting)
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(LARGEST_SEED)
        if seed < 0:
            raise FieldError("random_state", "must not be negative", seed)
        return spec.model_copy(update={"seed": int(seed)})

    def _aligned(self, given: Any) -> Candidates:
        """Candidate sets [M, C] with the columns of `classes_`."""
        candidates, classes = _candidate_sets(given)
        places = {label: column for column, label in enumerate(self.classes_.tolist())}
        aligned = np.zeros((len(candidates), len(places)), dtype=np.bool_)
        for column, label in enumerate(classes.tolist()):
            if label in places:
                aligned[:, places[label]] = candidates[:, column]
            elif candidates[:, column].any():
                raise ValueError(f"candidate sets: class {label!r} was not among those of fit")
        return aligned

    def _disambiguated(self, candidates: Candidates, confidence: Array) -> "pd.DataFrame":
        import pandas as pd

        order = np.argsort(-confidence, axis=1, kind="stable")
        best, second = order[:, 0], order[:, 1]
        names = self.classes_.astype(object)
        next_best = [
            names[k] if weights[k] > 0 else None
            for weights, k in zip(confidence, second, strict=True)
        ]
        return pd.DataFrame(
            {
                "candidates": [tuple(names[row]) for row in candidates],
                "label": self.classes_[best],
                "confidence": confidence.max(axis=1),
                "second": pd.Series(next_best, dtype=object),
            }
        )


def covering_rate_scorer(estimator: Any, X: Any, y: Any) -> float:  # noqa: N803
    """Share of rows whose predicted label is one of their candidates: a scorer without true labels.

    For `GridSearchCV(..., scoring=pllbench.covering_rate_scorer)` and its like.

    Args:
        estimator: fitted; a pipeline may be around it.
        X: rows.
        y: their candidate sets, in any form that `PartialLabelClassifier.fit` takes.
    """
    candidates, classes = _candidate_sets(y)
    predicted = estimator.predict(X)
    check_consistent_length(predicted, candidates)
    inside: Candidates = candidates & (np.asarray(predicted)[:, None] == classes)
    return float(inside.any(axis=1).mean())


def _candidate_sets(given: Any) -> tuple[Candidates, Array]:
    """Candidate sets [N, C] and their classes [C]; raises as `as_candidates`."""
    candidates, classes = as_candidates(given)
    if classes.dtype.kind == "f":  # of labels; numbers that are measured are no classes
        check_classification_targets(classes)
    return candidates, classes


def _plain(value: Any) -> Any:
    """A value as JSON has it: NumPy's scalars as Python's, tuples as lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)
