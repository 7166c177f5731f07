"""`pllbench table`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pllbench.cli.parsing import metric_names
from pllbench.cli.selection import Output, ResultsDirs, SelectionFlags
from pllbench.results.metrics import DEFAULT_METRIC
from pllbench.results.model_selection import DEFAULT_RULE, Select

TableFormat = Literal["rich", "latex", "markdown", "csv", "json"]


def table(
    flags: SelectionFlags,
    results: ResultsDirs = [Path("results")],
    form: Annotated[
        TableFormat | None, typer.Option("--format", help="By the suffix of --output if none.")
    ] = None,
    select: Annotated[
        Literal[Select, "all"] | None,
        typer.Option("--select", help="Rule that turns a run into one accuracy; last10 if none."),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="What is shown, a column each: accuracy, and of long-tailed runs balanced, many, "
            "medium, few.",
            metavar="NAMES",
        ),
    ] = DEFAULT_METRIC,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            help="Published numbers to score the runs against: paper (AsyCo's), coreg, pico, "
            "solar, valen, wsc, or all. default: tuned rows beside default settings.",
            metavar="SOURCE",
        ),
    ] = None,
    tests: Annotated[
        str | None,
        typer.Option("--tests", help="Test this method against the others.", metavar="METHOD"),
    ] = None,
    mixed_budgets: Annotated[
        bool,
        typer.Option(
            "--mixed-budgets", help="Rank tuned rows and those with default settings together."
        ),
    ] = False,
    output: Output = None,
) -> None:
    """Print mean ± std of the runs of a selection, or of all records."""
    from pllbench.cli import console
    from pllbench.reports.formats.view import FORMAT_BY_SUFFIX
    from pllbench.reports.results import REPRODUCTION

    if compare is not None and (tests is not None or select == "all"):
        raise ValueError("--compare: neither with --tests nor with --select all")
    if tests is not None and select == "all":
        raise ValueError("--tests: needs one rule, so not with --select all")
    metrics = metric_names(metric)
    if len(metrics) > 1 and (tests is not None or select == "all"):
        raise ValueError(f"--metric {metric}: one metric with --tests or --select all")
    if compare not in (None, "default") and metrics != (DEFAULT_METRIC,):
        raise ValueError(f"--metric {metric}: not with --compare {compare}")
    if compare == "default" and len(metrics) > 1:
        raise ValueError(f"--metric {metric}: one metric with --compare default")
    if mixed_budgets and (compare is not None or tests is not None or select == "all"):
        raise ValueError("--mixed-budgets: for the plain table alone")
    loaded = flags.load(results)
    if compare == "default":
        view = loaded.worth_of_tuning(select or DEFAULT_RULE, metrics[0])  # type: ignore[arg-type]
    elif compare is not None:
        view = loaded.compare(compare, (select,) if select else REPRODUCTION)  # type: ignore[arg-type]
    elif select == "all":
        view = loaded.rules(metrics[0])
    elif tests is not None:
        view = loaded.tests(tests, select or DEFAULT_RULE, metrics[0])
    else:
        view = loaded.table(select or DEFAULT_RULE, metrics, mixed_budgets=mixed_budgets)
    by_suffix = FORMAT_BY_SUFFIX.get(output.suffix.lower(), "rich") if output else "rich"
    if output is None and (form or by_suffix) == "rich":
        console.show_report(view.report)
    else:
        console.write(view.to_text(form or by_suffix), output)
