"""`pllbench tune`."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pllbench.budget import Criterion
from pllbench.cli.console import (
    FAILED,
    INTERRUPTED,
    TolerantConsole,
    print_error,
    show_columns,
    write,
)
from pllbench.cli.parsing import seeds
from pllbench.cli.run import EngineName, Stale, interruptible
from pllbench.cli.selection import DataDir, Output, ResultsDir, SelectionFlags

if TYPE_CHECKING:
    from pllbench.tuning.chosen import Choice
    from pllbench.tuning.space import Range
    from pllbench.tuning.tune import Tuned, TuningPlan


def tune(
    flags: SelectionFlags,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            min=1,
            help="Trials of each method on each data set and q, those of an earlier call included; "
            "20 if none.",
        ),
    ] = None,
    criterion: Annotated[
        Criterion | None,
        typer.Option("--criterion", help="Of the hold-out; covering_rate if none."),
    ] = None,
    halving: Annotated[
        int | None,
        typer.Option(
            "--halving",
            min=1,
            help="After a share of its epochs, one trial in so many goes on; 1: all. 3 if none.",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option("--study", help="Its name; the benchmark's, or `default`, if none."),
    ] = None,
    spaces: Annotated[
        Path | None,
        typer.Option("--spaces", help="Folder of your own spaces.", metavar="DIR"),
    ] = None,
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
        EngineName, typer.Option("--engine", help="Here, or on a Ray cluster.")
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
        typer.Option("--stale", help="Trials of other defaults, source or data."),
    ] = "refuse",
    results: ResultsDir = Path("results"),
    data_dir: DataDir = Path("data"),
    output: Output = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be searched, and where, only.")
    ] = False,
) -> None:
    """Search settings by partial labels alone, alike for all methods, and say what is chosen.

    --seeds are those of the trials, 100 if none; --holdout is their hold-out, 0.1 if none. The
    settings go into a benchmark, which compares them with the default ones.
    """
    from pllbench import api
    from pllbench.runner.display import Display
    from pllbench.runner.job import RunOptions
    from pllbench.runner.open_engine import EngineOptions, open_engine, require_engine_options

    where = EngineOptions(engine, device, jobs, timeout, address, gpus_per_run)
    require_engine_options(where)
    given: dict[str, object] = {"trials": trials, "criterion": criterion, "halving": halving}
    wanted = _plan(flags, given, study, spaces)
    if dry_run:
        _show_plan(wanted)
        return
    options = RunOptions(results, data_dir, device, noisy_candidates, checkpoint_every, stale)
    display = Display(TolerantConsole(stderr=True))
    with open_engine(where) as executing, interruptible(executing, display):
        tuned = api.tune(wanted, executing, options, display)
    _show(tuned, output)
    for failed, reason in tuned.summary.failed:
        print_error(f"failed: {failed.title}: {reason}")
    if tuned.summary.interrupted:
        print_error("stopped: the same command goes on")
        raise typer.Exit(INTERRUPTED)
    if tuned.summary.failed:
        raise typer.Exit(FAILED)


def _plan(
    flags: SelectionFlags, given: dict[str, object], study: str | None, spaces: Path | None
) -> "TuningPlan":
    """What flags and the benchmark's file ask for."""
    from pllbench import api

    trial_seeds = [seed for text in flags.seeds or () for seed in seeds(text)]
    given |= {"holdout": flags.holdout, "seeds": trial_seeds or None}
    asked = {name: value for name, value in given.items() if value is not None}
    with flags.named():
        selection = replace(flags, seeds=None, holdout=None).selection()
        if study is None:
            study = Path(flags.benchmark).stem if flags.benchmark else "default"
        return api.tuning_plan(selection, asked, study, spaces)


def _show_plan(wanted: "TuningPlan") -> None:
    """Every cell with its spaces."""
    file = wanted.file()
    write(f"study {wanted.study}: {file.budget.words}\n")
    for cell in wanted.cells(file):
        write(f"{cell.key.rpartition(' [')[0]}: {file.trials[0]} trials\n")
        for key, found in cell.ranges.items():
            where = ", ".join(map(str, found.ends)) if found.values else _interval(found)
            write(f"  {key}: {where}; trial 0: {cell.settings(0)[key]}\n")


def _interval(found: "Range") -> str:
    return f"{found.low:g} to {found.high:g}{', log' if found.log else ''}"


def _show(tuned: "Tuned", output: Path | None) -> None:
    """The chosen settings, a line a cell; and where the benchmark is that compares them."""
    chosen = {choice.cell.key: choice for choice in tuned.choices}
    rows = []
    for cell in tuned.cells:
        counts = Counter(trial.outcome for trial in tuned.trials[cell.key])
        choice = chosen.get(cell.key)
        spec = cell.base.spec
        rows.append(
            {
                "method": cell.base.name,
                "data set": spec.dataset,
                "q": "" if spec.q is None else f"{spec.q:g}",
                "complete": counts["complete"],
                "pruned": counts["pruned"],
                "failed": counts["failed"],
                "trial": choice.trial.number if choice else "none",
                "criterion": f"{100 * (choice.trial.value or 0):.2f} %" if choice else "",
                "settings": _settings(choice) if choice else "",
            }
        )
    show_columns(rows)
    if tuned.choices:
        path = tuned.path
        if output is not None:
            write(path.read_text("utf-8"), output)
            path = output
        print_error(
            f"written: {path}; pllbench run --benchmark {path} compares it with the default"
        )


def _settings(choice: "Choice") -> str:
    values = choice.trial.settings.items()
    return ", ".join(f"{key.partition('.')[2]}={value}" for key, value in values)
