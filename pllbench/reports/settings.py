"""The settings of a line's runs: what holds on all data sets, and what differs between them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pllbench.data.catalogue import DATASETS
from pllbench.reports.report import TextTable, plain_headers, plain_row
from pllbench.reports.table import data_title
from pllbench.spec import RunSpec, unread_settings


class _Place(NamedTuple):
    """Where a setting holds: a data set, and a noise rate on it."""

    data: str
    q: float | None


def tabulate_settings(specs: Iterable[RunSpec]) -> TextTable:
    """A row a setting and value; where a setting has several, with the data sets of each."""
    where: dict[tuple[str, str], dict[str, set[_Place]]] = defaultdict(lambda: defaultdict(set))
    for spec in specs:
        place = _Place(data_title(spec.dataset, spec.imbalance), spec.q)
        for setting, value in _settings(spec).items():
            where[setting][value].add(place)
    rows = [
        plain_row((*setting, value, "everywhere" if len(values) == 1 else _places(values, value)))
        for setting, values in where.items()
        for value in values
    ]
    return TextTable(
        title="Settings",
        headers=plain_headers(("Part", "Setting", "Value", "Where")),
        rows=tuple(rows),
        num_labels=4,
        notes=("Settings that the runs on a data set do not read are left out there.",),
    )


def _places(values: Mapping[str, set[_Place]], value: str) -> str:
    """The places of a value; `elsewhere` for the value that has most of them.

    A data set on which it holds at all rates is named once.
    """
    if value == max(values, key=lambda other: len(values[other])):
        return "elsewhere"
    others = {place.data for other, places in values.items() if other != value for place in places}
    names = {
        f"{data} (q = {q:g})" if data in others and q is not None else data
        for data, q in values[value]
    }
    return ", ".join(sorted(names))


def _settings(spec: RunSpec) -> dict[tuple[str, str], str]:
    """Settings that a run reads as text, by their part and name."""
    train, views = dict(spec.train), dict(spec.views)
    unread = unread_settings(spec.kind or DATASETS[spec.dataset].kind, train, views)
    parts: dict[str, Mapping[str, object]] = {
        "hyperparameters": spec.hparams,
        "train": train if spec.gradient else {},
        "views": views,
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
        if part not in ("train", "views") or name not in unread
    }


def _text(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
