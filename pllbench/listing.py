"""What the command line can name, by kind: the rows of `pllbench list`. Needs no torch."""

from enum import StrEnum
from typing import get_args

from pllbench import protocol
from pllbench.catalogue import DATASETS
from pllbench.registry import describe, method_entries
from pllbench.spec import NetworkName, Process

Kind = StrEnum("Kind", ["methods", "variants", "datasets", "networks", "candidates", "benchmarks"])

Row = dict[str, object]


def rows(kind: Kind) -> list[Row]:
    """One row for each thing of a kind; its `name` is what flags take."""
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
            return [
                {"name": name, "title": protocol.load_benchmark(name).title}
                for name in protocol.benchmark_names()
            ]
