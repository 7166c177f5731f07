"""`pllbench report`."""

from pathlib import Path
from typing import Annotated

import typer

from pllbench.cli.selection import Output, ResultsDirs, SelectionFlags
from pllbench.results.model_selection import DEFAULT_RULE, Select


def report(
    flags: SelectionFlags,
    results: ResultsDirs = [Path("results")],
    select: Annotated[
        Select, typer.Option("--select", help="Rule that turns a run into one accuracy.")
    ] = DEFAULT_RULE,
    curves: Annotated[
        bool, typer.Option("--curves/--no-curves", help="With the curves of the runs.")
    ] = True,
    output: Output = None,
) -> None:
    """Write a selection, or all records, as one HTML page that needs no network."""
    from pllbench.cli import console

    path = output or Path("report.html")
    try:
        flags.load(results).report(path, select, curves=curves)
    except OSError as error:
        raise ValueError(f"--output {path}: not writable ({error.strerror})") from error
    console.write(f"{path}\n")
