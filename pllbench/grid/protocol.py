"""The settings that apply to runs: the default protocol, variants, and benchmark files.

Settings apply in layers, later wins: declared default < protocol < variant < benchmark file < flag.
A setting says `when` it applies (base method or variant, data set, kind, q); within a layer the
order of the file decides. A variant is data: a base method, a label, and overrides of its own; it
inherits what the protocol says of its base.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
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

from pllbench.data.catalogue import DATASETS, Kind
from pllbench.registry import did_you_mean
from pllbench.spec import (
    CandidateSpec,
    Rate,
    TrainSpec,
    ViewSpec,
    one_line,
    require_keys,
)
from pllbench.validation import Options, Values

DEFAULT_SEEDS = (0, 1, 2)

DEFAULT_RATES = (0.1, 0.3, 0.5, 0.7)
"""Noise rates of the user's own data."""


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _in_catalogue(name: str) -> str:
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}: {did_you_mean(name, DATASETS)}")
    return name


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
DatasetName = Annotated[str, AfterValidator(_in_catalogue)]
Datasets = Annotated[tuple[DatasetName, ...], BeforeValidator(_as_tuple)]
Kinds = Annotated[tuple[Kind, ...], BeforeValidator(_as_tuple)]
Rates = Annotated[tuple[Rate, ...], BeforeValidator(_as_tuple)]


@dataclass(frozen=True, slots=True)
class Cell:
    """Runs that differ in the seed alone.

    Attributes:
        name: what --methods takes: a method or a variant.
        base: the registered method behind it.
        dataset: name of the data set.
        q: noise rate; None for real candidate sets and for methods that learn from true labels.
        own_kind: kind of the user's own data; None where the catalogue has it.
    """

    name: str
    base: str
    dataset: str
    q: float | None
    own_kind: Kind | None = None

    @property
    def kind(self) -> Kind:
        """Kind of its data set."""
        return self.own_kind or DATASETS[self.dataset].kind


class Overrides(Values):
    """Values that replace earlier ones, by the owner of the option; and why."""

    reason: str = ""
    train: Options = {}
    views: Options = {}
    candidates: Options = {}
    hparams: Options = {}
    holdout: float | None = None
    data_seed: int | None = None

    @model_validator(mode="after")
    def _known_options(self) -> Self:
        """The keys of hparams are the method's: they are checked where it is resolved."""
        require_keys(self.train, TrainSpec, "train")
        require_keys(self.views, ViewSpec, "views")
        require_keys(self.candidates, CandidateSpec, "candidates")
        return self


class When(Values):
    """Condition of a setting; an empty part always holds."""

    method: Names = ()
    dataset: Datasets = ()
    kind: Kinds = ()
    q: Rates = ()

    def matches(self, cell: Cell) -> bool:
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
    label: str
    """Printed in tables."""
    setting: tuple[Setting, ...] = ()
    """Further overrides that depend on data set and q."""

    def layers(self) -> tuple[Setting, ...]:
        """Its own overrides as settings, in order of application."""
        fields = {name: getattr(self, name) for name in Overrides.model_fields}
        return (Setting(**fields), *self.setting)


class Protocol(Values):
    """The default settings, built-in variants and labels."""

    title: str
    q: dict[DatasetName, Rates]
    """Noise rates by data set."""
    labels: dict[str, str]
    """How methods are printed."""
    setting: tuple[Setting, ...] = ()
    variants: dict[str, Variant] = {}

    def settings_of(self, cell: Cell) -> list[Setting]:
        """The settings that apply to a cell, in order of application: its own, the variant's."""
        variant = self.variants.get(cell.name)
        layers = (*self.setting, *(variant.layers() if variant else ()))
        return [setting for setting in layers if setting.when.matches(cell)]


class Grid(Values):
    """A product of methods, data sets, q and seeds, with settings of its own."""

    methods: Names = ()
    """Methods and variants."""
    datasets: Datasets = ()
    q: Rates = ()
    """Noise rates; those of the protocol where empty."""
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = DEFAULT_SEEDS
    protocol: str = ""
    """Another benchmark, whose settings apply here before this grid's own."""
    setting: tuple[Setting, ...] = ()


class Benchmark(Values):
    """A benchmark file: grids, variants, and settings that hold in all its grids."""

    title: str = ""
    source: str = ""
    """Where the published numbers stand."""
    note: str = ""
    """Printed under every table of it."""
    improvement: str = ""
    """Method whose lead over the best of the others is a table's last row; none where empty."""
    grey: Names = ()
    """Methods whose rows are printed on grey."""
    grid: tuple[Grid, ...]
    setting: tuple[Setting, ...] = ()
    variants: dict[str, Variant] = {}

    @model_validator(mode="after")
    def _layout_names_methods(self) -> Self:
        methods = {name for grid in self.grid for name in grid.methods}
        for key, names in (("improvement", (self.improvement,)), ("grey", self.grey)):
            for name in filter(None, names):
                if name not in methods:
                    raise ValueError(f"{key} {name!r}: in no grid, {did_you_mean(name, methods)}")
        return self


def merge(settings: Iterable[Overrides]) -> Overrides:
    """One set of overrides in which later settings win, key by key."""
    train: dict[str, JsonValue] = {}
    views: dict[str, JsonValue] = {}
    candidates: dict[str, JsonValue] = {}
    hparams: dict[str, JsonValue] = {}
    holdout, data_seed = None, None
    for setting in settings:
        train |= setting.train
        views |= setting.views
        candidates |= setting.candidates
        hparams |= setting.hparams
        holdout = setting.holdout if setting.holdout is not None else holdout
        data_seed = setting.data_seed if setting.data_seed is not None else data_seed
    return Overrides.model_construct(  # its parts have been validated, and cells are many
        train=train,
        views=views,
        candidates=candidates,
        hparams=hparams,
        holdout=holdout,
        data_seed=data_seed,
    )


Model = TypeVar("Model", bound=Values)


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


def default_protocol() -> Protocol:
    """The protocol shipped with the suite."""
    path = files("pllbench.grid") / "protocol.toml"
    return read_toml(Path("protocol.toml"), path.read_text("utf-8"), Protocol)


def shipped(name: str, checkout: str) -> Path:
    """Folder of data files: `name` in the installed package, else `checkout` in the repository."""
    package = Path(__file__).parent.parent
    installed = package / "_data" / name
    return installed if installed.is_dir() else package.parent / checkout


def benchmark_folder() -> Path:
    """Folder of the benchmark files."""
    return shipped("benchmarks", "benchmarks")


def benchmark_names() -> list[str]:
    """Names that --benchmark takes besides a file."""
    return sorted(path.stem for path in benchmark_folder().glob("*.toml"))


def load_benchmark(name: str) -> Benchmark:
    """A benchmark by its name or by the path of its TOML file.

    Raises:
        ValueError: no such benchmark, or its file is wrong.
    """
    path = Path(name) if name.endswith(".toml") else benchmark_folder() / f"{name}.toml"
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if name.endswith(".toml"):
            raise ValueError(f"{path}: not readable ({error})") from error
        hint = did_you_mean(name, benchmark_names())
        raise ValueError(f"unknown benchmark {name!r}: {hint}") from None
    return read_toml(path, text, Benchmark)
