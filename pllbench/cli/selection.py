"""Command-line flags that select runs, and what they mean."""

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError

from pllbench.cli.console import warn_uncounted
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, When
from pllbench.spec import CandidateSpec, TrainSpec, ViewSpec, round_rate, takes_rate
from pllbench.validation import FieldError, StrictModel, one_line

if TYPE_CHECKING:
    from pllbench.api import Results

ResultsDir = Annotated[Path, typer.Option("--results", help="Folder of records.", metavar="DIR")]
DataDir = Annotated[
    Path, typer.Option("--data-dir", help="Folder of the data sets.", envvar="PLLBENCH_DATA")
]
Output = Annotated[Path | None, typer.Option("--output", help="File to write.", metavar="FILE")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_PANEL = "Selection"
_VALUE: TypeAdapter[JsonValue] = TypeAdapter(JsonValue, config=ConfigDict(allow_inf_nan=False))


def _option(*names: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=_PANEL)


@dataclass(frozen=True, slots=True)
class SelectionFlags:
    """The flags shared by run, status, table and plot, as typed."""

    benchmark: Annotated[
        str | None, _option("--benchmark", text="A benchmark's name, or a TOML file.")
    ] = None
    methods: Annotated[
        str | None, _option("--methods", text="Methods and variants: a,b", metavar="NAMES")
    ] = None
    datasets: Annotated[
        str | None, _option("--datasets", text="Data sets, or paths of your own.", metavar="NAMES")
    ] = None
    candidates: Annotated[
        str | None,
        _option("--candidates", text="PROCESS, or PROCESS:key=value,...", metavar="PROCESS"),
    ] = None
    q: Annotated[str | None, _option("--q", text="Noise rates: 0.1,0.3", metavar="RATES")] = None
    seeds: Annotated[
        str | None,
        _option("--seeds", text="A number of seeds (3), or seeds: 0,1,2 or 7,", metavar="SEEDS"),
    ] = None
    epochs: Annotated[int | None, _option("--epochs", text="Length of a run.")] = None
    network: Annotated[str | None, _option("--network", text="Network of all methods.")] = None
    holdout: Annotated[
        float | None,
        _option("--holdout", text="Share of training rows kept aside, candidate sets only."),
    ] = None
    set_: Annotated[
        list[str] | None,
        _option("--set", text="A hyperparameter; may be repeated.", metavar="METHOD.KEY=VALUE"),
    ] = None
    train: Annotated[
        list[str] | None,
        _option("--train", text="A train setting; may be repeated.", metavar="KEY=VALUE"),
    ] = None
    view: Annotated[
        list[str] | None,
        _option("--view", text="A view setting; may be repeated.", metavar="KEY=VALUE"),
    ] = None

    @property
    def given(self) -> bool:
        """Whether any of them was typed."""
        return any(getattr(self, field.name) is not None for field in fields(self))

    def selection(self) -> Selection:
        """What they ask for.

        Raises:
            ValueError: a flag's value is wrong; the flag is named.
        """
        return Selection(
            benchmark=None if self.benchmark is None else load_benchmark(self.benchmark),
            methods=names(self.methods, "--methods"),
            datasets=names(self.datasets, "--datasets"),
            q=tuple(noise_rate(text) for text in names(self.q, "--q")),
            seeds=() if self.seeds is None else seeds(self.seeds),
            flags=tuple(self._settings()),
        )

    def planned(self) -> list[PlannedRun]:
        """The runs that they ask for.

        Raises:
            ValueError: a flag, or something in the benchmark's file, is wrong; it is named.
        """
        with self._named():
            return plan(self.selection())

    def load(self, folder: Path) -> "Results":
        """The finished runs of what they select, of the whole folder without flags.

        Files that are no readable records are named on standard error.

        Raises:
            ValueError: the selection is wrong, or there is no such folder.
        """
        from pllbench import api

        with self._named():
            loaded = api.load(folder, self.selection() if self.given else None)
        warn_uncounted(file.reason for file in loaded.unreadable)
        return loaded

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Say which benchmark an error is in, where it is in no flag."""
        try:
            yield
        except FieldError:
            raise
        except ValueError as error:
            if self.benchmark is None or str(error).startswith("--"):
                raise
            raise ValueError(f"--benchmark {self.benchmark}: {error}") from error

    def _settings(self) -> list[Setting]:
        found: list[Setting] = []
        named: dict[str, JsonValue] = {"epochs": self.epochs, "network": self.network}
        train = [(f"--{key} {value}", key, value) for key, value in named.items()]
        train += [(f"--train {text}", *key_value(text, "--train")) for text in self.train or []]
        for reason, key, value in train:
            if value is not None:
                require_valid({key: value}, TrainSpec, reason)
                found.append(Setting(reason=reason, train={key: value}))
        for text in self.view or []:
            key, value = key_value(text, "--view")
            require_valid({key: value}, ViewSpec, f"--view {text}")
            found.append(Setting(reason=f"--view {text}", views={key: value}))
        for text in self.set_ or []:
            target, value = key_value(text, "--set")
            method, _, key = target.partition(".")
            if not (method and key):
                raise ValueError(f"--set {text}: must be METHOD.KEY=VALUE")
            when = When(method=(method,))
            found.append(Setting(reason=f"--set {text}", when=when, hparams={key: value}))
        if self.candidates is not None:
            found.append(candidate_setting(self.candidates))
        if self.holdout is not None:
            reason = f"--holdout {self.holdout:g}"
            require_valid({"holdout": self.holdout}, Setting, reason)
            found.append(Setting(reason=reason, holdout=self.holdout))
        return found


def with_selection(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command whose first parameter is `SelectionFlags` one option for each of its fields.

    Typer reads options from a signature; this writes them there once instead of in every command.
    """
    hints = get_type_hints(SelectionFlags, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hint
        )
        for field, hint in zip(fields(SelectionFlags), hints.values(), strict=True)
    ]
    own_hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own_hints[name])
        for name, parameter in list(inspect.signature(command).parameters.items())[1:]
    ]

    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        flags = SelectionFlags(**{p.name: arguments.pop(p.name) for p in shared})
        command(flags, **arguments)

    del wrapper.__wrapped__  # or typer would read the command's own signature
    signature = inspect.Signature([*shared, *own])
    vars(wrapper)["__signature__"] = signature
    wrapper.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return wrapper


def require_valid(values: Mapping[str, object], model: type[StrictModel], flag: str) -> None:
    """Raise ValueError, naming the flag, if `values` are no fields of `model` or do not fit them.

    The resolved run is validated again; here the flag is known.
    """
    try:
        model.parse(values)
    except ValidationError as error:
        raise ValueError(one_line(error, flag, model)) from error


def names(text: str | None, flag: str) -> tuple[str, ...]:
    """A comma-separated list; repeated entries count once, None is no entry.

    Raises:
        ValueError: an entry is empty.
    """
    parts = [] if text is None else [part.strip() for part in text.split(",")]
    if "" in parts:
        raise ValueError(f"{flag} {text}: an entry is empty")
    return tuple(dict.fromkeys(parts))


def noise_rate(text: str) -> float:
    """A noise rate.

    Raises:
        ValueError: not a number in [0, 1].
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value <= 1:
        raise ValueError(f"--q {text}: must be a number from 0 to 1")
    return round_rate(value)


def seeds(text: str) -> tuple[int, ...]:
    """`3` is the seeds 0, 1, 2; `0,1,2` and `7,` are themselves.

    Raises:
        ValueError: not whole numbers from 0, or none.
    """
    parts = [part.strip() for part in text.removesuffix(",").split(",")]
    if not all(re.fullmatch(r"[0-9]{1,100}", part) for part in parts):
        raise ValueError(f"--seeds {text}: must be a number of seeds (3), or seeds (0,1,2 or 7,)")
    numbers = [int(part) for part in parts]
    if "," in text:
        return tuple(dict.fromkeys(numbers))
    if not 1 <= numbers[0] <= 10_000:
        raise ValueError(f"--seeds {text}: a number of seeds is from 1 to 10000; seed 7 is '7,'")
    return tuple(range(numbers[0]))


def key_value(text: str, flag: str) -> tuple[str, JsonValue]:
    """KEY=VALUE; a value is read as TOML (numbers, true, lists), else as text.

    Raises:
        ValueError: there is no key or no value, or the value is a date, NaN or infinite.
    """
    key, equals, value = text.partition("=")
    if not (key.strip() and equals and value.strip()):
        raise ValueError(f"{flag} {text}: must be KEY=VALUE")
    try:
        return key.strip(), _VALUE.validate_python(_as_toml(value))
    except ValidationError as error:
        raise ValueError(f"{flag} {text}: must be a finite number, true, false or text") from error


def _as_toml(value: str) -> object:
    """What a TOML file would hold as this value; the text itself where it is not one value."""
    try:
        found = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):  # also of thousands of digits or brackets
        found = {}
    return found["value"] if found.keys() == {"value"} else value.strip()


def candidate_setting(text: str) -> Setting:
    """PROCESS or PROCESS:key=value,... as a setting.

    Raises:
        ValueError: an unknown process, key or value; or process or q among the keys.
    """
    process, colon, options = text.partition(":")
    listed = names(options if colon else None, "--candidates")
    values = dict(key_value(part, "--candidates") for part in listed)
    for key, place in (("process", "before the colon"), ("q", "in --q")):
        if key in values:
            raise ValueError(f"--candidates {text}: {key} does not belong there but {place}")
    values["process"] = process
    rate: dict[str, JsonValue] = {"q": 0.5} if takes_rate(values) else {}
    require_valid(values | rate, CandidateSpec, f"--candidates {text}")
    return Setting(reason=f"--candidates {text}", candidates=values)
