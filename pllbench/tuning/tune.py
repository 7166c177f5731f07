"""Tuning: a selection is searched for settings, alike for all of its methods."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import ValidationError

from pllbench.budget import FIRST_SEED, Judging, TuningRequest
from pllbench.grid.benchmark import Benchmark
from pllbench.grid.plan import PlannedRun, Selection, known_variants, plan
from pllbench.grid.protocol import Setting
from pllbench.results.files import write_atomic
from pllbench.runner.engine import Engine
from pllbench.runner.job import RunOptions
from pllbench.runner.progress import Observer
from pllbench.tuning.chosen import Choice, choose_settings, comparing_benchmark, to_toml
from pllbench.tuning.search import SearchSummary, search
from pllbench.tuning.space import Space, own_space, shared_space
from pllbench.tuning.study import Study, StudyFile, Trial, open_study, study_folder
from pllbench.tuning.trials import TunedCell
from pllbench.validation import FieldError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class TuningPlan:
    """What is to be searched.

    Attributes:
        selection: whose methods are tuned.
        request: how trials are made and judged, and how many.
        given: the fields of `request` that were asked for; the others are those of the study.
        study: name of the study.
        spaces: a folder of spaces that come before those of the suite.
    """

    selection: Selection
    request: TuningRequest
    given: frozenset[str] = frozenset()
    study: str = "default"
    spaces: Path | None = None

    @classmethod
    def of(
        cls, selection: Selection, asked: Mapping[str, object], study: str, spaces: Path | None
    ) -> Self:
        """The plan of what is asked for, and of what the benchmark's file asks for beside it.

        Raises:
            FieldError: a field is wrong.
        """
        for name, value in asked.items():
            _require(name, value)
        told = selection.benchmark.tuning if selection.benchmark else TuningRequest()
        fields = {name: getattr(told, name) for name in told.model_fields_set} | dict(asked)
        return cls(selection, TuningRequest.parse(fields), frozenset(fields), study, spaces)

    def open(self, results: Path) -> tuple[Study, list[TunedCell]]:
        """The study below a results folder, made where there is none, and its cells here.

        Raises:
            ValueError: the selection is wrong, a method has no space, or the study was made with
                other settings.
        """
        folder = study_folder(results, self.study)
        study = open_study(folder, self.file(), self._given())
        return study, self.cells(study.file)

    def file(self) -> StudyFile:
        """What a new study of it gives to every method; raises as `open`."""
        judging = Judging(**self.request.model_dump(exclude={"trials"}))
        train = {key for setting in self._stated() for key in setting.train}
        shared = shared_space(self.spaces).without(frozenset(), frozenset(train))
        own = {run.name: self._own_space(run) for run in self._bases(judging)}
        return StudyFile(judging=judging, trials=(self.request.trials,), shared=shared, own=own)

    def cells(self, file: StudyFile) -> list[TunedCell]:
        """What is tuned here in a study; raises as `open`."""
        cells = [
            TunedCell(run, file.shared, file.own[run.name], file.judging)
            for run in self._bases(file.judging)
        ]
        for cell in cells:
            cell.require_defaults()
        return cells

    def _given(self) -> dict[str, object]:
        return {name: getattr(self.request, name) for name in self.given - {"trials"}}

    def _stated(self) -> list[Setting]:
        """The settings of benchmark and flags: what they state is not searched."""
        benchmark = self.selection.benchmark
        grids = benchmark.grid if benchmark else ()
        own = [setting for grid in grids for setting in grid.setting]
        return [*(benchmark.setting if benchmark else ()), *own, *self.selection.flags]

    def _own_space(self, run: PlannedRun) -> Space:
        """The space of a method, without what its variant, the benchmark and flags state."""
        variant = known_variants(self.selection).get(run.name)
        stated = [*(variant.layers() if variant else ()), *self._stated()]
        here = {run.name, run.spec.method}
        fixed = {
            key
            for setting in stated
            if not setting.when.method or here & {*setting.when.method}
            for key in setting.hparams
        }
        return own_space(run.spec.method, self.spaces).without(frozenset(fixed), frozenset())

    def _bases(self, judging: Judging) -> list[PlannedRun]:
        """A run of each cell at the settings of the protocol, with the hold-out of trials."""
        reason = f"--holdout {judging.holdout:g}"
        holdout = Setting(reason=reason, holdout=judging.holdout)
        flags = (*self.selection.flags, holdout)
        wanted = replace(self.selection, flags=flags, seeds=judging.seeds[:1])
        found = {
            (run.name, run.spec.run_id): run for run in plan(wanted) if run.spec.labels != "true"
        }
        if not found:
            raise FieldError("methods", "none here learns from candidate sets")
        _require_distinct(found.values())
        return list(found.values())


def _require(name: str, value: object) -> None:
    """Raise FieldError if a field of a request has no such value."""
    if name == "seeds" and isinstance(value, Sequence) and min(value, default=0) < FIRST_SEED:
        reason = f"trials have seeds from {FIRST_SEED} on: those below are the tables'"
        raise FieldError(name, reason, ", ".join(map(str, value)))
    try:
        TuningRequest.parse({name: value})
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise FieldError(name, reason, value) from error


def _require_distinct(runs: Iterable[PlannedRun]) -> None:
    """Raise ValueError if two cells cannot be told apart by method, data set and q."""
    counts = Counter((run.name, run.spec.dataset, run.spec.q) for run in runs)
    for (name, dataset, q), number in counts.items():
        if number > 1:
            rate = "" if q is None else f" at q = {q:g}"
            raise ValueError(f"{number} grids have {name} on {dataset}{rate}: tune one of them")


@dataclass(frozen=True, repr=False)
class Tuned:
    """What has come of a search.

    Attributes:
        study: the study.
        cells: what was tuned.
        trials: decided trials of each cell, by `TunedCell.key`.
        choices: the chosen settings, of the cells that have any.
        benchmark: compares them with the settings of the protocol.
        summary: failures, and whether it was stopped.
    """

    study: Study
    cells: Sequence[TunedCell]
    trials: dict[str, list[Trial]]
    choices: Sequence[Choice]
    benchmark: Benchmark
    summary: SearchSummary = field(default_factory=SearchSummary)

    def __repr__(self) -> str:
        """The study, with numbers of cells, decided trials and choices."""
        name, decided = self.study.folder.name, sum(map(len, self.trials.values()))
        numbers = f"{len(self.cells)} cells, {decided} trials, {len(self.choices)} choices"
        return f"<Tuned {name!r}: {numbers}>"

    @property
    def path(self) -> Path:
        """Where the benchmark is written."""
        return self.study.folder / "chosen.toml"

    def frame(self) -> "pd.DataFrame":
        """The trials, a row each; scores and values as fractions. Test accuracies are not in it."""
        import pandas as pd

        rows = [
            {
                "method": cell.base.name,
                "label": cell.base.label,
                "dataset": cell.base.spec.dataset,
                "q": cell.base.spec.q,
                "trial": trial.number,
                "outcome": trial.outcome,
                "epochs": max(trial.scores, default=0),
                "score": trial.scores[max(trial.scores)] if trial.scores else None,
                "value": trial.value,
                "chosen": any(c.cell is cell and c.trial == trial for c in self.choices),
                **trial.settings,
                "reason": trial.reason,
                "run_ids": trial.run_ids,
            }
            for cell in self.cells
            for trial in self.trials[cell.key]
        ]
        return pd.DataFrame(rows)


def run_tuning(
    wanted: TuningPlan,
    engine: Engine,
    options: RunOptions,
    observer: Observer | None = None,
) -> Tuned:
    """Search settings for every cell of a selection, and write the benchmark of what is chosen.

    Trials that are decided, here or by another process, are not made again.

    Args:
        wanted: what is to be searched.
        engine: executes runs.
        options: how; its results folder holds the study, in `tuning/<study>`.
        observer: is told of the progress.

    Raises:
        ValueError: before any run starts: the request is wrong, or as `api.run_planned`.
    """
    study, cells = wanted.open(options.results)
    inside = replace(options, results=study.folder)
    summary = search(study, cells, engine, inside, observer or Observer())
    tuned = replace(read_tuned(wanted, study, cells), summary=summary)
    if tuned.choices:
        write_atomic(tuned.path, to_toml(tuned.benchmark).encode())
    return tuned


def read_tuned(wanted: TuningPlan, study: Study, cells: Sequence[TunedCell]) -> Tuned:
    """What a study knows of its cells by now."""
    trials = {cell.key: study.trials(cell) for cell in cells}
    found = (choose_settings(study, cell, trials[cell.key]) for cell in cells)
    choices = [choice for choice in found if choice]
    title = f"Settings of the protocol and of the study {study.folder.name}"
    benchmark = comparing_benchmark(wanted.selection, choices, title)
    return Tuned(study, cells, trials, choices, benchmark)
