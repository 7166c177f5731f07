"""A scikit-learn classifier that learns from candidate sets, with any method of the suite.

Letters in shape comments: N training instances, M rows, C classes, D features.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
import torch
from pydantic import ValidationError
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)
from torch import Tensor

from pllbench.candidates.disambiguation import disambiguated
from pllbench.candidates.forms import aligned_candidates, as_candidates
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.readers.base import Array, Dataset, require_classes
from pllbench.data.readers.custom import as_rows
from pllbench.grid.protocol import Setting
from pllbench.grid.single import settings_read, single_run
from pllbench.results.files import write_atomic
from pllbench.runner.device import resolve_device
from pllbench.spec import Kind, RunSpec
from pllbench.training.alone import alone, shown_epochs
from pllbench.training.model import (
    TrainedModel,
    TrainingRows,
    fit_model,
    pack_model,
    read_model,
    restricted,
    rows_digest,
)
from pllbench.validation import FieldError, one_line, plain_values

if TYPE_CHECKING:
    import pandas as pd

_OPTIONS = ("hparams__", "train__", "views__")
"""Begins of parameters that are an entry of another one, which is a dictionary."""

LARGEST_SEED = 2**31 - 1


class PartialLabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # untyped
    """A classifier that is trained on candidate sets: one of a row's several labels is true.

    At equal settings, seed and training rows its weights are those of a run of `pllbench run` on
    custom data.

    What is None is what the default protocol says for the method and the kind of data.

    Attributes:
        method: a method or variant, as `pllbench list methods` and `variants` name them.
        epochs: length of training.
        stop_after: stop after so many epochs, with the schedules of the whole length, as at the
            epoch that `pllbench choose` names; None for all.
        network: encoder, as `pllbench list networks` names it.
        hparams: hyperparameters of the method, by name.
        train: further train settings, such as `lr` and `batch_size`.
        views: view settings, such as `scaling`.
        kind: `tabular`, `text`, `image` or `digits`; by the shape of the rows where None.
        random_state: seed of initialisation, order and views.
        device: `auto` (a GPU where there is one), `cpu` or `cuda`.
        verbose: show the epochs of the training on standard error.
        kind_: that of the rows it was trained on.
        classes_: [C], what the columns of candidate sets stand for.
        confidence_: [N, C], what the method believes of each training row.
        curves_: per-epoch columns of the training, such as `loss`; empty after `load`.
        n_features_in_: D of rows of features.
    """

    _training: TrainingRows | None
    curves_: dict[str, Array]

    def __init__(
        self,
        method: str = "proden",
        *,
        epochs: int | None = None,
        stop_after: int | None = None,
        network: str | None = None,
        hparams: Mapping[str, Any] | None = None,
        train: Mapping[str, Any] | None = None,
        views: Mapping[str, Any] | None = None,
        kind: Kind | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.epochs = epochs
        self.stop_after = stop_after
        self.network = network
        self.hparams = hparams
        self.train = train
        self.views = views
        self.kind = kind
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True  # images
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `hparams__tau=0.9` sets one entry of `hparams`."""
        entries = {name for name in params if name.startswith(_OPTIONS)}
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
        candidates, classes = as_candidates(y)
        rows, kind = self._rows(X, reset=True)
        check_consistent_length(X, candidates)
        require_classes(len(classes), "candidate sets")
        info = DatasetInfo("these rows", "", kind, "fixed", real_candidates=True, labelled=False)
        sets = torch.from_numpy(np.ascontiguousarray(candidates))
        dataset = Dataset(info, rows, None, len(classes), sets, num_train=len(rows))
        spec, last = self._spec(info), plain_values(self.stop_after)
        with (
            alone(),
            shown_epochs(self.method, last or spec.train.epochs, on=self.verbose) as on_epoch,
        ):
            device = resolve_device(self.device)
            fitted = fit_model(spec, dataset, device, on_epoch=on_epoch, stop_after=last)
        self._take(fitted.model, classes)
        self._training = TrainingRows(candidates, rows_digest(rows, candidates))
        self.confidence_, self.curves_ = fitted.confidence.numpy(), dict(fitted.curves)
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

        Of training rows `confidence_` decides, also where all of them are given again. Of other
        rows with candidate sets `y`, in any form that `fit` takes, it is the class probabilities
        among the candidates.

        Returns:
            A row for each row: `candidates` (a tuple), `label` (of the highest confidence, a
            candidate unless the method allows for sets without the true label), `confidence`, and
            `second`, the next best label (None where it has no confidence).

        Raises:
            ValueError: rows or sets are malformed; or none are given to what a run has kept.
        """
        check_is_fitted(self)
        training = self._training
        if X is None and y is not None:
            raise ValueError("candidate sets of other rows need these rows: give X, too")
        if X is None and training is None:
            raise ValueError("a model that a run has kept knows no training rows: give X and y")
        if X is not None:
            candidates = aligned_candidates(y, self.classes_)
            check_consistent_length(X, candidates)
            rows, _ = self._rows(X, reset=False)
        if training and (X is None or rows_digest(rows, candidates) == training.digest):
            return disambiguated(training.candidates, self.confidence_, self.classes_)
        probabilities = torch.from_numpy(self.predict_proba(X))
        confidence = restricted(probabilities, torch.from_numpy(candidates)).numpy()
        return disambiguated(candidates, confidence, self.classes_)

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to a file; it holds numbers and text, no code.

        Raises:
            OSError: the file cannot be written.
        """
        check_is_fitted(self)
        params = self.get_params(deep=False) | {"random_state": self._model.spec.seed}
        extra: dict[str, Any] = {"params": plain_values(params), "classes": self.classes_.tolist()}
        if hasattr(self, "n_features_in_"):
            extra["num_features"] = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            extra["feature_names"] = self.feature_names_in_.tolist()
        if self._training:
            extra["confidence"] = torch.from_numpy(self.confidence_)
            extra["candidates"] = torch.from_numpy(self._training.candidates)
            extra["digest"] = self._training.digest
        write_atomic(Path(path), pack_model(self._model, extra))

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> Self:
        """The classifier that `save` has written, or the model that a run has kept.

        The latter knows nothing of its training rows, so it has no `confidence_`.

        Raises:
            ValueError: it is none, damaged, or of a method or version that is not installed.
        """
        model, extra = read_model(Path(path), resolve_device(device))
        spec, kind = model.spec, model.task.views.kind
        params: dict[str, Any] = {"method": spec.method, "kind": kind, "random_state": spec.seed}
        params |= settings_read(spec, kind) | extra.get("params", {})
        found = cls(**params | {"device": device})
        if "num_features" in extra:
            found.n_features_in_ = extra["num_features"]
        if "feature_names" in extra:
            found.feature_names_in_ = np.array(extra["feature_names"], dtype=object)
        found._take(model, np.array(extra["classes"]))
        if "confidence" in extra:
            found._training = TrainingRows(extra["candidates"].numpy(), extra["digest"])
            found.confidence_ = extra["confidence"].numpy()
        return found

    def _take(self, model: TrainedModel, classes: Array) -> None:
        """Predict with a model; nothing is known of its training."""
        self._model = model
        self._training = None
        self.classes_ = classes
        self.kind_ = model.task.views.kind
        self.curves_ = {}

    def _rows(self, X: Any, *, reset: bool) -> tuple[Tensor, Kind]:  # noqa: N803
        """Rows as data sets have them, and their kind; what does not fit is refused."""
        options = {"dtype": None, "ensure_all_finite": False}  # `as_rows` names the row of a NaN
        if len(getattr(X, "shape", ())) > 2:  # images, whose shape the model knows
            values = check_array(X, allow_nd=True, **options)
        else:
            values = validate_data(self, X, reset=reset, **options)
        by_shape: Kind = "tabular" if values.ndim == 2 else "image"
        kind = (self.kind or by_shape) if reset else self.kind_
        if kind not in get_args(Kind):
            raise FieldError("kind", f"must be one of {', '.join(get_args(Kind))}", kind)
        if values.dtype.kind in "mM":
            raise ValueError("X: dates and durations are no features: give numbers")
        if values.ndim == 2 and values.dtype.kind not in "biuf":
            values = values.astype(np.float64)
        return as_rows(values, kind, "X"), kind

    def _spec(self, info: DatasetInfo) -> RunSpec:
        """The run that the parameters ask for."""
        named = {"epochs": self.epochs, "network": self.network}
        given = {key: value for key, value in named.items() if value is not None}
        train = self.train or {}
        if isinstance(train, Mapping):  # what is none is refused below
            train = {**train, **given}
        options = {"train": train, "views": self.views or {}, "hparams": self.hparams or {}}
        try:
            setting = Setting.parse(plain_values(options))
        except ValidationError as error:
            raise ValueError(one_line(error, "PartialLabelClassifier", Setting)) from error
        spec = single_run(self.method, info, setting)
        return spec.model_copy(update={"seed": _seed(self.random_state)})


def _seed(random_state: Any) -> int:
    """A number as it is, else one that is drawn."""
    if not isinstance(random_state, int | np.integer):
        return int(check_random_state(random_state).randint(LARGEST_SEED))
    if random_state < 0:
        raise FieldError("random_state", "must not be negative", random_state)
    return int(random_state)
