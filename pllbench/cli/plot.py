"""`pllbench plot`."""

from pathlib import Path
from typing import Annotated

import typer

from pllbench.cli.selection import Output, ResultsDirs, SelectionFlags
from pllbench.reports.plots import Plot
from pllbench.results.model_selection import Select


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
    from pllbench.reports.plots.figure import boxes_note, save

    path = output or Path(f"{kind}.png")
    figure = flags.load(results).plot(kind, select)
    save(figure, path)
    if note := boxes_note(figure):
        console.print_error(note)
    console.write(f"{path}\n")
