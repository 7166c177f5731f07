"""The settings that apply to runs: the default protocol and its variants.

Settings apply in layers, later wins: declared default < protocol < variant < benchmark file < flag.
A setting says `when` it applies (base method or variant, data set, kind, q); within a layer the
order of the file decides. A variant is data: a base method, a label, and overrides of its own; it
inherits what the protocol says of its base.
"""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from pllbench.budget import TuningSpec
from pllbench.data.catalogue import dataset_info
from pllbench.registry import unknown_method
from pllbench.spec import (
    AnnotationRule,
    CandidateSpec,
    Imbalance,
    Kind,
    PruningSpec,
    Rate,
    RunSpec,
    TrainSpec,
    ViewSpec,
    unread_settings,
)
from pllbench.validation import JsonOptions, StrictModel, one_line, require_keys

DEFAULT_RATES = (0.1, 0.3, 0.5, 0.7)
"""Noise rates of custom data sets."""


def as_tuple(value: object) -> object:
    """A list as a tuple, and one value as a tuple of it."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _in_catalogue(name: str) -> str:
    return dataset_info(name).name


def _printable(label: str) -> str:
    if not label.strip() or not label.isprintable():
        raise ValueError(f"label {label!r} must be visible text of one line")
    return label


Label = Annotated[str, AfterValidator(_printable)]
Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
DatasetName = Annotated[str, AfterValidator(_in_catalogue)]
Kinds = Annotated[tuple[Kind, ...], BeforeValidator(as_tuple)]
Rates = Annotated[tuple[Rate, ...], BeforeValidator(as_tuple)]
Imbalances = Annotated[tuple[Imbalance, ...], BeforeValidator(as_tuple)]


@dataclass(frozen=True, slots=True)
class GridCell:
    """Runs of a grid that differ in the seed alone.

    Attributes:
        name: what --methods takes: a method or a variant.
        base: the registered method behind it.
        dataset: name of the data set.
        kind: kind of the data set.
        q: noise rate; None for real candidate sets and for methods that learn from true labels.
        imbalance: of the training rows; 1 where they are as the data set has them.
    """

    name: str
    base: str
    dataset: str
    kind: Kind
    q: float | None
    imbalance: float = 1.0


class Overrides(StrictModel):
    """Values that replace earlier ones, by the owner of the option; and why."""

    reason: str = ""
    train: JsonOptions = {}
    views: JsonOptions = {}
    candidates: JsonOptions = {}
    hparams: JsonOptions = {}
    annotations: AnnotationRule | None = None
    pruning: JsonOptions = {}
    """Those of `PruningSpec`, but with the file of features by its path."""
    folds: int | None = Field(default=None, ge=2)
    holdout: float | None = None
    data_seed: int | None = None
    tuning: TuningSpec | None = None
    """How its hyperparameters and train settings were found."""

    @model_validator(mode="after")
    def _known_options(self) -> Self:
        """The keys of hparams are the method's: they are checked where it is resolved."""
        require_keys(self.train, TrainSpec, "train")
        require_keys(self.views, ViewSpec, "views")
        require_keys(self.candidates, CandidateSpec, "candidates")
        require_keys(self.pruning, PruningSpec, "pruning")
        return self


class When(StrictModel):
    """Condition of a setting; an empty part always holds."""

    method: Names = ()
    dataset: Names = ()
    """By name; a plan refuses one that is neither in the catalogue nor selected."""
    kind: Kinds = ()
    q: Rates = ()

    def matches(self, cell: GridCell) -> bool:
        """Whether the setting applies to the runs of `cell`."""
        return (
            (not self.method or cell.base in self.method or cell.name in self.method)
            and (not self.dataset or cell.dataset in self.dataset)
            and (not self.kind or cell.kind in self.kind)
            and (not self.q or cell.q in self.q)
        )


class Setting(Overrides):
    """Overrides that apply under a condition."""

    when: When = When()


class Variant(Overrides):
    """A method with other settings and a row of its own; data, not a class."""

    base: str
    """Registered name of the method it varies."""
    label: Label
    """Printed in tables."""
    setting: tuple[Setting, ...] = ()
    """Further overrides that depend on data set and q."""

    def layers(self) -> tuple[Setting, ...]:
        """Its own overrides as settings, in order of application."""
        fields = {name: getattr(self, name) for name in Overrides.model_fields}
        return (Setting(**fields), *self.setting)


class Caution(StrictModel):
    """Settings that run together, but not as their method means them."""

    when: When
    network: Names
    """Networks that it is about."""
    hparams: JsonOptions
    """Values of hyperparameters that do not suit them."""
    text: str
    """What a user is told, in one line."""

    def fits(self, cell: GridCell, spec: RunSpec) -> bool:
        """Whether the runs of `cell`, resolved to `spec`, are such."""
        return (
            self.when.matches(cell)
            and spec.train.network in self.network
            and all(spec.hparams.get(key) == value for key, value in self.hparams.items())
        )


class Protocol(StrictModel):
    """The default settings, built-in variants and labels."""

    q: dict[DatasetName, Rates]
    """Noise rates by data set."""
    labels: dict[str, str]
    """How methods are printed."""
    other_names: dict[str, Names] = {}
    """What else papers and codes call a method."""
    setting: tuple[Setting, ...] = ()
    variants: dict[str, Variant] = {}
    caution: tuple[Caution, ...] = ()

    def applicable_settings(
        self, cell: GridCell, overlay: Sequence[Setting] = (), further: Sequence[Setting] = ()
    ) -> list[Setting]:
        """The settings that apply to a cell, in order of application.

        Args:
            cell: the runs.
            overlay: another benchmark's settings, between the protocol's own and the variant's.
            further: settings of a benchmark's file and flags, after the variant's.
        """
        variant = self.variants.get(cell.name)
        layers = (*self.setting, *overlay, *(variant.layers() if variant else ()), *further)
        return [setting for setting in layers if setting.when.matches(cell)]


def unknown_row(name: str, protocol: Protocol, known: Iterable[str]) -> str:
    """What is wrong with a name that is no `known` method or variant, with its nearest match.

    Methods and variants are also found by what else they are called.
    """
    called = {label.lower(): method for method, label in protocol.labels.items()} | {
        other.lower(): method for method, others in protocol.other_names.items() for other in others
    }
    if method := called.get(name.lower()):
        return f"unknown method {name!r}: did you mean {method}?"
    return unknown_method(name, known)


def merge(settings: Iterable[Overrides], kind: Kind) -> Overrides:
    """One set of overrides in which later settings win, key by key.

    Settings that no run reads on data of this `kind` are left out, so that they are in no identity.
    Settings that a search has found are no longer its finding once a later one changes them.
    """
    train: dict[str, JsonValue] = {}
    views: dict[str, JsonValue] = {}
    candidates: dict[str, JsonValue] = {}
    hparams: dict[str, JsonValue] = {}
    pruning: dict[str, JsonValue] = {}
    annotations, folds, holdout, data_seed, tuning = None, None, None, None, None
    for setting in settings:
        train |= setting.train
        views |= setting.views
        candidates |= setting.candidates
        hparams |= setting.hparams
        pruning |= setting.pruning
        annotations = setting.annotations or annotations
        folds = setting.folds or folds
        holdout = setting.holdout if setting.holdout is not None else holdout
        data_seed = setting.data_seed if setting.data_seed is not None else data_seed
        tuning = setting.tuning or (None if _overrides(setting, tuning) else tuning)
    unread = unread_settings(kind, train, views)
    return Overrides.model_construct(  # its parts have been validated, and cells are many
        train={key: value for key, value in train.items() if key not in unread},
        views={key: value for key, value in views.items() if key not in unread},
        candidates=candidates,
        hparams=hparams,
        annotations=annotations,
        pruning=pruning,
        folds=folds,
        holdout=holdout,
        data_seed=data_seed,
        tuning=tuning,
    )


def _overrides(setting: Overrides, tuning: TuningSpec | None) -> bool:
    """Whether a setting changes what a search has found."""
    if tuning is None:
        return False
    return bool({*setting.train} & {*tuning.train} or {*setting.hparams} & {*tuning.hparams})


Model = TypeVar("Model", bound=StrictModel)


def read_toml(path: Path, text: str, model: type[Model]) -> Model:
    """The model in the TOML `text` of file `path`.

    Raises:
        ValueError: one line that names the file and the line or key, with the nearest match.
    """
    try:
        return model.parse(tomllib.loads(text))
    except ValidationError as error:
        raise ValueError(one_line(error, str(path), model)) from error
    except (ValueError, RecursionError) as error:  # also of thousands of brackets or dotted keys
        raise ValueError(f"{path}: {error}") from error


@cache
def default_protocol() -> Protocol:
    """The protocol shipped with the suite; read once, since every annotator's run asks for it."""
    path = files("pllbench.grid") / "protocol.toml"
    return read_toml(Path("protocol.toml"), path.read_text("utf-8"), Protocol)
