"""What Python and the command line call: execute runs, load finished ones, show what they say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, known_variants, plan
from pllbench.grid.protocol import Protocol
from pllbench.reports import paired_tests, published, reproduction
from pllbench.reports.aggregate import build_table
from pllbench.reports.published import Published
from pllbench.reports.report import Report
from pllbench.reports.selection_rules import report_rules
from pllbench.reports.table import Table
from pllbench.results import records
from pllbench.results.curves import Curves, read_curves
from pllbench.results.model_selection import DEFAULT_RULE, RULES, Select
from pllbench.results.records import Record, Unreadable
from pllbench.validation import FieldError, did_you_mean

if TYPE_CHECKING:
    from pllbench.runner.engine import Engine
    from pllbench.runner.job import RunOptions
    from pllbench.runner.progress import Observer
    from pllbench.runner.run_grid import GridSummary

ENGINES = ("local", "ray")
DEVICES = ("auto", "cpu", "cuda")

REPRODUCTION: tuple[Select, ...] = ("last10", "last")
"""Rules under which the paper's numbers are compared: our headline, and what its digits fit."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where runs are executed, and how many at a time.

    Attributes:
        name: `local`, worker processes on this machine, or `ray`, a cluster.
        device: auto, cpu, cuda, or one of several GPUs as cuda:1.
        jobs: runs at a time; None: one a core, one on a GPU, what a cluster holds.
        timeout: seconds after which a run fails; None for no limit.
        address: of the Ray cluster; None: RAY_ADDRESS, else one is started here.
        gpus_per_run: share of a GPU, on Ray; None: a whole one where there are any.
    """

    name: str = "local"
    device: str = "auto"
    jobs: int | None = None
    timeout: float | None = None
    address: str | None = None
    gpus_per_run: float | None = None


def require_engine_options(options: EngineOptions) -> None:
    """Check the options of an engine without opening it.

    Raises:
        FieldError: an option is unknown, or belongs to another engine.
    """
    gpu = re.fullmatch(r"cuda:\d+", options.device)
    for name, value, known in (
        ("engine", options.name, ENGINES),
        ("device", "cuda" if gpu else options.device, DEVICES),
    ):
        if value not in known:
            raise FieldError(name, did_you_mean(value, known), value)
    if gpu and options.name == "ray":
        raise FieldError("device", "with engine ray, the cluster chooses the GPU", options.device)
    for name in ("address", "gpus_per_run"):
        if options.name != "ray" and getattr(options, name) is not None:
            raise FieldError(name, "only with engine ray")
    if options.timeout is not None and options.timeout <= 0:
        raise FieldError("timeout", "must be more than 0 seconds", f"{options.timeout:g}")


def open_engine(options: EngineOptions) -> "Engine":
    """The engine that `options` describe; a context manager, whose end closes it.

    Raises:
        FieldError: as `require_engine_options`; or there is no GPU, no Ray, no cluster.
    """
    require_engine_options(options)
    if options.name == "ray":
        return _ray_engine(options)
    import torch

    from pllbench.runner.local_engine import LocalEngine, num_cores

    num_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    kind, _, index = options.device.partition(":")
    if kind == "cuda" and not num_gpus:
        raise FieldError("device", "no CUDA device here; use cpu", options.device)
    if index and int(index) >= num_gpus:
        raise FieldError("device", f"the last one here is cuda:{num_gpus - 1}", options.device)
    on_gpu = kind != "cpu" and num_gpus > 0
    return LocalEngine(options.jobs or (1 if on_gpu else num_cores()), options.timeout)


def _ray_engine(options: EngineOptions) -> "Engine":
    try:
        from pllbench.runner.ray_engine import RayEngine
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        message = "Ray is not installed; pip install 'pllbench[ray]'"
        raise FieldError("engine", message, "ray") from error
    return RayEngine(
        address=options.address,
        device=options.device,
        jobs=options.jobs,
        timeout=options.timeout,
        gpus_per_run=options.gpus_per_run,
    )


def run(
    planned: Sequence[PlannedRun],
    engine: "Engine",
    options: "RunOptions",
    observer: "Observer | None" = None,
) -> "GridSummary":
    """Execute the planned runs that have no record yet; `observer` is told of their progress.

    Raises:
        ValueError: before any run starts: data are missing or malformed, settings do not fit them,
            or the results folder is not writable.
    """
    from pllbench.runner.progress import Observer
    from pllbench.runner.run_grid import run_grid

    return run_grid(planned, engine, options, observer or Observer())


@dataclass(frozen=True)
class Results:
    """The records of a results folder, and the selection that they are shown by.

    Attributes:
        folder: the results folder.
        records: all of the folder.
        unreadable: files there that are no readable records.
        selection: what is asked for.
        planned: its runs; None for all records of the folder.
    """

    folder: Path
    records: Sequence[Record]
    unreadable: Sequence[Unreadable] = ()
    selection: Selection = field(default_factory=Selection)
    planned: Sequence[PlannedRun] | None = None

    @cached_property
    def protocol(self) -> Protocol:
        """The protocol, with the variants of the benchmark among its own."""
        variants = known_variants(self.selection)
        return self.selection.protocol.model_copy(update={"variants": variants})

    @property
    def finished(self) -> list[Record]:
        """The records of the selected runs."""
        if self.planned is None:
            return list(self.records)
        return records.with_ids(self.records, (run.spec.run_id for run in self.planned))

    def curves(self) -> dict[str, Curves]:
        """Per-epoch columns of the selected runs, by run_id.

        Raises:
            ValueError: the file of a run is damaged, or of another length.
        """
        columns: dict[str, Curves] = {}
        for record in self.finished:
            path = records.record_path(self.folder, record.spec)
            columns[record.run_id] = read_curves(path)
            length, epochs = len(columns[record.run_id]["accuracy"]), record.spec.train.epochs
            if length != epochs:
                raise ValueError(f"{path.with_suffix('.npz')}: {length} of {epochs} epochs")
        return columns

    def table(self, select: Select = DEFAULT_RULE) -> Table:
        """The table under a selection rule.

        Raises:
            ValueError: there is nothing to show.
        """
        if not self.records:
            raise FieldError("results", "no records there; is it another folder?", self.folder)
        if self.planned is not None and not self.finished:
            raise ValueError(
                f"{self.folder}: none of the {len(self.planned)} runs of this selection is done "
                f"({len(self.records)} other records)"
            )
        benchmark = self.selection.benchmark
        return build_table(self.records, self.protocol, select, self.planned, benchmark)

    def rules(self) -> Report:
        """The selection rules side by side.

        Raises:
            ValueError: there is nothing to show.
        """
        known = {rule for record in self.finished for rule in record.result.accuracy}
        rules: list[Select] = [rule for rule in RULES if rule in known] or [DEFAULT_RULE]
        return report_rules({rule: self.table(rule) for rule in rules})

    def tests(self, method: str, select: Select = DEFAULT_RULE) -> Report:
        """Paired tests of a method or variant against every other row, and average ranks.

        Raises:
            ValueError: there is no such row, or nothing to compare it with.
        """
        table = self.table(select)
        return paired_tests.report_tests(paired_tests.paired_tests(table, method), table)

    def compare(self, rules: Sequence[Select] = REPRODUCTION) -> Report:
        """Our numbers beside the paper's; without a selection, for each of the paper's tables.

        Raises:
            ValueError: nothing is selected that the paper has a number for, or none of it has run.
        """
        if self.planned is None:
            return self._compare_all(rules)
        benchmark = self.selection.benchmark
        tables = [self.table(rule) for rule in rules]
        selection = reproduction.ComparedSelection(
            title=benchmark.title if benchmark else "Compared with the AsyCo paper",
            comparisons=published.compare(tables, self._published()),
            records=self.finished,
            note=benchmark.note if benchmark else "",
        )
        return reproduction.report_comparison([selection])

    def _published(self) -> list[Published]:
        """The numbers of the table that a benchmark regenerates; else all of the paper."""
        benchmark = self.selection.benchmark
        if benchmark and benchmark.name in published.table_names():
            return published.load_table(benchmark.name)
        return published.load_all()

    def _compare_all(self, rules: Sequence[Select]) -> Report:
        parts = []
        for name in published.table_names():
            benchmark = load_benchmark(name)
            selection = Selection(benchmark=benchmark)
            part = Results(self.folder, self.records, (), selection, plan(selection))
            entries = published.load_table(name)
            if part.finished:
                comparisons = published.compare([part.table(rule) for rule in rules], entries)
            else:
                comparisons = published.not_run(entries, rules, part.protocol)
            parts.append(
                reproduction.ComparedSelection(
                    benchmark.title, comparisons, part.finished, name, benchmark.note
                )
            )
        return reproduction.report_comparison(parts, title="Reproduction of the AsyCo paper")


def load(folder: Path, selection: Selection | None = None) -> Results:
    """The records of a results folder; those of a selection are shown, without one all of them.

    Raises:
        FieldError: there is no such folder.
        ValueError: the selection is wrong.
    """
    if not folder.is_dir():
        raise FieldError("results", "no such folder", folder)
    found, unreadable = records.read_records(folder)
    if selection is None:
        return Results(folder, found, unreadable)
    return Results(folder, found, unreadable, selection, plan(selection))
