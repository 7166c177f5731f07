"""Command-line flags that select runs, and what they mean."""

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from pydantic import JsonValue

from pllbench.cli.console import warn_uncounted
from pllbench.cli.parsing import (
    annotation_setting,
    candidate_setting,
    imbalance_ratio,
    key_value,
    names,
    noise_rate,
    paths,
    pruning_setting,
    require_valid,
    seeds,
)
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, When
from pllbench.spec import TrainSpec, ViewSpec
from pllbench.validation import FieldError

if TYPE_CHECKING:
    from pllbench.reports.results import Results
    from pllbench.results.status import Status

ResultsDir = Annotated[Path, typer.Option("--results", help="Folder of records.", metavar="DIR")]
ResultsDirs = Annotated[
    list[Path],
    typer.Option("--results", help="Folder of records; several are read together.", metavar="DIR"),
]
DataDir = Annotated[
    Path, typer.Option("--data-dir", help="Folder of the data sets.", envvar="PLLBENCH_DATA")
]
Device = Annotated[
    str, typer.Option("--device", help="auto, cpu, cuda, or one of several GPUs as cuda:1.")
]
Output = Annotated[Path | None, typer.Option("--output", help="File to write.", metavar="FILE")]
Keep = Annotated[
    str | None,
    typer.Option(
        "--keep",
        help="Store beside each record: predictions (test rows, per-class accuracy), model.",
        metavar="KINDS",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_PANEL = "Selection"


def _option(*names: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=_PANEL)


@dataclass(frozen=True, slots=True)
class SelectionFlags:
    """The flags shared by run, status, table and plot, as typed; repeated ones add up."""

    benchmark: Annotated[
        str | None, _option("--benchmark", text="A benchmark's name, or a TOML file.")
    ] = None
    methods: Annotated[
        list[str] | None, _option("--methods", text="Methods and variants: a,b", metavar="NAMES")
    ] = None
    datasets: Annotated[
        list[str] | None,
        _option("--datasets", text="Data sets, or paths of your own.", metavar="NAMES"),
    ] = None
    candidates: Annotated[
        str | None,
        _option("--candidates", text="PROCESS, or PROCESS:key=value,...", metavar="PROCESS"),
    ] = None
    q: Annotated[list[str] | None, _option("--q", text="Noise rates: 0.1,0.3", metavar="RATES")] = (
        None
    )
    imbalance: Annotated[
        list[str] | None,
        _option("--imbalance", text="Long-tailed training rows: 50,100", metavar="RATIOS"),
    ] = None
    annotations: Annotated[
        str | None,
        _option(
            "--annotations",
            text="Sets of annotators' labels: union, votes=2, top=3, draws=3",
            metavar="RULE",
        ),
    ] = None
    prune: Annotated[
        str | None,
        _option(
            "--prune",
            text="Remove candidates that neighbours lack: tau=0.6,k=150[,features=FILE]",
            metavar="KEY=VALUE,...",
        ),
    ] = None
    seeds: Annotated[
        list[str] | None,
        _option(
            "--seeds",
            text="A number of seeds (3), or seeds: 0,1,2 or 7, - run takes 3 where none are given, "
            "the other commands all that are there.",
            metavar="SEEDS",
        ),
    ] = None
    epochs: Annotated[int | None, _option("--epochs", text="Length of a run.")] = None
    network: Annotated[str | None, _option("--network", text="Network of all methods.")] = None
    folds: Annotated[
        int | None,
        _option("--folds", text="Cross-validate: seed s tests on fold s of so many."),
    ] = None
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
            datasets=paths(self.datasets),
            q=tuple(noise_rate(text) for text in names(self.q, "--q")),
            imbalance=tuple(imbalance_ratio(text) for text in names(self.imbalance, "--imbalance")),
            seeds=tuple(dict.fromkeys(seed for text in self.seeds or () for seed in seeds(text))),
            flags=tuple(self._settings()),
        )

    def planned(self) -> list[PlannedRun]:
        """The runs that they ask for.

        Raises:
            ValueError: a flag, or something in the benchmark's file, is wrong; it is named.
        """
        with self.named():
            return plan(self.selection())

    def load(self, folders: Sequence[Path], *, planned: bool = False) -> "Results":
        """The finished runs of what they select, of the whole folders without flags.

        Files that are no readable records are named on standard error.

        Args:
            folders: results folders.
            planned: the flags were those of `run`, which takes defaults for what they leave out.

        Raises:
            ValueError: the selection is wrong, or there is no such folder.
        """
        from pllbench import api

        with self.named():
            if planned:
                loaded = api.load(*folders).of_plan(self.selection())
            else:
                loaded = api.load(*folders, selection=self.selection() if self.given else None)
        warn_uncounted(loaded.uncounted)
        return loaded

    def status(self, folders: Sequence[Path]) -> "Status":
        """The state of the runs that they select, of all that have left a trace without flags.

        Raises:
            ValueError: the selection is wrong, or there is no such folder.
        """
        from pllbench import api

        with self.named():
            return api.status(*folders, selection=self.selection() if self.given else None)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Say which benchmark an error is in, where it is in no flag."""
        try:
            yield
        except FieldError:
            raise
        except ValueError as error:
            if self.benchmark is None or str(error).startswith("--"):
                raise
            reason = str(error).removeprefix(f"{Path(self.benchmark)}: ")  # a file's errors name it
            raise ValueError(f"--benchmark {self.benchmark}: {reason}") from error

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
        if self.annotations is not None:
            found.append(annotation_setting(self.annotations))
        if self.prune is not None:
            found.append(pruning_setting(self.prune))
        if self.folds is not None:
            reason = f"--folds {self.folds}"
            require_valid({"folds": self.folds}, Setting, reason)
            found.append(Setting(reason=reason, folds=self.folds))
        if self.holdout is not None:
            reason = f"--holdout {self.holdout:g}"
            require_valid({"holdout": self.holdout}, Setting, reason)
            found.append(Setting(reason=reason, holdout=self.holdout))
        return found


def with_selection(
    command: Callable[..., None], *, without: Collection[str] = ()
) -> Callable[..., None]:
    """Give a command whose first parameter is `SelectionFlags` one option for each of its fields.

    Those in `without` get none, and stay as they are. Typer reads options from a signature; this
    writes them there once instead of in every command.
    """
    hints = get_type_hints(SelectionFlags, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hint
        )
        for field, hint in zip(fields(SelectionFlags), hints.values(), strict=True)
        if field.name not in without
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
