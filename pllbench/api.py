"""What Python and the command line call: execute runs, load finished ones, show what they say."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, get_args

from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, known_variants, plan
from pllbench.grid.protocol import Protocol
from pllbench.grid.request import MethodLike, Parts, make_selection, method_name
from pllbench.reports import paired_tests, published, reproduction
from pllbench.reports.aggregate import Shown, build_metric_table
from pllbench.reports.formats.view import ReportView
from pllbench.reports.plots import Plot
from pllbench.reports.published import Published
from pllbench.reports.report import report_table
from pllbench.reports.selection_rules import report_rules
from pllbench.reports.table import Table
from pllbench.results import records
from pllbench.results.curves import Curves, long_form, read_curves
from pllbench.results.filter import Filter, is_planned, planned_runs
from pllbench.results.metrics import DEFAULT_METRIC, Metric
from pllbench.results.model_selection import DEFAULT_RULE, RULES, Select
from pllbench.results.records import Record
from pllbench.results.rows import run_rows
from pllbench.results.status import Status, folder_status, selection_status
from pllbench.validation import FieldError, did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from pllbench.runner.engine import Engine
    from pllbench.runner.job import RunOptions
    from pllbench.runner.progress import Observer
    from pllbench.runner.run_grid import GridSummary

REPRODUCTION: tuple[Select, ...] = ("last10", "last")
"""Rules under which the paper's numbers are compared: our headline, and what its digits fit."""


def run_planned(
    planned: Sequence[PlannedRun],
    engine: "Engine",
    options: "RunOptions",
    observer: "Observer | None" = None,
) -> "GridSummary":
    """Execute the planned runs that have no record yet; `observer` is told of their progress.

    Raises:
        ValueError: before any run starts: data are missing or malformed, settings do not fit them,
            the results folder is not writable, or a record there is stale.
    """
    from pllbench.runner.progress import Observer
    from pllbench.runner.run_grid import run_grid

    return run_grid(planned, engine, options, observer or Observer())


@dataclass(frozen=True, slots=True)
class Stored:
    """A record, and the results folder that it is in."""

    record: Record
    folder: Path


@dataclass(frozen=True, repr=False)
class Results:
    """Finished runs, and the selection that they are shown by.

    Attributes:
        folders: results folders, named in errors.
        stored: the records of the folders, of a filter those that it allows.
        uncounted: why files there are not counted, a line each.
        selection: what is asked for.
        planned: its runs; None for all of `stored`.
        summary: what became of the runs, where they have just been executed.
    """

    folders: Sequence[Path]
    stored: Sequence[Stored]
    uncounted: Sequence[str] = ()
    selection: Selection = field(default_factory=Selection)
    planned: Sequence[PlannedRun] | None = None
    summary: "GridSummary | None" = None

    def __repr__(self) -> str:
        specs = [record.spec for record in self.finished]
        methods, data = ({getattr(s, key) for s in specs} for key in ("method", "dataset"))
        counts = {"runs": len(specs), "methods": len(methods), "data sets": len(data)}
        if self.failed:
            counts["failed"] = len(self.failed)
        return f"<Results of {self._where}: {', '.join(f'{k} {n}' for k, n in counts.items())}>"

    def _repr_html_(self) -> str:
        """The table, where there is one."""
        return self.table()._repr_html_() if self.finished else escape(repr(self))

    @property
    def failed(self) -> list[tuple[str, str]]:
        """Title and reason of each run that has failed just now."""
        failures = self.summary.failed if self.summary else ()
        return [(run.title, reason) for run, reason in failures]

    @property
    def _where(self) -> str:
        return ", ".join(map(str, self.folders))

    @property
    def records(self) -> list[Record]:
        """The records alone."""
        return [one.record for one in self.stored]

    def select(self, selection: Selection | None = None, **parts: Unpack[Parts]) -> "Results":
        """The part of these records that is asked for; see `load`.

        Args:
            selection: what is asked for.
            **parts: the same as plain values, in the place of it: `methods="cc"`, `q=[0.3, 0.7]`.

        Raises:
            ValueError: the selection is wrong, or nothing here meets it.
        """
        selection = selection or make_selection(parts)
        if is_planned(selection):
            return self.of_plan(selection)
        wanted = Filter(selection)
        wanted.require_known(record.spec for record in self.records)
        allowed = tuple(one for one in self.stored if wanted.allows(one.record.spec))
        if self.stored and not allowed:
            nearest = wanted.nearest(self.records)
            hint = f"; {nearest} is there" if nearest else ""
            raise ValueError(f"none of the {len(self.stored)} runs here meets the selection{hint}")
        return replace(self, stored=allowed, selection=selection)

    def of_plan(self, selection: Selection) -> "Results":
        """The runs that a selection plans, whatever it leaves out; as after `run`.

        Raises:
            ValueError: the selection is wrong.
        """
        planned = planned_runs(selection, self.records)
        return replace(self, selection=selection, planned=planned)

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

    def columns(self) -> dict[str, Curves]:
        """Per-epoch columns of the selected runs, by run_id.

        Raises:
            ValueError: the file of a run is damaged, or of another length.
        """
        found: dict[str, Curves] = {}
        folders = {one.record.run_id: one.folder for one in self.stored}
        for record in self.finished:
            path = records.record_path(folders[record.run_id], record.spec)
            found[record.run_id] = read_curves(path)
            length, epochs = len(found[record.run_id]["accuracy"]), record.spec.train.epochs
            if length != epochs:
                raise ValueError(f"{path.with_suffix('.npz')}: {length} of {epochs} epochs")
        return found

    def frame(self) -> "DataFrame":
        """A row for each run, with the columns of `pllbench.results.rows.run_rows`.

        Ordered by data set, process, q, label and seed.
        """
        from pandas import DataFrame

        frame = DataFrame(run_rows(self.finished, self.protocol))
        order = ["dataset", "candidates", "q", "label", "seed"]
        return frame.sort_values(order, ignore_index=True) if len(frame) else frame

    def curves(self) -> "DataFrame":
        """A row for each value of an epoch: `run_id`, `epoch`, `quantity` and `value`.

        The quantities are the per-epoch columns of `pllbench.results.curves`; an epoch without a
        value has no row.

        Raises:
            ValueError: as `columns`.
        """
        from pandas import DataFrame

        return DataFrame(long_form(self.columns()))

    def plot(self, kind: Plot = "accuracy", select: Select | None = None) -> "Figure":
        """A figure of these runs.

        Args:
            kind: accuracy, against q; hparam, against the hyperparameter that differs between the
                rows; noise and curves, over epochs; ranks, the critical difference of average ranks
                over data sets.
            select: rule that turns a run into one accuracy; last10 where it is not given.

        Raises:
            ValueError: there is nothing to show, or `kind` takes no rule.
        """
        from pllbench.reports.plots import accuracy, critical_difference, epochs
        from pllbench.reports.ranks import rank_rows

        if kind not in get_args(Plot):
            raise FieldError("kind", did_you_mean(kind, get_args(Plot)), kind)
        if select is not None and kind in ("noise", "curves"):
            reason = f"a plot of {kind} shows all epochs, so it takes no rule"
            raise FieldError("select", reason, select)
        table = self.accuracies(select or DEFAULT_RULE)
        if kind == "noise":
            return epochs.plot_noise_rates(table, self.columns())
        if kind == "curves":
            return epochs.plot_curves(table, self.columns())
        if kind == "ranks":
            return critical_difference.plot_ranks(*rank_rows(table))
        if kind == "hparam":
            hparams = {record.run_id: record.spec.hparams for record in self.finished}
            return accuracy.plot_hparam(table, hparams)
        return accuracy.plot_accuracy(table)

    def accuracies(
        self, select: Select = DEFAULT_RULE, metrics: Sequence[Metric] = (DEFAULT_METRIC,)
    ) -> Table:
        """The cells of the table under a selection rule, with a column for each of the `metrics`.

        Raises:
            ValueError: there is nothing to show.
        """
        if not self.records:
            raise FieldError("results", "no records there; is it another folder?", self._where)
        if self.planned is not None and not self.finished:
            raise ValueError(
                f"{self._where}: none of the {len(self.planned)} runs of this selection is done "
                f"({len(self.records)} other records)"
            )
        benchmark, shown = self.selection.benchmark, Shown(select, tuple(metrics))
        return build_metric_table(self.records, self.protocol, shown, self.planned, benchmark)

    def table(
        self,
        select: Select = DEFAULT_RULE,
        metrics: Metric | Sequence[Metric] = DEFAULT_METRIC,
    ) -> ReportView:
        """Mean ± std of the runs under a selection rule, a column for each of the `metrics`.

        Raises:
            ValueError: there is nothing to show.
        """
        shown = (metrics,) if isinstance(metrics, str) else tuple(metrics)
        return ReportView(report_table(self.accuracies(select, shown)))

    def rules(self, metric: Metric = DEFAULT_METRIC) -> ReportView:
        """The selection rules side by side, for one metric.

        Raises:
            ValueError: there is nothing to show.
        """
        known = {rule for record in self.finished for rule in record.result.accuracy}
        rules: list[Select] = [rule for rule in RULES if rule in known] or [DEFAULT_RULE]
        return ReportView(report_rules({rule: self.accuracies(rule, (metric,)) for rule in rules}))

    def tests(
        self,
        method: "MethodLike",
        select: Select = DEFAULT_RULE,
        metric: Metric = DEFAULT_METRIC,
    ) -> ReportView:
        """Paired tests of a method or variant against every other row, and average ranks.

        Raises:
            ValueError: there is no such row, or nothing to compare it with.
        """
        table = self.accuracies(select, (metric,))
        pairs = paired_tests.paired_tests(table, method_name(method))
        return ReportView(paired_tests.report_tests(pairs, table))

    def compare(self, rules: Sequence[Select] = REPRODUCTION) -> ReportView:
        """Our numbers beside the paper's; without a selection, for each of the paper's tables.

        Raises:
            ValueError: nothing is selected that the paper has a number for, or none of it has run.
        """
        if self.planned is None:
            return self._compare_all(rules)
        benchmark = self.selection.benchmark
        tables = [self.accuracies(rule) for rule in rules]
        selection = reproduction.ComparedSelection(
            title=benchmark.title if benchmark else "Compared with the AsyCo paper",
            comparisons=published.compare(tables, self._published()),
            records=self.finished,
            note=benchmark.note if benchmark else "",
        )
        return ReportView(reproduction.report_comparison([selection]))

    def _published(self) -> list[Published]:
        """The numbers of the table that a benchmark regenerates; else all of the paper."""
        benchmark = self.selection.benchmark
        if benchmark and benchmark.name in published.table_names():
            return published.load_table(benchmark.name)
        return published.load_all()

    def _compare_all(self, rules: Sequence[Select]) -> ReportView:
        parts = []
        for name in published.table_names():
            benchmark = load_benchmark(name)
            selection = Selection(benchmark=benchmark)
            part = replace(self, selection=selection, planned=plan(selection))
            entries = published.load_table(name)
            if part.finished:
                comparisons = published.compare([part.accuracies(rule) for rule in rules], entries)
            else:
                comparisons = published.not_run(entries, rules, part.protocol)
            parts.append(
                reproduction.ComparedSelection(
                    benchmark.title, comparisons, part.finished, name, benchmark.note
                )
            )
        page = reproduction.report_comparison(parts, title="Reproduction of the AsyCo paper")
        return ReportView(page)


def load(*folders: str | Path, selection: Selection | None = None) -> Results:
    """The records of results folders, read together.

    A selection that names a benchmark, or methods and data sets, is planned: its cells say what is
    missing, and without seeds of its own they show all that are there. Any other selection is a
    filter over the records that are there.

    Raises:
        FieldError: there is no such folder.
        ValueError: the selection is wrong, or finds nothing.
    """
    stored: dict[str, Stored] = {}
    uncounted: list[str] = []
    places = [Path(folder) for folder in folders]
    for folder in places:
        if not folder.is_dir():
            raise FieldError("results", "no such folder", folder)
        found, unreadable = records.read_records(folder)
        uncounted += [file.reason for file in unreadable]
        for record in found:
            first = stored.setdefault(record.run_id, Stored(record, folder))
            if (first.record.spec, first.record.result) != (record.spec, record.result):
                path = records.record_path(folder, record.spec)
                uncounted.append(f"{path}: not equal to the run of this id in {first.folder}")
    everything = Results(places, tuple(stored.values()), tuple(uncounted))
    return everything if selection is None else everything.select(selection)


def status(*folders: Path, selection: Selection | None = None) -> Status:
    """How many runs are done, failed, running and missing; selections as in `load`.

    Raises:
        FieldError: there is no such folder.
        ValueError: the selection is wrong.
    """
    if selection is None:
        return folder_status(folders)
    if is_planned(selection):
        return selection_status(selection, folders)
    return folder_status(folders, Filter(selection))
