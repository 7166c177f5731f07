"""`pllbench run`."""

import signal
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pllbench.cli.console import (
    FAILED,
    INTERRUPTED,
    TolerantConsole,
    print_error,
    show_report,
    write,
)
from pllbench.cli.parsing import kept_kinds
from pllbench.cli.selection import DataDir, Keep, ResultsDirs, SelectionFlags
from pllbench.cli.show import settings_of
from pllbench.validation import FieldError

if TYPE_CHECKING:
    from pllbench.grid.plan import PlannedRun
    from pllbench.results.summary import GridSummary
    from pllbench.runner.display import Display
    from pllbench.runner.engine import Engine

EngineName = Literal["local", "ray", "inline"]
Stale = Literal["refuse", "rerun", "keep"]


def run(
    flags: SelectionFlags,
    noisy_candidates: Annotated[
        bool,
        typer.Option("--noisy-candidates", help="Allow sets without the true label."),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Runs at a time; one per core, 1 on a GPU by default."),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", help="auto, cpu, cuda, or one of several GPUs as cuda:1.")
    ] = "auto",
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=1, help="Epochs between checkpoints.")
    ] = 10,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Seconds after which a run fails.")
    ] = None,
    engine: Annotated[
        EngineName,
        typer.Option("--engine", help="Workers here, a Ray cluster, or this process."),
    ] = "local",
    address: Annotated[
        str | None, typer.Option("--address", help="Of the Ray cluster; RAY_ADDRESS by default.")
    ] = None,
    gpus_per_run: Annotated[
        float | None,
        typer.Option("--gpus-per-run", min=0, max=1, help="With Ray; 1 where there are GPUs."),
    ] = None,
    stale: Annotated[
        Stale,
        typer.Option(
            "--stale",
            help="Records of other defaults, source or data: stop there, rerun them, or keep them.",
        ),
    ] = "refuse",
    keep: Keep = None,
    results: ResultsDirs = [Path("results")],
    data_dir: DataDir = Path("data"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs and their settings only.")
    ] = False,
) -> None:
    """Execute the runs that have no record yet, and print their table."""
    from pllbench import api
    from pllbench.grid.cautions import cautions
    from pllbench.grid.protocol import default_protocol
    from pllbench.runner.display import Display
    from pllbench.runner.job import RunOptions
    from pllbench.runner.open_engine import EngineOptions, open_engine, require_engine_options

    where = EngineOptions(engine, device, jobs, timeout, address, gpus_per_run)
    require_engine_options(where)
    kept = kept_kinds(keep)
    if len(results) > 1:
        raise FieldError("results", "run writes into one folder")
    planned = flags.planned()
    if dry_run:
        for line in cautions(planned, default_protocol()):
            print_error(line)
        show_plan(planned, results[0])
        return
    display = Display(TolerantConsole(stderr=True))
    options = RunOptions(
        results[0], data_dir, device, noisy_candidates, checkpoint_every, stale, kept
    )
    with open_engine(where) as executing, interruptible(executing, display):
        summary = api.run_planned(planned, executing, options, display)
    if summary.done or summary.skipped:
        show_report(flags.load(results, planned=True).table().report)
    conclude(summary)


def conclude(summary: "GridSummary") -> None:
    """Say what became of a grid, and end with exit code `FAILED` or `INTERRUPTED` if it did."""
    for failed, reason in summary.failed:
        print_error(f"failed: {failed.title}: {reason}")
    print_error(
        f"{summary.done} done, {summary.skipped} were done before, {len(summary.failed)} failed"
        + (f", {summary.left} left: the same command goes on" if summary.interrupted else "")
    )
    if summary.interrupted:
        raise typer.Exit(INTERRUPTED)
    if summary.failed:
        raise typer.Exit(FAILED)


@contextmanager
def interruptible(engine: "Engine", display: "Display") -> Iterator[None]:
    """The first Ctrl-C asks the engine to stop, the second raises KeyboardInterrupt."""

    def on_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's
        if engine.stopping:
            raise KeyboardInterrupt
        display.stopping()
        engine.stop()

    previous = signal.signal(signal.SIGINT, on_signal)
    # Ray's handler would abort with a stack dump.
    terminated = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        signal.signal(signal.SIGTERM, terminated)


def show_plan(planned: "Sequence[PlannedRun]", results: Path) -> None:
    """Every cell with its seeds, how many of its runs are done, and its resolved settings."""
    from pllbench.results import records

    done = {run.spec.run_id for run in planned if records.is_done(results, run.spec)}
    cells: dict[tuple[str, Hashable], list[PlannedRun]] = {}
    for run in planned:
        cells.setdefault((run.name, run.spec.cell), []).append(run)
    for runs in cells.values():
        spec = runs[0].spec
        q = "" if spec.q is None else f" q={spec.q:g}"
        seeds = ", ".join(str(run.spec.seed) for run in runs)
        finished = sum(run.spec.run_id in done for run in runs)
        where = f"{runs[0].label} on {spec.dataset}{q}"
        write(f"{where}, seeds {seeds}: {finished} of {len(runs)} done\n")
        for owner, values in settings_of(spec).items():
            write(f"  {owner}: {', '.join(f'{key}={value}' for key, value in values.items())}\n")
    unique = {run.spec.run_id for run in planned}
    write(f"{len(unique)} runs, {len(done)} done\n")
