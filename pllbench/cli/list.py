"""What the command line can name, by kind: the rows of `pllbench list`.

Needs no torch, except for benchmarks, whose runs are counted.
"""

from enum import StrEnum
from pathlib import Path
from typing import get_args

from pllbench.data.catalogue import DATASETS
from pllbench.grid import protocol
from pllbench.registry import describe, method_entries
from pllbench.spec import NetworkName, Process

Kind = StrEnum("Kind", ["methods", "variants", "datasets", "networks", "candidates", "benchmarks"])

Row = dict[str, object]


def rows(kind: Kind, results: Path) -> list[Row]:
    """One row for each thing of a kind; its `name` is what flags take.

    Benchmarks say how many of their runs have a record in the folder `results`.
    """
    match kind:
        case Kind.methods:
            return [
                {"name": name, "from": describe(entry)} for name, entry in method_entries().items()
            ]
        case Kind.variants:
            return [
                {"name": name, "base": variant.base, "label": variant.label}
                for name, variant in protocol.default_protocol().variants.items()
            ]
        case Kind.datasets:
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
        case Kind.networks:
            return [{"name": name} for name in get_args(NetworkName)]
        case Kind.candidates:
            return [{"name": name} for name in get_args(Process)]
        case Kind.benchmarks:
            return _benchmarks(results)


def _benchmarks(results: Path) -> list[Row]:
    """The benchmarks, and how far each is: runs, runs done, and an estimate of the hours left."""
    from pllbench.grid.plan import Selection, plan
    from pllbench.results import records
    from pllbench.results.status import outlook

    found, _ = records.query(results)
    listed: list[Row] = []
    for name in protocol.benchmark_names():
        benchmark = protocol.load_benchmark(name)
        far = outlook(plan(Selection(benchmark=benchmark)), found)
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
