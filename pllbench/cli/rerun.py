"""`pllbench rerun`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pllbench.cli.console import FAILED, INTERRUPTED
from pllbench.cli.parsing import kept_kinds, paths
from pllbench.cli.run import interruptible
from pllbench.cli.selection import DataDir, Json, Keep, ResultsDir


def rerun(
    runs: Annotated[list[str], typer.Argument(help="Run ids, or their beginnings.")],
    datasets: Annotated[
        list[str] | None, typer.Option("--datasets", help="Own data that the runs are of.")
    ] = None,
    keep: Keep = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Runs at a time; one per core, 1 on a GPU by default."),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="As of run.")] = "auto",
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Seconds after which a run fails.")
    ] = None,
    results: ResultsDir = Path("results"),
    data_dir: DataDir = Path("data"),
    as_json: Json = False,
) -> None:
    """Do stored runs again, and say whether their numbers are the same.

    The new record takes the place of the old one; one with other numbers is kept as *.stale.
    """
    from pllbench import api
    from pllbench.cli import console
    from pllbench.data.custom import find_dataset
    from pllbench.runner.display import Display
    from pllbench.runner.job import RunOptions
    from pllbench.runner.open_engine import EngineOptions, open_engine, require_engine_options

    where = EngineOptions("local", device, jobs, timeout)
    require_engine_options(where)
    own_data = [find_dataset(name) for name in paths(datasets)]
    options = RunOptions(results, data_dir, device, keep=kept_kinds(keep))
    planned = api.stored_runs(runs, options, own_data)
    display = Display(console.TolerantConsole(stderr=True))
    with open_engine(where) as engine, interruptible(engine, display):
        summary = api.rerun(planned, engine, options, display)
    if as_json:
        facts = {
            "done": summary.done,
            "failed": len(summary.failed),
            "left": summary.left,
            "repeated": [
                {"run_id": run.spec.run_id, "title": run.title, "difference": words}
                for run, words in summary.repeated
            ],
        }
        console.write(json.dumps(facts, indent=1) + "\n")
    else:
        for run, words in summary.repeated:
            console.write(f"{run.title}: {words or 'the same numbers'}\n")
    for failed, reason in summary.failed:
        console.print_error(f"failed: {failed.title}: {reason}")
    console.print_error(f"{summary.done} done, {len(summary.failed)} failed")
    if summary.interrupted:
        raise typer.Exit(INTERRUPTED)
    if summary.failed:
        raise typer.Exit(FAILED)
