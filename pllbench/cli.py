"""The command line. Commands import what they need when they run: --help needs no torch."""

import json
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from pllbench.flags import SelectionFlags, with_selection

if TYPE_CHECKING:
    from pllbench.cells import Table
    from pllbench.grid import PlannedRun
    from pllbench.protocol import Protocol
    from pllbench.records import Record
    from pllbench.testing import Check

app = typer.Typer(
    help="The benchmark suite for partial-label learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

OK, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all done; some run failed; the request was wrong; stopped by the user."""

Device = StrEnum("Device", ["auto", "cpu", "cuda"])
EngineName = StrEnum("EngineName", ["local"])
Format = StrEnum("Format", ["rich", "latex", "markdown", "csv", "json"])
SelectName = StrEnum(
    "SelectName", ["last10", "last", "covering_rate", "approximated_accuracy", "oracle"]
)
Listing = StrEnum(
    "Listing", ["methods", "variants", "datasets", "networks", "candidates", "benchmarks"]
)
Plot = StrEnum("Plot", ["accuracy", "noise", "curves"])

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
        typer.Option("--jobs", min=1, help="Runs at a time [default: one per core; 1 on a GPU]."),
    ] = None,
    device: Annotated[Device, typer.Option("--device")] = Device.auto,
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=1, help="Epochs between checkpoints.")
    ] = 10,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Seconds after which a run fails.")
    ] = None,
    engine: Annotated[EngineName, typer.Option("--engine")] = EngineName.local,
    results: Results = Path("results"),
    data_dir: DataDir = Path("data"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs and their settings only.")
    ] = False,
) -> None:
    """Execute the runs that have no record yet, and print their table."""
    import torch

    from pllbench import records
    from pllbench.engines import LocalEngine
    from pllbench.grid import plan
    from pllbench.runner import Options, run_grid

    assert engine == EngineName.local, "the only engine so far"
    planned = plan(flags.selection())
    if dry_run:
        _print_plan(planned, results)
        return
    if device == Device.cuda and not torch.cuda.is_available():
        raise ValueError("--device cuda: no CUDA device here; use --device cpu")
    on_gpu = device != Device.cpu and torch.cuda.is_available()
    places = min(jobs or (1 if on_gpu else _cores()), len(planned))
    options = Options(results, data_dir, device.value, noisy_candidates, checkpoint_every, places)
    console = Console(stderr=True)
    local = LocalEngine(places, timeout)
    try:
        summary = run_grid(planned, local, options, console)
    finally:
        local.close()
    found, unreadable = records.query(results)
    _warn([file.reason for file in unreadable])
    if summary.done or summary.skipped:
        table = _table(flags, found, planned, SelectName.last10, results)
        _print_table(table)
    console.print(
        f"{summary.done} done, {summary.skipped} were done before, {len(summary.failed)} failed"
    )
    for failed, reason in summary.failed:
        spec = failed.spec
        console.print(
            Text(f"failed: {failed.label} · {spec.dataset} · seed {spec.seed}: {reason}"),
            soft_wrap=True,
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
    from pllbench.runs import folder_status, selection_status

    if flags.given:
        from pllbench.grid import plan

        found = selection_status(plan(flags.selection()), results)
    else:
        found = folder_status(results)
    counts = {"done": found.done, "failed": found.failed}
    counts |= {"running": found.running, "missing": found.missing}
    if as_json:
        _out(json.dumps(counts) + "\n")
    else:
        _out(", ".join(f"{count} {state}" for state, count in counts.items()) + "\n")
        for name, reason in found.failures:
            _out(f"failed: {name}: {reason}\n")
    _warn(found.unreadable)


@app.command()
@with_selection
def table(
    flags: SelectionFlags,
    results: Results = Path("results"),
    form: Annotated[Format, typer.Option("--format")] = Format.rich,
    select: Select = SelectName.last10,
    output: Output = None,
) -> None:
    """Print mean ± std of the runs of a selection, or of all records."""
    from pllbench import formats, latex

    content, _ = _selected(flags, results, select)
    if form == Format.rich and output is None:
        _print_table(content)
        return
    match form:
        case Format.rich:
            console = Console(record=True, width=120, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
            console.print(formats.to_terminal(content, 120, styled=False))
            text = console.export_text()
        case Format.latex:
            text = latex.to_latex(content)
        case Format.markdown:
            text = formats.to_markdown(content)
        case Format.csv:
            text = formats.to_csv(content)
        case Format.json:
            text = formats.to_json(content)
    _out(text, output)


@app.command()
@with_selection
def plot(
    flags: SelectionFlags,
    kind: Annotated[Plot, typer.Argument(help="What to plot.")],
    results: Results = Path("results"),
    select: Select = SelectName.last10,
    output: Output = None,
) -> None:
    """Plot accuracy against q, noise rates, or training curves (PNG, PDF or SVG)."""
    from pllbench import plots, records

    content, found = _selected(flags, results, select)
    path = output or Path(f"{kind}.png")
    if kind == Plot.accuracy:
        plots.accuracy(content, path)
    else:
        curves = {
            record.run_id: records.read_curves(records.record_path(results, record.spec))
            for record in found
        }
        draw = plots.noise if kind == Plot.noise else plots.curves
        draw(content, curves, path)
    _out(f"{path}\n")


@app.command("list")
def list_(what: Annotated[Listing, typer.Argument()], as_json: Json = False) -> None:
    """List what the command line can name."""
    rows = _listing(what)
    if as_json:
        _out(json.dumps(rows, indent=1) + "\n")
        return
    view = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in rows[0] if rows else ():
        view.add_column(column, overflow="fold")
    for row in rows:
        view.add_row(*(Text(str(value)) for value in row.values()))
    Console().print(view)


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
    from pllbench.auditing import audit_dataset

    facts = audit_dataset(name, data_dir, candidates, q, seed)
    if as_json:
        _out(json.dumps(facts, indent=1) + "\n")
        return
    view = RichTable(box=None, pad_edge=False, show_header=False)
    for key, value in facts.items():
        view.add_row(
            key.replace("_", " "), Text(f"{value:g}" if isinstance(value, float) else str(value))
        )
    Console().print(view)


@app.command()
def check(
    method: Annotated[str, typer.Argument(help="A registered method, or MODULE:CLASS.")],
) -> None:
    """Run the conformance suite on a method."""
    from pllbench.registry import load_class, load_method
    from pllbench.testing import method_checks

    sys.path.insert(0, "")  # a module in the current folder, as `python -m` finds it
    cls = load_class(method) if ":" in method else load_method(method)
    failed = 0
    for one in method_checks(cls):
        failed += not _run_check(one)
    _out(f"{method}: {'conforms' if not failed else f'{failed} checks failed'}\n")
    if failed:
        raise typer.Exit(FAILED)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: exit codes as in `OK`, `FAILED`, `WRONG` and `INTERRUPTED`."""
    try:
        code = app(arguments, standalone_mode=False)
    except typer.TyperException as error:
        show = getattr(error, "format_message", lambda: str(error))
        _fail(show())
        code = WRONG
    except ValueError as error:
        _fail(str(error))
        code = WRONG
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    sys.exit(code)


def _fail(message: str) -> None:
    sys.stderr.write(f"pllbench: {' '.join(message.split())}\n")


def _out(text: str, output: Path | None = None) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, "utf-8")
    except OSError as error:
        raise ValueError(f"--output {output}: not writable ({error.strerror})") from error


def _warn(lines: Sequence[str]) -> None:
    for line in lines:
        sys.stderr.write(f"pllbench: not counted: {line}\n")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _selected(
    flags: SelectionFlags, results: Path, select: SelectName
) -> "tuple[Table, list[Record]]":
    """Table and records of what the flags select, of all records without flags."""
    from pllbench import records
    from pllbench.grid import plan

    if not results.is_dir():
        raise ValueError(f"--results {results}: no such folder")
    found, unreadable = records.query(results)
    _warn([file.reason for file in unreadable])
    planned = plan(flags.selection()) if flags.given else None
    if planned is not None:
        found = records.with_ids(found, (run.spec.run_id for run in planned))
    return _table(flags, found, planned, select, results), found


def _table(
    flags: SelectionFlags,
    found: "list[Record]",
    planned: "list[PlannedRun] | None",
    select: SelectName,
    results: Path,
) -> "Table":
    from pllbench import tables
    from pllbench.grid import known_variants

    selection = flags.selection()
    protocol: Protocol = selection.protocol.model_copy(
        update={"variants": known_variants(selection)}
    )
    return tables.build(found, protocol, select.value, planned, str(results))  # type: ignore[arg-type]


def _print_table(content: "Table") -> None:
    from pllbench import formats

    console = Console()
    console.print(formats.to_terminal(content, console.width, styled=console.is_terminal))


def _print_plan(planned: "Sequence[PlannedRun]", results: Path) -> None:
    """Every cell with its runs and its resolved settings."""
    from pllbench import records

    done = {run.spec.run_id for run in planned if records.is_done(results, run.spec)}
    cells: dict[str, list[PlannedRun]] = {}
    for run in planned:
        cells.setdefault(run.spec.model_copy(update={"seed": 0}).run_id + run.name, []).append(run)
    for runs in cells.values():
        spec = runs[0].spec
        q = "" if spec.q is None else f" q={spec.q:g}"
        seeds = ", ".join(str(run.spec.seed) for run in runs)
        finished = sum(run.spec.run_id in done for run in runs)
        _out(
            f"{runs[0].label} on {spec.dataset}{q}, seeds {seeds}: {finished} of {len(runs)} done\n"
        )
        parts = {"hparams": spec.hparams, "train": spec.train.model_dump(mode="json")}
        parts["views"] = spec.views.model_dump(mode="json")
        if spec.candidates:
            parts["candidates"] = spec.candidates.model_dump(mode="json")
        for owner, values in parts.items():
            _out(f"  {owner}: {', '.join(f'{key}={value}' for key, value in values.items())}\n")
    _out(f"{len(planned)} runs, {len(done)} done\n")


def _listing(what: Listing) -> list[dict[str, object]]:
    from pllbench import protocol, spec
    from pllbench.catalogue import DATASETS
    from pllbench.registry import describe, method_entries

    match what:
        case Listing.methods:
            return [
                {"name": name, "from": describe(entry)} for name, entry in method_entries().items()
            ]
        case Listing.variants:
            return [
                {"name": name, "base": variant.base, "label": variant.label}
                for name, variant in protocol.default_protocol().variants.items()
            ]
        case Listing.datasets:
            return [
                {
                    "name": name,
                    "title": info.title,
                    "kind": info.kind,
                    "candidates": "real" if info.real_candidates else "generated",
                    "file": info.file or "",
                }
                for name, info in DATASETS.items()
            ]
        case Listing.networks:
            return [{"name": name} for name in get_args(spec.NetworkName)]
        case Listing.candidates:
            return [{"name": name} for name in get_args(spec.Process)]
        case Listing.benchmarks:
            return [
                {"name": name, "title": protocol.load_benchmark(name).title}
                for name in protocol.benchmark_names()
            ]


def _run_check(one: "Check") -> bool:
    try:
        one.run()
    except AssertionError as error:
        _out(f"FAILED  {one.name}: {' '.join(str(error).split())}\n")
        return False
    _out(f"ok      {one.name}\n")
    return True


if __name__ == "__main__":
    main()
