"""What the command line can name, by kind: the rows of `pllbench list`.

Needs no torch, except for methods, of which each is made, and benchmarks, whose runs are counted.
"""

import json
from collections import Counter
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from pllbench.cli.selection import Json, ResultsDir
from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.grid import protocol
from pllbench.grid.benchmark import benchmark_names, load_benchmark
from pllbench.registry import describe_entry, method_entries
from pllbench.spec import NetworkName, Process, TrainSpec

if TYPE_CHECKING:
    from pllbench.method import Method

Listed = Literal["methods", "variants", "datasets", "networks", "candidates", "benchmarks"]

ListRow = dict[str, Any]


def rows(kind: Listed, results: Path) -> list[ListRow]:
    """One row for each thing of a kind; its `name` is what flags take.

    Benchmarks say how many of their runs have a record in the folder `results`.
    """
    match kind:
        case "methods":
            return _methods()
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
                    "candidates": _candidates(info),
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


def _methods() -> list[ListRow]:
    """The methods by family and year; one that cannot be made is named on standard error."""
    from pllbench.cli import console
    from pllbench.method import Family
    from pllbench.registry import find_method

    families = get_args(Family)
    other_names = protocol.default_protocol().other_names
    listed: list[ListRow] = []
    for name, entry in method_entries().items():
        try:
            cls = find_method(name)
            facts = _facts(cls)
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
            console.print_error(f"{name}: {error}")
            continue
        listed.append(
            {
                "name": name,
                "family": cls.family,
                "year": cls.year,
                "venue": cls.venue,
                **facts,
                "other_names": other_names.get(name, ()),
                "from": describe_entry(entry),
            }
        )
    place = {family: number for number, family in enumerate(families)}
    return sorted(listed, key=lambda row: (place.get(row["family"], inf), row["year"] or inf))


def _facts(cls: "type[Method[Any]]") -> ListRow:
    """What a method of default hyperparameters consists of, seen on a problem of odd sizes.

    Number of networks, roles of its views (none where it is fitted), and the shapes of its buffers
    that have an entry for each of the N training instances.
    """
    import torch

    from pllbench.method import Network, Problem
    from pllbench.networks import make_network

    letters = {997: "N", 31: "C", 7: "D"}  # primes, which no other dimension is by chance
    num_rows, num_classes, num_features = letters
    candidates = torch.eye(num_classes, dtype=torch.bool)[torch.arange(num_rows) % num_classes]

    def network() -> Network:
        return make_network(TrainSpec(), (num_features,), num_classes)

    problem = Problem(candidates, cls.reference_epochs, network, (num_features,))
    method = cls(problem, cls.hparams_type())
    return {
        "networks": sum(isinstance(module, Network) for module in method.modules()),
        "views": method.views if cls.gradient else (),
        "buffers": {
            name: [letters.get(size, size) for size in buffer.shape]
            for name, buffer in method.named_buffers()
            if num_rows in buffer.shape
        },
    }


def brief(what: str, row: ListRow) -> ListRow:
    """A row as a terminal shows it, to fit a line."""
    match what:
        case "methods":
            return _brief_method(row)
        case "datasets":
            return {key: value for key, value in row.items() if key != "title"}
        case "benchmarks":
            return _brief_benchmark(row)
        case _:
            return row


def _brief_method(row: Mapping[str, Any]) -> ListRow:
    """A method, and what it keeps in words."""
    count = row["networks"]
    views = Counter(row["views"]).items()
    parts = [
        "no network" if not count else f"{count} network{'s' if count > 1 else ''}",
        "views " + ", ".join(f"{n} {role}" for role, n in views) if views else "fitted at once",
        *(f"{name} [{', '.join(map(str, shape))}]" for name, shape in row["buffers"].items()),
    ]
    if row["other_names"]:
        parts.append(f"also called {', '.join(row['other_names'])}")
    if not row["from"].startswith("pllbench "):
        parts.append(f"from {row['from'].partition(' (')[0]}")
    shown = {key: row[key] for key in ("name", "family", "year", "venue")}
    return shown | {"keeps": "; ".join(parts)}


def _brief_benchmark(row: ListRow) -> ListRow:
    """A benchmark with the hours left in one column.

    `> 2.7` hours are left where some runs cannot be estimated, `?` where none can.
    """
    known, unknown = row["hours_left"], row["unestimated"]
    hours = "?" if known is None else f"> {known}" if unknown else str(known)
    head = {key: row[key] for key in ("name", "runs", "done")}
    return head | {"hours_left": hours, "title": row["title"]}


def _candidates(info: DatasetInfo) -> str:
    """Where its candidate sets come from."""
    if info.annotated:
        return "annotations"
    return "real" if info.real_candidates else info.process or "generated"


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
    what: Annotated[Listed, typer.Argument(help="Kind of names.")],
    results: ResultsDir = Path("results"),
    as_json: Json = False,
) -> None:
    """List what the command line can name."""
    from pllbench.cli import console

    listed = rows(what, results)
    if as_json:
        console.write(json.dumps(listed, indent=1) + "\n")
    else:
        one_line = what in ("datasets", "benchmarks")
        console.show_columns([brief(what, row) for row in listed], one_line=one_line)
