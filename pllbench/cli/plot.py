"""`pllbench plot`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pllbench.cli.selection import Output, ResultsDirs, SelectionFlags
from pllbench.results.model_selection import DEFAULT_RULE, Select
from pllbench.validation import FieldError

Plot = Literal["accuracy", "hparam", "noise", "curves", "ranks", "tuning"]


def plot(
    flags: SelectionFlags,
    kind: Annotated[Plot, typer.Argument(help="What to plot.")],
    results: ResultsDirs = [Path("results")],
    select: Annotated[
        Select | None,
        typer.Option("--select", help="Rule that turns a run into one accuracy; last10 if none."),
    ] = None,
    output: Output = None,
) -> None:
    """Plot a selection (PNG, PDF or SVG).

    accuracy: against q. hparam: against the hyperparameter that differs between the rows. noise,
    curves: over epochs. ranks: critical difference of average ranks over data sets. tuning: tuned
    settings against default ones.
    """
    from pllbench.cli import console
    from pllbench.reports.plots import accuracy, critical_difference, epochs, figure, tuning
    from pllbench.reports.ranks import rank_rows, ranks_title

    if select is not None and kind in ("noise", "curves"):
        raise FieldError(
            "select", f"a plot of {kind} shows all epochs, so it takes no rule", select
        )
    loaded = flags.load(results)
    table = loaded.table(select or DEFAULT_RULE)
    path = output or Path(f"{kind}.png")
    match kind:
        case "accuracy":
            drawn = accuracy.plot_accuracy(table)
        case "hparam":
            drawn = accuracy.plot_hparam(table, {r.run_id: r.spec.hparams for r in loaded.finished})
        case "noise":
            drawn = epochs.plot_noise_rates(table, loaded.curves())
        case "curves":
            drawn = epochs.plot_curves(table, loaded.curves())
        case "ranks":
            several = len(table.budgets) > 1
            drawn = critical_difference.plot_ranks(
                [
                    critical_difference.Diagram(
                        *rank_rows(table, budget), ranks_title(table, budget) if several else ""
                    )
                    for budget in table.budgets
                ]
            )
        case "tuning":
            drawn = tuning.plot_tuning(table)
    figure.save(drawn, path)
    console.write(f"{path}\n")
