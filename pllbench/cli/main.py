"""The command line. Commands import what they need when they run: --help needs no torch."""

import json
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pllbench.cli import list as listing
from pllbench.cli.selection import SelectionFlags, with_selection

if TYPE_CHECKING:
    from pllbench.reports.report import Report
    from pllbench.reports.table import Table
    from pllbench.runner.engine import Engine

app = typer.Typer(
    help="The benchmark suite for partial-label learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

OK, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all done; some run failed; the request was wrong; stopped by the user."""

Device = StrEnum("Device", ["auto", "cpu", "cuda"])
EngineName = StrEnum("EngineName", ["local", "ray"])
Format = StrEnum("Format", ["rich", "latex", "markdown", "csv", "json"])
SelectName = StrEnum(
    "SelectName", ["last10", "last", "covering_rate", "approximated_accuracy", "oracle"]
)
TableSelectName = StrEnum(
    "TableSelectName",
    ["last10", "last", "covering_rate", "approximated_accuracy", "oracle", "all"],
)
Source = StrEnum("Source", ["paper"])
Plot = StrEnum("Plot", ["accuracy", "hparam", "noise", "curves", "ranks"])

Results = Annotated[Path, typer.Option("--results", help="Folder of records.", metavar="DIR")]
DataDir = Annotated[
    Path, typer.Option("--data-dir", help="Folder of the data sets.", envvar="PLLBENCH_DATA")
]
Output = Annotated[Path | None, typer.Option("--output", help="File to write.", metavar="FILE")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Select = Annotated[
    SelectName, typer.Option("--select", help="Rule that turns a run into one accuracy.")
]


@app.command()
@with_selection
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
    device: Annotated[Device, typer.Option("--device")] = Device.auto,
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=1, help="Epochs between checkpoints.")
    ] = 10,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Seconds after which a run fails.")
    ] = None,
    engine: Annotated[
        EngineName, typer.Option("--engine", help="Here, or on a Ray cluster.")
    ] = EngineName.local,
    address: Annotated[
        str | None, typer.Option("--address", help="Of the Ray cluster; RAY_ADDRESS by default.")
    ] = None,
    gpus_per_run: Annotated[
        float | None,
        typer.Option("--gpus-per-run", min=0, max=1, help="With Ray; 1 where there are GPUs."),
    ] = None,
    results: Results = Path("results"),
    data_dir: DataDir = Path("data"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs and their settings only.")
    ] = False,
) -> None:
    """Execute the runs that have no record yet, and print their table."""
    import torch
    from rich.console import Console

    from pllbench import api as contents
    from pllbench.cli import console
    from pllbench.results.status import name_of
    from pllbench.runner.local_engine import LocalEngine
    from pllbench.runner.run_grid import Options, run_grid

    on_ray = engine == EngineName.ray
    if not on_ray and (address is not None or gpus_per_run is not None):
        raise ValueError("--address and --gpus-per-run: only with --engine ray")
    if timeout == 0:
        raise ValueError("--timeout 0: must be more than 0 seconds")
    _, planned = flags.planned()
    if dry_run:
        console.show_plan(planned, results)
        return
    if device == Device.cuda and not on_ray and not torch.cuda.is_available():
        raise ValueError("--device cuda: no CUDA device here; use --device cpu")
    executing: Engine
    if on_ray:
        executing = _ray_engine(
            device=device.value,
            address=address,
            jobs=jobs,
            timeout=timeout,
            gpus_per_run=gpus_per_run,
        )
    else:
        on_gpu = device != Device.cpu and torch.cuda.is_available()
        executing = LocalEngine(jobs or (1 if on_gpu else _cores()), timeout)
    options = Options(results, data_dir, device.value, noisy_candidates, checkpoint_every)
    try:
        summary = run_grid(planned, executing, options, Console(stderr=True))
    finally:
        executing.close()
    if summary.done or summary.skipped:
        console.show_table(contents.load(flags, results).table())
    sys.stdout.flush()
    for failed, reason in summary.failed:
        console.complain(f"failed: {name_of(failed)}: {reason}")
    console.complain(
        f"{summary.done} done, {summary.skipped} were done before, {len(summary.failed)} failed"
        + (f", {summary.left} left: the same command goes on" if summary.interrupted else "")
    )
    if summary.interrupted:
        raise typer.Exit(INTERRUPTED)
    if summary.failed:
        raise typer.Exit(FAILED)


@app.command()
@with_selection
def status(
    flags: SelectionFlags, results: Results = Path("results"), as_json: Json = False
) -> None:
    """Count the runs of a selection, or of the results folder, by their state."""
    from pllbench.cli import console
    from pllbench.results.status import folder_status, selection_status

    planned = flags.planned()[1] if flags.given else None
    found = folder_status(results) if planned is None else selection_status(planned, results)
    counts = {"done": found.done, "failed": found.failed}
    counts |= {"running": found.running, "missing": found.missing}
    if as_json:
        console.write(json.dumps(counts) + "\n")
    else:
        console.write(", ".join(f"{count} {state}" for state, count in counts.items()) + "\n")
        for name, reason in found.failures:
            console.write(f"failed: {name}: {reason}\n")
    console.warn_uncounted(found.unreadable)


@app.command()
@with_selection
def table(
    flags: SelectionFlags,
    results: Results = Path("results"),
    form: Annotated[Format, typer.Option("--format")] = Format.rich,
    select: Annotated[
        TableSelectName | None,
        typer.Option("--select", help="Rule that turns a run into one accuracy; last10 if none."),
    ] = None,
    compare: Annotated[
        Source | None,
        typer.Option("--compare", help="Published numbers to score the runs against."),
    ] = None,
    tests: Annotated[
        str | None,
        typer.Option("--tests", help="Test this method against the others.", metavar="METHOD"),
    ] = None,
    output: Output = None,
) -> None:
    """Print mean ± std of the runs of a selection, or of all records."""
    from pllbench import api as contents
    from pllbench.cli import console
    from pllbench.reports.formats import render as printing

    content: Table | Report
    if compare is None:
        rule = select.value if select else "last10"
        content = contents.show(contents.load(flags, results), rule, tests)  # type: ignore[arg-type]
    elif tests is not None or select == TableSelectName.all:
        raise ValueError("--compare: neither with --tests nor with --select all")
    else:
        chosen = (select.value,) if select else contents.REPRODUCTION
        content = contents.scored(flags, results, chosen)  # type: ignore[arg-type]
    if form == Format.rich and output is None:
        console.show_table(content)
    else:
        console.write(printing.to_text(content, form.value), output)  # type: ignore[arg-type]


@app.command()
@with_selection
def plot(
    flags: SelectionFlags,
    kind: Annotated[Plot, typer.Argument(help="What to plot.")],
    results: Results = Path("results"),
    select: Select = SelectName.last10,
    output: Output = None,
) -> None:
    """Plot a selection (PNG, PDF or SVG).

    accuracy: against q. hparam: against the hyperparameter that differs between the rows. noise,
    curves: over epochs. ranks: critical difference of average ranks over data sets.
    """
    from pllbench import api as contents
    from pllbench.cli import console
    from pllbench.reports import paired_tests as significance
    from pllbench.reports.plots import (
        accuracy as plots,
    )
    from pllbench.reports.plots import (
        critical_difference as diagrams,
    )
    from pllbench.reports.plots import (
        figure as figures,
    )

    content = contents.load(flags, results)
    shown = content.table(select.value)  # type: ignore[arg-type]
    path = output or Path(f"{kind}.png")
    match kind:
        case Plot.accuracy:
            figure = plots.accuracy(shown)
        case Plot.hparam:
            figure = plots.hparam(shown, {r.run_id: r.spec.hparams for r in content.finished})
        case Plot.noise:
            figure = plots.noise(shown, content.curves())
        case Plot.curves:
            figure = plots.curves(shown, content.curves())
        case Plot.ranks:
            figure = diagrams.critical_difference(*significance.ranks(shown))
    figures.save(figure, path)
    console.write(f"{path}\n")


@app.command("list")
def list_(
    what: Annotated[listing.Kind, typer.Argument()],
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """List what the command line can name."""
    from pllbench.cli import console

    rows = listing.rows(what, results)
    if as_json:
        console.write(json.dumps(rows, indent=1) + "\n")
    else:
        console.show_columns(rows)


@app.command()
def data(
    name: Annotated[str, typer.Argument(help="A data set.")],
    q: Annotated[float | None, typer.Option("--q", help="Noise rate.", min=0, max=1)] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    candidates: Annotated[
        str, typer.Option("--candidates", help="PROCESS, or PROCESS:key=value,...")
    ] = "uniform",
    data_dir: DataDir = Path("data"),
    as_json: Json = False,
) -> None:
    """Audit a data set, its split at a seed, and the candidate sets of its training rows."""
    from pllbench.cli import console
    from pllbench.data.audit import audit_dataset

    facts = audit_dataset(name, data_dir, candidates, q, seed)
    if as_json:
        console.write(json.dumps(facts, indent=1) + "\n")
    else:
        console.show_facts(facts)


@app.command()
def check(
    method: Annotated[str, typer.Argument(help="A registered method, or MODULE:CLASS.")],
) -> None:
    """Run the conformance suite on a method."""
    from pllbench.cli import console
    from pllbench.registry import load_class, load_method
    from pllbench.testing import method_checks

    sys.path.insert(0, "")  # a module in the current folder, as `python -m` finds it
    cls = load_class(method) if ":" in method else load_method(method)
    failed = 0
    for one in method_checks(cls):
        try:
            one.run()
        except AssertionError as error:
            failed += 1
            console.write(f"FAILED  {one.name}: {' '.join(str(error).split())}\n")
        else:
            console.write(f"ok      {one.name}\n")
    console.write(f"{method}: {f'{failed} checks failed' if failed else 'conforms'}\n")
    if failed:
        raise typer.Exit(FAILED)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: exit codes as in `OK`, `FAILED`, `WRONG` and `INTERRUPTED`."""
    from pllbench.cli.console import complain

    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        if message := error.format_message():  # none after the help of a call without arguments
            complain(message.replace("Value error, ", ""))
        code = WRONG
    except ValueError as error:
        complain(str(error))
        code = WRONG
    except KeyboardInterrupt:  # outside of a command: typer gives the same code within one
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        # The reader of a pipe has seen enough; typer and rich turn that into exit code 1.
        if not isinstance(error.__context__ or error, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    except OSError as error:  # a name too long, a folder without permission: it names the path
        complain(str(error))
        code = WRONG
    sys.exit(code)


def _ray_engine(**options: Any) -> "Engine":
    """The engine of `--engine ray`; Ray is an extra."""
    try:
        from pllbench.runner.ray_engine import RayEngine
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        message = "--engine ray: Ray is not installed; pip install 'pllbench[ray]'"
        raise ValueError(message) from error
    return RayEngine(**options)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
