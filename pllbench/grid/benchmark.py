"""Benchmark files: grids of runs, with variants and settings of their own."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pllbench.budget import TuningRequest
from pllbench.data.catalogue import dataset_info
from pllbench.data.custom import is_path
from pllbench.grid.protocol import Imbalances, Names, Rates, Setting, Variant, as_tuple, read_toml
from pllbench.validation import StrictModel, did_you_mean

DEFAULT_SEEDS = (0, 1, 2)


def _name_or_path(text: str) -> str:
    return text if is_path(text) else dataset_info(text).name


Datasets = Annotated[
    tuple[Annotated[str, AfterValidator(_name_or_path)], ...], BeforeValidator(as_tuple)
]


class Grid(StrictModel):
    """A product of methods, data sets, q, imbalance and seeds, with settings of its own."""

    name: str = ""
    """What a comparison with published numbers calls it, where a benchmark reads them in several
    ways; empty where there is one."""
    methods: Names = ()
    """Methods and variants."""
    datasets: Datasets = ()
    """Data sets, or paths of custom data, which in a file are relative to its folder."""
    q: Rates = ()
    """Noise rates; those of the protocol where empty."""
    imbalance: Imbalances = ()
    """Of the training rows, where candidate sets are generated; rows as they are where empty."""
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = DEFAULT_SEEDS
    protocol: str = ""
    """Another benchmark, whose settings apply here before this grid's own."""
    setting: tuple[Setting, ...] = ()


class Benchmark(StrictModel):
    """A benchmark file: grids, variants, and settings that hold in all its grids."""

    name: str = ""
    """Name by which the suite ships it; empty for a file of the user's."""
    title: str = ""
    source: str = ""
    """Where the published numbers stand."""
    note: str = ""
    """Printed under every table of it."""
    improvement: str = ""
    """Method whose lead over the best of the others is a table's last row; none where empty."""
    grey: Names = ()
    """Methods whose rows are printed on grey."""
    tuning: TuningRequest = TuningRequest()
    """What `pllbench tune` gives to each method of it."""
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
            reason = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"{path}: not readable ({reason})") from error
        hint = did_you_mean(name, benchmark_names())
        raise ValueError(f"unknown benchmark {name!r}: {hint}") from None
    benchmark = read_toml(path, text, Benchmark)
    if not name.endswith(".toml"):
        return benchmark.model_copy(update={"name": name})
    grids = tuple(_placed(grid, path) for grid in benchmark.grid)
    return benchmark.model_copy(update={"name": "", "grid": grids})


def _placed(grid: Grid, file: Path) -> Grid:
    """A grid of a user's file, its paths of custom data as seen from the current folder."""
    datasets = (f"{file.parent}/{d}" if _is_relative(d) else d for d in grid.datasets)
    return grid.model_copy(update={"datasets": tuple(datasets)})


def _is_relative(dataset: str) -> bool:
    return is_path(dataset) and not Path(dataset).is_absolute()
