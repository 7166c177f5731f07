"""Spaces: where settings are searched, as data with sources.

A method's own space is a file `<method>.toml`, with ranges of its hyperparameters. One shared
space, `shared.toml`, holds what is not the method's: train settings, whose ranges, defaults and
draws are the same for all methods.
"""

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from pllbench.grid.benchmark import benchmark_folder
from pllbench.grid.protocol import Kinds, read_toml
from pllbench.registry import load_method
from pllbench.spec import Kind, TrainSpec
from pllbench.validation import FieldError, StrictModel, one_line, require_keys

SHARED = "shared"
"""Name of the space of what is not the method's."""

Scalar = bool | int | float | str


class Range(StrictModel):
    """Where one setting is searched: from `low` to `high`, or one of `values`."""

    low: int | float | None = None
    high: int | float | None = None
    log: bool = False
    """Whether orders of magnitude are equally likely, rather than numbers."""
    values: tuple[Scalar, ...] = ()
    default: Scalar | None = None
    """Of a shared setting: its value in trial 0."""
    kinds: Kinds = ()
    """Of a shared setting: the kinds of data on which it is searched; all where empty."""
    source: Annotated[str, Field(min_length=1)]
    """Who searched there, or why we do."""

    @model_validator(mode="after")
    def _is_one_range(self) -> Self:
        if (self.low is None) != (self.high is None) or (self.low is None) == (not self.values):
            raise ValueError("needs low and high, or values")
        if self.low is not None and self.high is not None:
            if self.low >= self.high:
                raise ValueError(f"low {self.low:g} is not below high {self.high:g}")
            if self.log and self.low <= 0:
                raise ValueError("log needs a low above 0")
        if self.default is not None and not self.holds(self.default):
            raise ValueError(f"default {self.default!r} is outside of it")
        return self

    @property
    def ends(self) -> tuple[Scalar, ...]:
        """Values that the setting must be able to have: the two ends, or all."""
        if self.low is None or self.high is None:
            return self.values
        return (self.low, self.high)

    def holds(self, value: JsonValue) -> bool:
        """Whether a value lies in it."""
        if self.low is None or self.high is None:
            return value in self.values
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self.low <= value <= self.high


class Space(StrictModel):
    """Ranges by setting."""

    hparams: dict[str, Range] = {}
    """Of a method's hyperparameters; its own space has these alone."""
    train: dict[str, Range] = {}
    """Of train settings; the shared space has these alone."""

    @cached_property
    def digest(self) -> str:
        """First 8 hex digits of the SHA-256 of what is searched; sources are not part of it."""
        fields = self.model_dump(mode="json", exclude_defaults=True)
        for ranges in fields.values():
            for found in ranges.values():
                del found["source"]
        text = json.dumps(fields, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def without(self, hparams: frozenset[str], train: frozenset[str]) -> "Space":
        """The space without settings that are fixed."""
        return Space(
            hparams={key: found for key, found in self.hparams.items() if key not in hparams},
            train={key: found for key, found in self.train.items() if key not in train},
        )

    def train_ranges(self, kind: Kind) -> Mapping[str, Range]:
        """Its train settings that are searched on data of a kind."""
        return {
            key: found
            for key, found in self.train.items()
            if not found.kinds or kind in found.kinds
        }


def shared_space(folder: Path | None = None) -> Space:
    """The shared space of a folder, else of the suite.

    Raises:
        FieldError: there is no such folder.
        ValueError: the space is wrong.
    """
    if folder and not folder.is_dir():
        raise FieldError("spaces", "no such folder", folder)
    places = [place / f"{SHARED}.toml" for place in (folder, spaces_folder()) if place]
    path = next((place for place in places if place.is_file()), places[-1])
    space = _read(path)
    if space.hparams:
        raise ValueError(f"{path}: hparams: they belong into the space of a method")
    for key, found in space.train.items():
        if found.default is None:
            raise ValueError(f"{path}: train.{key}: needs a default, for trial 0")
    require_keys(space.train, TrainSpec, f"{path}: train")
    for key, value in _ends(space.train):
        _require(TrainSpec, {key: value}, f"{path}: train")
    return space


def own_space(method: str, folder: Path | None = None) -> Space:
    """The space of a method: that of a folder, of the suite, or of the plug-in that has the method.

    A plug-in ships it as `spaces/<method>.toml` beside the module of the method's class.

    Raises:
        FieldError: it has none.
        ValueError: it is wrong.
    """
    cls = load_method(method)
    places = [place for place in (folder, spaces_folder(), _beside(cls)) if place]
    paths = [place / f"{method}.toml" for place in places]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        reason = f"no space; write {paths[-1]}, an empty file tunes the shared settings alone"
        raise FieldError("methods", reason, method)
    space = _read(path)
    if space.train:
        raise ValueError(f"{path}: train: these settings belong into the shared space")
    require_keys(space.hparams, cls.hparams_type, f"{path}: hparams")
    for key, found in space.hparams.items():
        if found.default is not None or found.kinds:
            raise ValueError(f"{path}: hparams.{key}: default and kinds are the shared space's")
    for key, value in _ends(space.hparams):
        _require(cls.hparams_type, {key: value}, f"{path}: hparams")
    return space


def _beside(cls: type) -> Path | None:
    """Folder of spaces beside the module of a class; None where that is no file."""
    try:
        return Path(inspect.getfile(cls)).parent / "spaces"
    except (TypeError, OSError):  # of a notebook
        return None


def spaces_folder() -> Path:
    """Folder of the spaces of the suite."""
    return benchmark_folder() / "spaces"


def _read(path: Path) -> Space:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FieldError("spaces", f"not readable ({error})", path) from error
    return read_toml(path, text, Space)


def _ends(ranges: Mapping[str, Range]) -> Iterator[tuple[str, Scalar]]:
    yield from ((key, value) for key, found in ranges.items() for value in found.ends)


def _require(model: type[StrictModel], fields: Mapping[str, Scalar], where: str) -> None:
    try:
        model.parse(fields)
    except ValidationError as error:
        raise ValueError(one_line(error, where, model)) from error
