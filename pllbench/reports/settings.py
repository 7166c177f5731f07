"""The settings of a line's runs: what holds on all data sets, and what differs between them."""

from collections import defaultdict
from collections.abc import Iterable

from pllbench.reports.report import TextTable, plain_headers, plain_row
from pllbench.reports.table import data_title
from pllbench.spec import RunSpec


def tabulate_settings(specs: Iterable[RunSpec]) -> TextTable:
    """A row a setting and value; where a setting has several, with the data sets of each."""
    where: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for spec in specs:
        place = data_title(spec.dataset, spec.imbalance) + (
            "" if spec.q is None else f" (q = {spec.q:g})"
        )
        for setting, value in _settings(spec).items():
            if place not in where[setting][value]:
                where[setting][value].append(place)
    rows = [
        plain_row((*setting, value, "everywhere" if len(values) == 1 else _places(values, value)))
        for setting, values in where.items()
        for value in values
    ]
    headers = ("Part", "Setting", "Value", "Where")
    return TextTable("Settings", plain_headers(headers), tuple(rows), 4)


def _places(values: dict[str, list[str]], value: str) -> str:
    """The places of a value; `elsewhere` for the value that has most of them."""
    most = max(values, key=lambda other: len(values[other]))
    return "elsewhere" if value == most else ", ".join(values[value])


def _settings(spec: RunSpec) -> dict[tuple[str, str], str]:
    """Settings of a run as text, by their part and name."""
    parts: dict[str, dict[str, object]] = {
        "hyperparameters": dict(spec.hparams),
        "train": dict(spec.train),
        "views": dict(spec.views),
    }
    if spec.candidates:
        read = spec.candidates.read
        parts["candidates"] = {key: read[key] for key in read if key not in ("process", "q")}
    parts["run"] = {"version": spec.version, "holdout": spec.holdout, "data_seed": spec.data_seed}
    if spec.pruning:
        parts["pruning"] = dict(spec.pruning)
    return {
        (part, name): _text(value)
        for part, values in parts.items()
        for name, value in values.items()
    }


def _text(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
