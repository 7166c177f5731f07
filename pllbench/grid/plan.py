"""Which runs: a selection, resolved through protocol, variants and benchmark to `RunSpec`s."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pllbench.data.catalogue import DATASETS, DatasetInfo, dataset_info
from pllbench.data.custom import find_dataset
from pllbench.grid.benchmark import Benchmark, Grid, load_benchmark
from pllbench.grid.declared import declared, keep
from pllbench.grid.labels import label, run_title
from pllbench.grid.protocol import (
    DEFAULT_RATES,
    GridCell,
    Protocol,
    Setting,
    Variant,
    default_protocol,
    merge,
    unknown_row,
)
from pllbench.grid.resolve import resolve, with_features
from pllbench.registry import MethodClasses, given_classes, method_names, unknown_method
from pllbench.spec import Kind, RunSpec, round_rate, takes_rate
from pllbench.validation import FieldError, did_you_mean, folded_name


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of a grid, with the name and label of the row it belongs to.

    Attributes:
        name: the method or variant, as --methods takes it.
        label: printed.
        spec: the run.
        data: its data set.
        grid: the name of the benchmark's grid that asks for it.
    """

    name: str
    label: str
    spec: RunSpec
    data: DatasetInfo
    grid: str = ""

    @property
    def title(self) -> str:
        """In words, as `run_title` has it."""
        return run_title(self.label, self.spec)


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for; an empty part is left to the benchmark or the protocol.

    Attributes:
        benchmark: grids to run; None for one grid made of the other parts.
        methods: methods and variants; replaces the benchmark's.
        classes: those of the methods that are given without an entry point, by name.
        datasets: data sets, or paths of custom data. Of those of a benchmark, keeps these only;
            custom data that the benchmark does not name are put into every grid.
        q: noise rates, rounded as in specs; of a benchmark, keeps these only.
        imbalance: of training rows, where candidate sets are generated; of a benchmark, keeps these
            only.
        seeds: run seeds; replaces the benchmark's.
        flags: further settings, each with the flag's text as its reason.
        protocol: settings that apply to all.
    """

    benchmark: Benchmark | None = None
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    q: tuple[float, ...] = ()
    imbalance: tuple[float, ...] = ()
    seeds: tuple[int, ...] = ()
    flags: tuple[Setting, ...] = ()
    protocol: Protocol = field(default_factory=default_protocol)
    classes: MethodClasses = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", tuple(map(round_rate, self.q)))  # it is frozen


def plan(selection: Selection) -> list[PlannedRun]:
    """All runs that `selection` asks for, in the order of the grid.

    A row has each run once; two rows may share a run.

    Raises:
        ValueError: a name, key or value is wrong, or a setting applies to no run.
    """
    with given_classes(selection.classes):
        runs = _Planner(selection).runs()
    keep()
    return runs


class _Planner:
    """A selection on its way to runs.

    Attributes:
        selection: what is asked for.
        benchmark: its benchmark; else one grid made of its other parts.
        data: the selected data sets, by name.
        named: the data sets of the benchmark, as its file names them.
        added: selected custom data that the benchmark does not name.
        protocol: the protocol, with the variants of the benchmark among its own.
        unused: settings that have applied to no cell so far, by identity.
        unread: flags that no run has read so far, by identity.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.benchmark = selection.benchmark or Benchmark(
            grid=(Grid(methods=selection.methods, q=selection.q, imbalance=selection.imbalance),)
        )
        self.data = _by_name(map(find_dataset, selection.datasets))
        names = (name for grid in self.benchmark.grid for name in grid.datasets)
        self.named = {name: find_dataset(name) for name in dict.fromkeys(names)}
        known = _by_name([*self.data.values(), *self.named.values()])
        own = {info.name for info in self.named.values()}
        self.added = [info for name, info in self.data.items() if info.path and name not in own]
        variants = known_variants(selection)
        self.protocol = selection.protocol.model_copy(update={"variants": variants})
        settings = [*self.benchmark.setting, *selection.flags]
        settings += [setting for grid in self.benchmark.grid for setting in grid.setting]
        for setting in settings:
            for name in setting.when.method:
                self._base(name, setting.reason)
        variant_settings = [s for variant in variants.values() for s in variant.setting]
        _require_data((*self.protocol.setting, *variant_settings, *settings), known)
        self.unused = {id(setting): setting for setting in settings}
        self.unread = {id(flag): flag for flag in selection.flags}

    def runs(self) -> list[PlannedRun]:
        planned: dict[tuple[str, str], PlannedRun] = {}
        for grid in self.benchmark.grid:
            overlay = load_benchmark(grid.protocol).setting if grid.protocol else ()
            for cell, plain in self._cells(grid):
                spec, info = self._resolved(cell, plain, grid, overlay)
                row = label(spec, cell.name, self.protocol)
                for seed in self.selection.seeds or grid.seeds:
                    seeded = spec.model_copy(update={"seed": seed})
                    run = PlannedRun(cell.name, row, seeded, info, grid.name)
                    planned.setdefault((cell.name, seeded.run_id), run)
        self._require_all([run.spec for run in planned.values()])
        self._require_used()
        self._require_read({run.data.kind for run in planned.values()})
        return list(planned.values())

    def _resolved(
        self, cell: GridCell, info: DatasetInfo, grid: Grid, overlay: Sequence[Setting]
    ) -> tuple[RunSpec, DatasetInfo]:
        """The run of a cell at seed 0, and its data set with what the settings add to it."""
        further = (*self.benchmark.setting, *grid.setting, *self.selection.flags)
        settings = self.protocol.applicable_settings(cell, overlay, further)
        merged = merge(settings, info.kind)
        if cell.q is not None and not takes_rate(merged.candidates):
            cell = replace(cell, q=None)  # its runs are the same at every q
            settings = self.protocol.applicable_settings(cell, overlay, further)
            merged = merge(settings, info.kind)
        for setting in settings:
            self.unused.pop(id(setting), None)
            keys = {*setting.train, *setting.views}
            if not keys or keys & {*merged.train, *merged.views}:
                self.unread.pop(id(setting), None)
        info = with_features(info, merged)
        return resolve(cell, settings, info), info

    def _cells(self, grid: Grid) -> Iterator[tuple[GridCell, DatasetInfo]]:
        selection, named = self.selection, self.selection.benchmark is not None
        methods = selection.methods or grid.methods
        if not methods:
            raise FieldError("methods", "name some, or a benchmark")
        bases = {name: self._base(name, by_user=bool(selection.methods)) for name in methods}
        for info in self._grid_data(grid):
            for name, base in bases.items():
                _require_labels(name, base, info)
                rated = declared(base, {}, name).labels != "true" and not info.real_candidates
                rates = grid.q or selection.protocol.q.get(info.name, DEFAULT_RATES)
                for imbalance in (1.0,) if info.real_candidates else grid.imbalance or (1.0,):
                    if named and selection.imbalance and imbalance not in selection.imbalance:
                        continue
                    for q in rates if rated else (None,):
                        if named and selection.q and q not in (None, *selection.q):
                            continue
                        yield GridCell(name, base, info.name, info.kind, q, imbalance), info

    def _grid_data(self, grid: Grid) -> list[DatasetInfo]:
        """The data sets of a grid that are selected."""
        if self.selection.benchmark:
            named = [self.named[name] for name in grid.datasets]
            kept = [info for info in named if not self.data or info.name in self.data]
            return kept + self.added
        return list(self.data.values()) or [dataset_info("digits")]

    def _base(self, name: str, where: str = "", *, by_user: bool = False) -> str:
        """The registered method behind a method or variant.

        Raises:
            ValueError: there is none of that name; the message begins with `where`, if it is not
                empty.
        """
        variants, methods = self.protocol.variants, method_names()
        base = variants[name].base if name in variants else name
        if base in methods:
            return base
        unknown = unknown_row(name, self.protocol, {*methods, *variants})
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
        ratios = {spec.imbalance for spec in specs}
        for ratio in self.selection.imbalance:
            if ratio not in ratios:
                reason = "no run here is on a data set whose candidate sets are generated"
                if self.selection.benchmark:
                    reason = "not in this benchmark"
                raise FieldError("imbalance", reason, f"{ratio:g}")
        for flag in self.selection.flags:
            if flag.candidates and not any(spec.candidates for spec in specs):
                raise ValueError(f"{flag.reason}: no data set here has generated candidate sets")
            if flag.train and not any(spec.gradient for spec in specs):
                raise ValueError(f"{flag.reason}: no method here has train settings")
            if flag.annotations and not any(spec.annotations for spec in specs):
                raise ValueError(f"{flag.reason}: no data set here comes with annotators' labels")
            if flag.pruning and not any(spec.pruning for spec in specs):
                raise ValueError(f"{flag.reason}: no method here learns from candidate sets")

    def _require_used(self) -> None:
        """Raise ValueError if a setting applies to no run; those of a whole benchmark may not."""
        selection = self.selection
        named = (selection.methods, selection.datasets, selection.q, selection.imbalance)
        restricted = any(named)
        for setting in self.unused.values():
            if setting in selection.flags or not restricted:
                when = setting.when.model_dump_json(exclude_defaults=True)
                name = setting.reason or f"setting when {when}"
                raise ValueError(f"{name}: applies to no run of this selection")

    def _require_read(self, kinds: Iterable[Kind]) -> None:
        """Raise ValueError if a flag sets what no run reads, on data of these kinds."""
        for flag in self.unread.values():
            listed = ", ".join(sorted(kinds))
            raise ValueError(f"{flag.reason}: no run here reads it (kinds of data: {listed})")


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
    methods = method_names()
    named = {label: name for name, label in selection.protocol.labels.items()}
    for name, variant in variants.items():
        if (other := named.setdefault(variant.label, name)) != name:
            raise ValueError(f"variant {name!r} has the label {variant.label!r} of {other!r}")
        if name in methods:
            raise ValueError(f"variant {name!r} has the name of a method: choose another name")
        if variant.base not in methods:
            raise ValueError(f"variant {name!r}: {unknown_method(variant.base, methods)}")
    return variants


def _require_labels(name: str, base: str, info: DatasetInfo) -> None:
    """Raise FieldError if a method learns from true labels that a data set does not have."""
    if declared(base, {}, name).labels == "true" and not info.labelled:
        reason = f"learns from true labels, and {info.path} has none: leave it out"
        raise FieldError("methods", reason, name)


def _require_data(settings: Iterable[Setting], known: Iterable[str]) -> None:
    """Raise ValueError if a setting is for a data set that is not `known` or in the catalogue."""
    names = {*DATASETS, *known}
    for setting in settings:
        for name in setting.when.dataset:
            if name not in names:
                when = setting.when.model_dump_json(exclude_defaults=True)
                hint = did_you_mean(name, names)
                raise ValueError(f"setting when {when}: unknown data set {name!r}: {hint}")


def _by_name(infos: Iterable[DatasetInfo]) -> Mapping[str, DatasetInfo]:
    """Data sets by name.

    Raises:
        ValueError: two custom ones have one name, or names that differ in case alone.
    """
    found: dict[str, DatasetInfo] = {}
    for info in infos:
        other = found.setdefault(folded_name(info.name), info)
        if (other.name, other.digest) != (info.name, info.digest):
            raise ValueError(f"{info.path}: another data set is named {other.name!r} as well")
    return {info.name: info for info in found.values()}
