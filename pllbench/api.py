"""What Python and the command line call: execute runs, load finished ones, show what they say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, get_args

from pllbench.budget import Criterion
from pllbench.grid.plan import PlannedRun, Selection, known_variants
from pllbench.grid.protocol import Protocol
from pllbench.grid.request import MethodLike, Parts, make_selection, method_name
from pllbench.registry import method_facts
from pllbench.reports import paired_tests, published, reproduction, tuning_worth
from pllbench.reports.aggregate import build_metric_table
from pllbench.reports.captions import Shown
from pllbench.reports.choice import choose_methods, report_choices
from pllbench.reports.formats.view import ReportView
from pllbench.reports.groups import planned_groups, recorded_groups, split_by_origin
from pllbench.reports.plots import Plot
from pllbench.reports.provenance import record_addresses
from pllbench.reports.report import Report, report_table
from pllbench.reports.selection_rules import report_rules
from pllbench.reports.table import Table
from pllbench.results import records
from pllbench.results.curves import Curves, long_form, num_epochs, read_curves
from pllbench.results.files import write_atomic
from pllbench.results.filter import Filter, is_planned, planned_runs
from pllbench.results.metrics import CLASS_METRICS, DEFAULT_METRIC, Metric
from pllbench.results.model_selection import DEFAULT_RULE, RULES, Select
from pllbench.results.records import Record
from pllbench.results.rows import run_rows
from pllbench.results.status import Status, failed_runs, folder_status, selection_status
from pllbench.validation import FieldError, did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from pllbench.data.catalogue import DatasetInfo
    from pllbench.results.export import RowFormat
    from pllbench.results.lookup import StoredRun, UnfinishedRun
    from pllbench.results.merge import Merged
    from pllbench.results.removal import RemovedRun
    from pllbench.runner.engine import Engine
    from pllbench.runner.job import RunOptions
    from pllbench.runner.progress import Observer
    from pllbench.runner.run_grid import GridSummary
    from pllbench.tuning.tune import Tuned, TuningPlan

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


def tuning_plan(
    selection: Selection,
    asked: Mapping[str, object],
    study: str = "default",
    spaces: Path | None = None,
) -> "TuningPlan":
    """What `tune` is to search.

    Args:
        selection: whose methods are tuned.
        asked: fields of `TuningRequest`; those that are left out are the benchmark's.
        study: its name.
        spaces: a folder of spaces that come before those of the suite.

    Raises:
        FieldError: a field is wrong.
        ValueError: Optuna is not installed.
    """
    try:
        from pllbench.tuning.tune import TuningPlan
    except ModuleNotFoundError as error:
        if error.name not in ("optuna", "tomli_w"):
            raise
        raise ValueError("Optuna is not installed; pip install 'pllbench[tune]'") from error
    return TuningPlan.of(selection, asked, study, spaces)


def tune(
    wanted: "TuningPlan",
    engine: "Engine",
    options: "RunOptions",
    observer: "Observer | None" = None,
) -> "Tuned":
    """Search settings for every cell of a selection, and write the benchmark of what is chosen.

    Raises:
        ValueError: before any run starts: the request is wrong, or as `run_planned`.
    """
    from pllbench.tuning.tune import run_tuning

    return run_tuning(wanted, engine, options, observer)


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
            hint = self._nearest(wanted)
            raise ValueError(f"none of the {len(self.stored)} runs here meets the selection{hint}")
        return replace(self, stored=allowed, selection=selection)

    def _nearest(self, wanted: Filter) -> str:
        """Clause of a message: which records come nearest to what is wanted, if any do."""
        nearest = wanted.nearest(self.records)
        return f"; {nearest} is there" if nearest else ""

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

    def pick(self, *runs: str) -> "Results":
        """Of these runs, those with the given ids; a beginning will do that no other run shares.

        Raises:
            ValueError: there is none, or several.
        """
        from pllbench.results.lookup import one_with_id

        ids = {record.run_id for record in self.finished}
        wanted = {one_with_id(text, ids, self._where) for text in runs}
        picked = tuple(one for one in self.stored if one.record.run_id in wanted)
        return replace(self, stored=picked, planned=None)

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
            length, epochs = num_epochs(found[record.run_id]), record.spec.train.epochs
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
                over data sets; tuning, tuned settings against default ones.
            select: rule that turns a run into one accuracy; last10 where it is not given.

        Raises:
            ValueError: there is nothing to show, or `kind` takes no rule.
        """
        from pllbench.reports.plots import accuracy, critical_difference, epochs, tuning

        if kind not in get_args(Plot):
            raise FieldError("kind", did_you_mean(kind, get_args(Plot)), kind)
        if select is not None and kind in ("noise", "curves"):
            reason = f"a plot of {kind} shows all epochs, so it takes no rule"
            raise FieldError("select", reason, select)
        table = self.accuracies(select or DEFAULT_RULE)
        match kind:
            case "noise":
                return epochs.plot_noise_rates(table, self.columns())
            case "curves":
                return epochs.plot_curves(table, self.columns())
            case "ranks":
                return critical_difference.plot_ranks(critical_difference.rank_diagrams(table))
            case "hparam":
                hparams = {record.run_id: record.spec.hparams for record in self.finished}
                return accuracy.plot_hparam(table, hparams)
            case "tuning":
                return tuning.plot_tuning(table)
            case "accuracy":
                return accuracy.plot_accuracy(table)

    def accuracies(
        self,
        select: Select = DEFAULT_RULE,
        metrics: Sequence[Metric] = (DEFAULT_METRIC,),
        *,
        mixed_budgets: bool = False,
    ) -> Table:
        """The cells of the table under a selection rule, with a column for each of the `metrics`.

        Rows are ranked within what the search for their settings was given, or with
        `mixed_budgets` all together.

        Raises:
            ValueError: there is nothing to show.
        """
        self._require_runs()
        benchmark, shown = self.selection.benchmark, Shown(select, tuple(metrics), mixed_budgets)
        return build_metric_table(self.records, self.protocol, shown, self.planned, benchmark)

    def _require_runs(self) -> None:
        """Raise ValueError if there is nothing to show."""
        if not self.records:
            raise FieldError("results", "no records there; is it another folder?", self._where)
        if self.planned is not None and not self.finished:
            raise ValueError(
                f"{self._where}: none of the {len(self.planned)} runs of this selection is done "
                f"({len(self.records)} other records){self._nearest(Filter(self.selection))}"
            )

    def table(
        self,
        select: Select = DEFAULT_RULE,
        metrics: Metric | Sequence[Metric] = DEFAULT_METRIC,
        *,
        mixed_budgets: bool = False,
    ) -> ReportView:
        """Mean ± std of the runs under a selection rule, a column for each of the `metrics`.

        Raises:
            ValueError: there is nothing to show.
        """
        shown = (metrics,) if isinstance(metrics, str) else tuple(metrics)
        return ReportView(report_table(self.accuracies(select, shown, mixed_budgets=mixed_budgets)))

    def rules(self, metric: Metric = DEFAULT_METRIC) -> ReportView:
        """The selection rules side by side, for one metric.

        Raises:
            ValueError: there is nothing to show.
        """
        known = {rule for record in self.finished for rule in record.result.rules}
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

    def choose(self, criterion: Criterion = "covering_rate") -> ReportView:
        """Which method and epoch the candidate sets of the hold-out pick, without true labels.

        Raises:
            ValueError: there is nothing to choose from, or no run has a hold-out.
        """
        self._require_runs()
        runs = {record.run_id: record for record in self.finished}
        groups = (
            recorded_groups(runs, self.protocol)
            if self.planned is None
            else planned_groups(runs, self.planned)
        )
        groups = split_by_origin(groups, self.planned or ())
        return ReportView(report_choices(choose_methods(groups, self.columns(), criterion)))

    def worth_of_tuning(
        self, select: Select = DEFAULT_RULE, metric: Metric = DEFAULT_METRIC
    ) -> ReportView:
        """Tuned rows beside the same rows with default settings, and paired differences.

        Raises:
            ValueError: no row is there with both.
        """
        return ReportView(tuning_worth.report_tuning(self.accuracies(select, (metric,))))

    def compare(
        self, source: str = published.PAPER, rules: Sequence[Select] = REPRODUCTION
    ) -> ReportView:
        """Our numbers beside published ones; without a selection, for each table of the source.

        Args:
            source: `paper` (AsyCo's), the name of another paper, or `all`.
            rules: that turn a run into one accuracy.

        Raises:
            ValueError: there is no such source, nothing is selected that it has a number for, or
                none of it has run.
        """
        if self.planned is None:
            return ReportView(reproduction.compare_all(self.records, source, rules))
        shown = [self.accuracies(rule) for rule in rules]  # refuses what has not run
        benchmark, tables = self.selection.benchmark, published.load_source(source)
        if benchmark and benchmark.name in tables:
            compared = reproduction.compare_grids(
                self.records, self.selection, self.planned, tables[benchmark.name], rules
            )
            return ReportView(reproduction.report_comparison(compared))
        comparisons = published.compare(shown, published.load_all(source))
        if not comparisons:
            raise FieldError("compare", "it has no number for any cell here", source)
        selection = reproduction.ComparedSelection(
            title=benchmark.title if benchmark else reproduction.page_title(source),
            comparisons=comparisons,
            records=self.finished,
            note=benchmark.note if benchmark else "",
            shared=shown[0].shared,
        )
        return ReportView(reproduction.report_comparison([selection]))

    def report(
        self, path: Path | str, select: Select = DEFAULT_RULE, *, curves: bool = True
    ) -> None:
        """Write one HTML page about these runs to `path`; it needs no network.

        Raises:
            ValueError: there is nothing to show, or the curves of a run are damaged.
            OSError: `path` cannot be written.
        """
        from pllbench.reports.formats.html import to_html
        from pllbench.reports.page import PageSource, build_page

        path = Path(path)
        with records.no_collection():
            finished = self.finished
            source = PageSource(
                table=self.accuracies(select),
                records=finished,
                facts=method_facts({record.spec.method for record in finished}),
                addresses=record_addresses(
                    ((one.record.spec, one.folder) for one in self.stored), path.parent
                ),
                curves=self.columns() if curves else None,
                classes=self._class_accuracies(select),
                compared=self._compared(select),
                planned=self.planned,
                failures=self._failures(),
                uncounted=self.uncounted,
            )
            text = to_html(build_page(source))
        write_atomic(path, text.encode(), durable=False)

    def _class_accuracies(self, select: Select) -> Table | None:
        """The table of the metrics of long-tailed runs; None where no run has them."""
        runs = [run for run in self.finished if run.spec.imbalance != 1]
        planned = [run for run in self.planned or () if run.spec.imbalance != 1] or None
        shown, benchmark = Shown(select, CLASS_METRICS), self.selection.benchmark
        try:
            return build_metric_table(runs, self.protocol, shown, planned, benchmark)
        except FieldError:
            return None

    def _compared(self, select: Select) -> Report | None:
        """Our numbers beside the paper's; None where it has none for any run here."""
        try:
            compared = self.compare("all", tuple(dict.fromkeys((select, *REPRODUCTION)))).report
        except ValueError:
            return None
        return compared if any(entry.n for entry in compared.entries) else None

    def _failures(self) -> dict[str, tuple[str, str]]:
        """Titles and reasons of those selected runs whose last try failed, by run_id."""
        done = {record.run_id for record in self.records}
        if self.planned is None:
            everything = self.selection == Selection()
            return failed_runs(self.folders, done, None if everything else Filter(self.selection))
        failed, titles = failed_runs(self.folders, done), {}
        for run in self.planned:
            if run.spec.run_id in failed:
                titles[run.spec.run_id] = (run.title, failed[run.spec.run_id][1])
        return titles


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


def merge(*folders: Path, output: Path) -> "Merged":
    """Write the union of results folders into one; see `pllbench.results.merge`.

    Raises:
        ValueError: a folder is not there or holds no records, or names clash.
    """
    from pllbench.results.merge import merge_folders

    return merge_folders(folders, output)


def show(run: str, *folders: Path) -> "StoredRun | UnfinishedRun":
    """All that is known of a run, by its id, a beginning of that, or the path of its record.

    Raises:
        ValueError: there is no such run, or there are several; or its record is damaged.
    """
    from pllbench.results.lookup import find_run

    return find_run(run, folders)


def remove(found: Results, *, dry_run: bool = True) -> "list[RemovedRun]":
    """The selected runs with their files; without `dry_run` these are deleted.

    Raises:
        ValueError: a process does one of the runs again.
    """
    from pllbench.results.removal import carry_out, plan_removal

    wanted = {record.run_id for record in found.finished}
    stored = [(one.folder, one.record) for one in found.stored if one.record.run_id in wanted]
    planned = plan_removal(stored)
    if not dry_run:
        carry_out(planned)
    return planned


def export(found: Results, form: "RowFormat") -> bytes:
    """A file of the selected runs, one row a run; its columns are those of `run_rows`.

    Raises:
        FieldError: Parquet is asked for, and pyarrow is not installed.
    """
    from pllbench.results.export import rows_as
    from pllbench.results.rows import run_rows

    return rows_as(form, run_rows(found.finished, found.protocol))


def new_method(name: str, directory: Path = Path()) -> Path:
    """Write the package of a new method; its folder, in `directory`.

    Raises:
        ValueError: the name is none, or is taken; or the folder is there already.
    """
    from pllbench.scaffold import write_plugin

    return write_plugin(name, directory)


def stored_runs(
    runs: Sequence[str], options: "RunOptions", own_data: "Sequence[DatasetInfo]" = ()
) -> list[PlannedRun]:
    """The runs of these ids, to be done again with the settings that are stored.

    Raises:
        ValueError: there is no such run, its data are not here, or its method is of another
            version.
    """
    from pllbench.runner.rerun import runs_again

    return runs_again(runs, options, own_data)


def rerun(
    planned: Sequence[PlannedRun],
    engine: "Engine",
    options: "RunOptions",
    observer: "Observer | None" = None,
) -> "GridSummary":
    """Do runs again that may be done; `repeated` of the summary says whether the same came out.

    Raises:
        ValueError: as `run_planned`.
    """
    return run_planned(planned, engine, replace(options, again=True, noisy=True), observer)
