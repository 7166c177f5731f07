"""`pllbench choose`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from pllbench.budget import Criterion
from pllbench.cli.console import TolerantConsole, show_report, write
from pllbench.cli.run import conclude, interruptible
from pllbench.cli.selection import DataDir, Json, ResultsDir, SelectionFlags
from pllbench.data.custom import find_dataset
from pllbench.validation import FieldError

HOLDOUT = 0.2
"""Share of the training rows kept aside, where test rows with true labels are no hold-out."""


def choose(
    flags: SelectionFlags,
    data: Annotated[str, typer.Argument(help="Your own data, or a data set.")],
    criterion: Annotated[
        Criterion, typer.Option("--criterion", help="Of the hold-out: what is to be highest.")
    ] = "covering_rate",
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Runs at a time; one per core, 1 on a GPU by default."),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", help="auto, cpu, cuda, or one of several GPUs as cuda:1.")
    ] = "auto",
    results: ResultsDir = Path("results"),
    data_dir: DataDir = Path("data"),
    as_json: Json = False,
) -> None:
    """Say which method, and which epoch, the candidate sets of a hold-out pick.

    Runs that have no record yet are executed. No true label is looked at. Without them the rows
    that would be test rows are the hold-out; otherwise --holdout is a fifth of the training rows.
    """
    from pllbench import api
    from pllbench.runner.display import Display
    from pllbench.runner.job import RunOptions
    from pllbench.runner.open_engine import EngineOptions, open_engine

    flags = replace(flags, datasets=[data])
    if find_dataset(data).labelled:
        flags = replace(flags, holdout=HOLDOUT if flags.holdout is None else flags.holdout)
        if flags.holdout == 0:
            raise FieldError("holdout", "without one nothing can be chosen without true labels", 0)
    planned, display = flags.planned(), Display(TolerantConsole(stderr=True))
    options = RunOptions(results, data_dir, device, noisy=True)
    where = EngineOptions("local", device, jobs)
    with open_engine(where) as executing, interruptible(executing, display):
        summary = api.run_planned(planned, executing, options, display)
    if summary.done or summary.skipped:
        view = flags.load([results]).choose(criterion)
        if as_json:
            write(view.to_json())
        else:
            show_report(view.report)
    conclude(summary)
