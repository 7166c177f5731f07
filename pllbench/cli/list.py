"""What the command line can name, by kind: the rows of `pllbench list`.

Needs no torch, except for benchmarks, whose runs are counted.
"""

import json
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from pllbench.cli.selection import Json
from pllbench.data.catalogue import DATASETS
from pllbench.grid import protocol
from pllbench.grid.benchmark import benchmark_names, load_benchmark
from pllbench.registry import describe_entry, method_entries
from pllbench.spec import NetworkName, Process

Listed = Literal["methods", "variants", "datasets", "networks", "candidates", "benchmarks"]

ListRow = dict[str, object]


def rows(kind: Listed, results: Path) -> list[ListRow]:
    """One row for each thing of a kind; its `name` is what flags take.

    Benchmarks say how many of their runs have a record in the folder `results`.
    """
    match kind:
        case "methods":
            return [
                {"name": name, "from": describe_entry(entry)}
                for name, entry in method_entries().items()
            ]
        case "variants":
            return [
                {"name": name, "base": variant.base, "label": variant.label}
                for name, variant in protocol.default_protocol().variants.items()
            ]
        case "datasets":
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
        case "networks":
            return [{"name": name} for name in get_args(NetworkName)]
        case "candidates":
            return [{"name": name} for name in get_args(Process)]
        case "benchmarks":
            return _benchmarks(results)


def _benchmarks(results: Path) -> list[ListRow]:
    """The benchmarks, and how far each is: runs, runs done, and an estimate of the hours left."""
    from pllbench.grid.plan import Selection, plan
    from pllbench.results import records
    from pllbench.results.status import estimate

    found, _ = records.read_records(results)
    listed: list[ListRow] = []
    for name in benchmark_names():
        benchmark = load_benchmark(name)
        far = estimate(plan(Selection(benchmark=benchmark)), found)
        listed.append(
            {
                "name": name,
                "runs": far.runs,
                "done": far.done,
                "hours_left": None if far.hours_left is None else round(far.hours_left, 1),
                "unestimated": far.unestimated,
                "title": benchmark.title,
            }
        )
    return listed


def list_(
    what: Annotated[Listed, typer.Argument()],
    results: Annotated[
        Path, typer.Option("--results", help="Folder of records.", metavar="DIR")
    ] = Path("results"),
    as_json: Json = False,
) -> None:
    """List what the command line can name."""
    from pllbench.cli import console

    listed = rows(what, results)
    if as_json:
        console.write(json.dumps(listed, indent=1) + "\n")
    else:
        console.show_columns([brief(row) for row in listed])


def brief(row: ListRow) -> ListRow:
    """A row as it is printed, to fit a line: a data set without its title, hours in one column.

    `> 2.7` hours are left where some runs cannot be estimated, `?` where none can.
    """
    if "file" in row:
        return {key: value for key, value in row.items() if key != "title"}
    if "hours_left" not in row:
        return row
    known, unknown = row["hours_left"], row["unestimated"]
    hours = "?" if known is None else f"> {known}" if unknown else str(known)
    head = {key: row[key] for key in ("name", "runs", "done")}
    return head | {"hours_left": hours, "title": row["title"]}
