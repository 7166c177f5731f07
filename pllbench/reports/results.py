"""Results of runs, and every way to show them: tables, tests, comparisons, figures, the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from pllbench.budget import Criterion
from pllbench.grid.plan import Selection
from pllbench.grid.request import MethodLike, method_name
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
from pllbench.results.files import write_atomic
from pllbench.results.filter import Filter
from pllbench.results.metrics import CLASS_METRICS, CRITERIA, DEFAULT_METRIC, METRICS, Metric
from pllbench.results.model_selection import DEFAULT_RULE, RULES, Select
from pllbench.results.selected import SelectedRuns
from pllbench.results.status import failed_runs
from pllbench.validation import FieldError, did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPRODUCTION: tuple[Select, ...] = ("last10", "last")
"""Rules under which the paper's numbers are compared: our headline, and what its digits fit."""


@dataclass(frozen=True, repr=False)
class Results(SelectedRuns):
    """Finished runs, shown by the selection that they were asked for with."""

    def _repr_html_(self) -> str:
        """The table, where there is one."""
        return self.table()._repr_html_() if self.finished else escape(repr(self))

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
        for field, known, given in (
            ("select", RULES, (select,)),
            ("metric", METRICS, metrics),
        ):
            for name in given:
                if name not in known:
                    raise FieldError(field, did_you_mean(name, known), name)
        self._require_runs()
        benchmark = self.selection.benchmark
        shown = Shown(select, tuple(metrics), mixed_budgets, self.equal_sources)
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
        if criterion not in CRITERIA:
            raise FieldError("criterion", did_you_mean(criterion, CRITERIA), criterion)
        self._require_runs()
        runs = {record.run_id: record for record in self.finished}
        groups = (
            recorded_groups(runs, self.protocol)
            if self.planned is None
            else planned_groups(runs, self.planned)
        )
        groups = split_by_origin(groups, self.planned or (), self.equal_sources)
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
        shown = Shown(select, CLASS_METRICS, equal=self.equal_sources)
        benchmark = self.selection.benchmark
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
