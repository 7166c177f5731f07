"""Which runs: a selection, resolved through protocol, variants and benchmark to `RunSpec`s."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pllbench.catalogue import DATASETS
from pllbench.own import OwnData, dataset_name, inspect, is_path
from pllbench.protocol import (
    DEFAULT_RATES,
    Benchmark,
    Cell,
    Grid,
    Protocol,
    Setting,
    Variant,
    default_protocol,
    load_benchmark,
    merge,
)
from pllbench.registry import did_you_mean, load_method, method_entries
from pllbench.resolution import resolve, takes_rate
from pllbench.rows import label
from pllbench.spec import RunSpec


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of a grid, with the name and label of the row it belongs to."""

    name: str
    label: str
    spec: RunSpec
    own: OwnData | None = None
    """The user's own data that it is on."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the command line asks for; an empty part is left to the benchmark or the protocol.

    Attributes:
        benchmark: grids to run; None for one grid made of the other parts.
        methods: methods and variants; replaces the benchmark's.
        datasets: data sets, or paths of the user's own data; of a benchmark, keeps these only.
        q: noise rates; of a benchmark, keeps these only.
        seeds: run seeds; replaces the benchmark's.
        flags: settings given as flags, each with the flag's text as its reason.
    """

    benchmark: Benchmark | None = None
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    q: tuple[float, ...] = ()
    seeds: tuple[int, ...] = ()
    flags: tuple[Setting, ...] = ()
    protocol: Protocol = field(default_factory=default_protocol)


def plan(selection: Selection) -> list[PlannedRun]:
    """All runs that `selection` asks for, in the order of the grid.

    A row has each run once; two rows may share a run.

    Raises:
        ValueError: a name, key or value is wrong, or a setting applies to no run.
    """
    mine = own_data(selection.datasets)
    selection = replace(selection, datasets=tuple(_name(text) for text in selection.datasets))
    protocol = selection.protocol
    variants = known_variants(selection)
    known = protocol.model_copy(update={"variants": variants})
    whole = selection.benchmark or Benchmark(grid=(Grid(methods=selection.methods, q=selection.q),))
    restricted = bool(selection.methods or selection.datasets or selection.q)
    planned: dict[tuple[str, str], PlannedRun] = {}
    used: set[int] = set()
    for setting in (*whole.setting, *(s for g in whole.grid for s in g.setting), *selection.flags):
        for name in setting.when.method:
            _base(name, variants, setting.reason)
    for grid in whole.grid:
        overlay = load_benchmark(grid.protocol).setting if grid.protocol else ()
        layers = (*whole.setting, *grid.setting, *selection.flags)
        for cell in _cells(grid, selection, variants, mine):
            variant = variants.get(cell.name)
            own = variant.layers() if variant else ()
            stack = (*protocol.setting, *overlay, *own, *layers)
            settings = [setting for setting in stack if setting.when.matches(cell)]
            if cell.q is not None and not takes_rate(merge(settings)):
                cell = replace(cell, q=None)  # noqa: PLW2901 - its runs are the same at every q
                settings = [setting for setting in stack if setting.when.matches(cell)]
            used.update(map(id, settings))
            for seed in selection.seeds or grid.seeds:
                data = mine.get(cell.dataset)
                spec = resolve(cell, seed, settings, data)
                run = PlannedRun(cell.name, label(spec, cell.name, known), spec, data)
                planned.setdefault((cell.name, spec.run_id), run)
        for setting in () if restricted else grid.setting:
            _require_used(setting, used)
    _require_all(selection, [run.spec for run in planned.values()])
    for setting in () if restricted else whole.setting:
        _require_used(setting, used)
    for flag in selection.flags:
        _require_used(flag, used)
    return list(planned.values())


def _require_all(selection: Selection, specs: Sequence[RunSpec]) -> None:
    """Raise ValueError if something that was asked for is in no run."""
    if not specs:
        raise ValueError("the selection has no runs: its data sets or q are not in the benchmark")
    found = {spec.dataset for spec in specs}
    for dataset in selection.datasets:
        if dataset not in found:
            raise ValueError(
                f"--datasets {dataset}: not in this benchmark, {', '.join(sorted(found))} are"
            )
    rates = {spec.q for spec in specs} - {None}
    for rate in selection.q:
        if not rates:
            raise ValueError(
                "--q: no run here has generated candidate sets, of a process with a rate"
            )
        if rate not in rates:
            raise ValueError(f"--q {rate:g}: not in this benchmark")
    for flag in selection.flags:
        if flag.candidates and not any(spec.candidates for spec in specs):
            raise ValueError(f"{flag.reason}: no data set here has generated candidate sets")
        if flag.train and not any(spec.gradient for spec in specs):
            raise ValueError(f"{flag.reason}: no method here has train settings, all are fitted")


def _require_used(setting: Setting, used: set[int]) -> None:
    if id(setting) not in used:
        when = setting.when.model_dump_json(exclude_defaults=True)
        name = setting.reason or f"setting when {when}"
        raise ValueError(f"{name}: applies to no run of this selection")


def known_variants(selection: Selection) -> dict[str, Variant]:
    """Built-in variants and those of the benchmark, by name.

    Raises:
        ValueError: a variant has the name of a method or of a built-in variant, or its base is
            unknown.
    """
    variants = dict(selection.protocol.variants)
    if selection.benchmark:
        for name, variant in selection.benchmark.variants.items():
            if name in variants:
                raise ValueError(f"variant {name!r} is built in already: choose another name")
            variants[name] = variant
    methods = method_entries()
    for name, variant in variants.items():
        if name in methods:
            raise ValueError(f"variant {name!r} has the name of a method: choose another name")
        if variant.base not in methods:
            hint = did_you_mean(variant.base, methods)
            raise ValueError(f"variant {name!r}: unknown method {variant.base!r}: {hint}")
    return variants


def _name(dataset: str) -> str:
    """Name of a data set that --datasets names or gives the path of."""
    return dataset_name(Path(dataset)) if is_path(dataset) else dataset


def _base(name: str, variants: Mapping[str, Variant], where: str) -> str:
    """The registered method behind a method or variant.

    Raises:
        ValueError: there is none of that name; the message begins with `where`, if it is not empty.
    """
    base = variants[name].base if name in variants else name
    if base not in method_entries():
        hint = did_you_mean(name, {*method_entries(), *variants})
        raise ValueError(": ".join(filter(None, (where, f"unknown method {name!r}", hint))))
    return base


def own_data(datasets: Sequence[str]) -> dict[str, OwnData]:
    """The user's own data among what --datasets names, by name.

    Raises:
        ValueError: an unknown data set, a path without a data set, or two of one name.
    """
    found: dict[str, OwnData] = {}
    for text in datasets:
        if is_path(text):
            mine = inspect(Path(text))
            if mine.name in found:
                raise ValueError(f"{text}: another data set is named {mine.name!r} as well")
            found[mine.name] = mine
        elif text not in DATASETS:
            raise ValueError(f"unknown data set {text!r}: {did_you_mean(text, DATASETS)}")
    return found


def _cells(
    grid: Grid,
    selection: Selection,
    variants: dict[str, Variant],
    own: Mapping[str, OwnData],
) -> Iterator[Cell]:
    methods = selection.methods or grid.methods
    datasets, rates = selection.datasets, grid.q
    if selection.benchmark:
        datasets = tuple(d for d in grid.datasets if not datasets or d in datasets)
    if not methods:
        raise ValueError("no methods: name some with --methods, or a --benchmark")
    where = "--methods" if selection.methods else ""
    bases = {name: _base(name, variants, where) for name in methods}
    for dataset in datasets or ("digits",) * (not selection.benchmark):
        info = own[dataset].info if dataset in own else DATASETS[dataset]
        kind = info.kind if dataset in own else None
        for name, base in bases.items():
            learns_from_true = load_method(base).labels == "true"
            if learns_from_true or info.real_candidates:
                yield Cell(name, base, dataset, None, kind)
                continue
            for q in rates or selection.protocol.q.get(dataset, DEFAULT_RATES):
                if not (selection.benchmark and selection.q) or q in selection.q:
                    yield Cell(name, base, dataset, q, kind)
