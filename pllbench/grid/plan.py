"""Which runs: a selection, resolved through protocol, variants and benchmark to `RunSpec`s."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pllbench.data.catalogue import DatasetInfo, dataset_info
from pllbench.data.custom import find_dataset
from pllbench.grid.benchmark import Benchmark, Grid, load_benchmark
from pllbench.grid.labels import label
from pllbench.grid.protocol import (
    DEFAULT_RATES,
    GridCell,
    Protocol,
    Setting,
    Variant,
    default_protocol,
    merge,
)
from pllbench.grid.resolve import resolve
from pllbench.registry import find_method, method_entries
from pllbench.spec import RunSpec, takes_rate
from pllbench.validation import FieldError, did_you_mean


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of a grid, with the name and label of the row it belongs to.

    Attributes:
        name: the method or variant, as --methods takes it.
        label: printed.
        spec: the run.
        data: its data set.
    """

    name: str
    label: str
    spec: RunSpec
    data: DatasetInfo

    @property
    def title(self) -> str:
        """In words: label, data set, candidate process unless plainly uniform, q and seed."""
        spec = self.spec
        process = spec.candidates.text if spec.candidates else "uniform"
        where = spec.dataset if process == "uniform" else f"{spec.dataset} {process}"
        q = "" if spec.q is None else f" q={spec.q:g}"
        return f"{self.label} · {where}{q} · seed {spec.seed}"


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for; an empty part is left to the benchmark or the protocol.

    Attributes:
        benchmark: grids to run; None for one grid made of the other parts.
        methods: methods and variants; replaces the benchmark's.
        datasets: data sets, or paths of custom data; of a benchmark, keeps these only.
        q: noise rates; of a benchmark, keeps these only.
        seeds: run seeds; replaces the benchmark's.
        flags: further settings, each with the flag's text as its reason.
        protocol: settings that apply to all.
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
    return _Planner(selection).runs()


class _Planner:
    """A selection on its way to runs.

    Attributes:
        selection: what is asked for.
        benchmark: its benchmark; else one grid made of its other parts.
        data: the selected data sets, by name.
        protocol: the protocol, with the variants of the benchmark among its own.
        unused: settings that have applied to no cell so far, by identity.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.benchmark = selection.benchmark or Benchmark(
            grid=(Grid(methods=selection.methods, q=selection.q),)
        )
        self.data = _selected_data(selection.datasets)
        variants = known_variants(selection)
        self.protocol = selection.protocol.model_copy(update={"variants": variants})
        settings = [*self.benchmark.setting, *selection.flags]
        settings += [setting for grid in self.benchmark.grid for setting in grid.setting]
        for setting in settings:
            for name in setting.when.method:
                self._base(name, setting.reason)
        self.unused = {id(setting): setting for setting in settings}

    def runs(self) -> list[PlannedRun]:
        planned: dict[tuple[str, str], PlannedRun] = {}
        for grid in self.benchmark.grid:
            overlay = load_benchmark(grid.protocol).setting if grid.protocol else ()
            for cell, info in self._cells(grid):
                spec = self._resolved(cell, info, grid, overlay)
                row = label(spec, cell.name, self.protocol)
                for seed in self.selection.seeds or grid.seeds:
                    seeded = spec.model_copy(update={"seed": seed})
                    run = PlannedRun(cell.name, row, seeded, info)
                    planned.setdefault((cell.name, seeded.run_id), run)
        self._require_all([run.spec for run in planned.values()])
        self._require_used()
        return list(planned.values())

    def _resolved(
        self, cell: GridCell, info: DatasetInfo, grid: Grid, overlay: Sequence[Setting]
    ) -> RunSpec:
        """The runs of a cell, at seed 0."""
        further = (*self.benchmark.setting, *grid.setting, *self.selection.flags)
        settings = self.protocol.settings_of(cell, overlay, further)
        if cell.q is not None and not takes_rate(merge(settings).candidates):
            cell = replace(cell, q=None)  # its runs are the same at every q
            settings = self.protocol.settings_of(cell, overlay, further)
        for setting in settings:
            self.unused.pop(id(setting), None)
        return resolve(cell, settings, info)

    def _cells(self, grid: Grid) -> Iterator[tuple[GridCell, DatasetInfo]]:
        selection, named = self.selection, self.selection.benchmark is not None
        methods = selection.methods or grid.methods
        if not methods:
            raise FieldError("methods", "name some, or a benchmark")
        bases = {name: self._base(name, by_user=bool(selection.methods)) for name in methods}
        for info in self._data_of(grid):
            for name, base in bases.items():
                if find_method(base).labels == "true" or info.real_candidates:
                    yield GridCell(name, base, info.name, info.kind, None), info
                    continue
                for q in grid.q or selection.protocol.q.get(info.name, DEFAULT_RATES):
                    if not (named and selection.q) or q in selection.q:
                        yield GridCell(name, base, info.name, info.kind, q), info

    def _data_of(self, grid: Grid) -> list[DatasetInfo]:
        """The data sets of a grid that are selected."""
        if self.selection.benchmark:
            named = [name for name in grid.datasets if not self.data or name in self.data]
            return [dataset_info(name) for name in named]
        return list(self.data.values()) or [dataset_info("digits")]

    def _base(self, name: str, where: str = "", *, by_user: bool = False) -> str:
        """The registered method behind a method or variant.

        Raises:
            ValueError: there is none of that name; the message begins with `where`, if it is not
                empty.
        """
        variants, methods = self.protocol.variants, method_entries()
        base = variants[name].base if name in variants else name
        if base in methods:
            return base
        unknown = f"unknown method {name!r}: {did_you_mean(name, {*methods, *variants})}"
        if by_user:
            raise FieldError("methods", unknown)
        raise ValueError(": ".join(filter(None, (where, unknown))))

    def _require_all(self, specs: Sequence[RunSpec]) -> None:
        """Raise ValueError if something that was asked for is in no run."""
        if not specs:
            raise ValueError(
                "the selection has no runs: its data sets or q are not in the benchmark"
            )
        found = {spec.dataset for spec in specs}
        for name in self.data:
            if name not in found:
                here = ", ".join(sorted(found))
                raise FieldError("datasets", f"not in this benchmark, {here} are", name)
        rates = {spec.q for spec in specs} - {None}
        for rate in self.selection.q:
            if not rates:
                reason = "no run here has generated candidate sets, of a process with a rate"
                raise FieldError("q", reason)
            if rate not in rates:
                raise FieldError("q", "not in this benchmark", f"{rate:g}")
        for flag in self.selection.flags:
            if flag.candidates and not any(spec.candidates for spec in specs):
                raise ValueError(f"{flag.reason}: no data set here has generated candidate sets")

    def _require_used(self) -> None:
        """Raise ValueError if a setting applies to no run; those of a whole benchmark may not."""
        selection = self.selection
        restricted = bool(selection.methods or selection.datasets or selection.q)
        for setting in self.unused.values():
            if setting in selection.flags or not restricted:
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


def _selected_data(texts: Sequence[str]) -> Mapping[str, DatasetInfo]:
    """The data sets that are selected, by name.

    Raises:
        ValueError: an unknown data set, a path without a data set, or two of one name.
    """
    found: dict[str, DatasetInfo] = {}
    for text in texts:
        info = find_dataset(text)
        if info.name in found and info.path:
            raise ValueError(f"{text}: another data set is named {info.name!r} as well")
        found[info.name] = info
    return found
