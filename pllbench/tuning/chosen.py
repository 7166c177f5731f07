"""What a study chooses, and the benchmark that compares it with the settings of the protocol."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from pllbench.budget import Budget, TuningRequest, TuningSpec
from pllbench.data.custom import dataset_name, is_path
from pllbench.grid.benchmark import Benchmark, Grid
from pllbench.grid.plan import Selection
from pllbench.grid.protocol import DEFAULT_RATES, Protocol, Setting, When
from pllbench.tuning.study import Study, Trial
from pllbench.tuning.trials import TunedCell, part


@dataclass(frozen=True, slots=True)
class Choice:
    """The settings that a study has chosen for a cell.

    Attributes:
        cell: what was tuned.
        trial: the chosen one.
        budget: what was given to the method.
    """

    cell: TunedCell
    trial: Trial
    budget: Budget

    @property
    def parameters(self) -> dict[str, Any]:
        """Method, hyperparameters and train settings, as a classifier of one's own takes them."""
        spec = self.cell.runs(self.trial.number)[0].spec
        searched = part(self.trial.settings, "train")
        stated = spec.train.model_dump(mode="json", exclude_defaults=True)
        return {"method": spec.method, "hparams": spec.hparams, "train": stated | searched}

    @property
    def setting(self) -> Setting:
        """Its settings, under the condition of its cell."""
        cell, values = self.cell, self.trial.settings
        spec = cell.base.spec
        percent = 100 * (self.trial.value or 0.0)
        criterion = self.budget.criterion.replace("_", " ")
        return Setting(
            reason=f"Trial {self.trial.number} of {sum(self.budget.trials)}: {criterion} "
            f"{percent:.2f} % on the hold-out.",
            when=When(
                method=(cell.base.name,),
                dataset=(spec.dataset,),
                q=() if spec.q is None else (spec.q,),
            ),
            train=part(values, "train"),
            hparams=part(values, "hparams"),
            tuning=TuningSpec(
                budget=self.budget,
                own_space=cell.own.digest,
                hparams=cell.searched("hparams"),
                train=cell.searched("train"),
            ),
        )


def choose_settings(study: Study, cell: TunedCell, trials: Sequence[Trial]) -> Choice | None:
    """The best trial of a cell among those that went to their end, after whole lots of trials.

    The other criterion breaks ties, then the earlier trial wins. None where no lot is decided, or
    no trial has come to its end.
    """
    sizes = study.file.trials
    lots = max(n for n in range(len(sizes) + 1) if sum(sizes[:n]) <= len(trials))
    ended = [t for t in trials[: sum(sizes[:lots])] if t.outcome == "complete"]
    if not ended:
        return None
    best = max(ended, key=lambda t: (t.value or 0.0, t.tie or 0.0, -t.number))
    return Choice(cell, best, study.file.budget_after(lots))


def comparing_benchmark(selection: Selection, choices: Sequence[Choice], title: str) -> Benchmark:
    """The benchmark of a selection, with each of its grids once more at the chosen settings.

    Its flags are settings of the benchmark. Rows without a choice are in the first of the two
    alone.
    """
    asked = selection.benchmark or Benchmark(
        grid=(
            Grid(
                methods=selection.methods,
                datasets=selection.datasets,
                q=selection.q,
                imbalance=selection.imbalance,
            ),
        )
    )
    grids = [_restricted(grid, selection) for grid in asked.grid]
    settings = [choice.setting for choice in choices]
    tuned = [
        rows.model_copy(update={"setting": (*rows.setting, *found)})
        for grid in grids
        for rows in _by_condition(grid, choices)
        if (found := tuple(s for s in settings if _applies(s.when, rows, selection.protocol)))
    ]
    return asked.model_copy(
        update={
            "name": "",
            "title": title,
            "tuning": TuningRequest(),
            "improvement": "",
            "grid": (*grids, *tuned),
            "setting": (*asked.setting, *selection.flags),
        }
    )


def _restricted(grid: Grid, selection: Selection) -> Grid:
    """A grid with what a selection names of it alone, and its paths from anywhere."""
    methods = selection.methods or grid.methods
    datasets = [d for d in grid.datasets if not selection.datasets or d in selection.datasets]
    datasets += [d for d in selection.datasets if is_path(d) and d not in datasets]
    q = [q for q in grid.q if not selection.q or q in selection.q] or selection.q
    imbalance = [i for i in grid.imbalance if not selection.imbalance or i in selection.imbalance]
    placed = tuple(str(Path(d).resolve()) if is_path(d) else d for d in datasets)
    return grid.model_copy(
        update={
            "methods": methods,
            "datasets": placed,
            "q": tuple(q),
            "imbalance": tuple(imbalance),
        }
    )


def _by_condition(grid: Grid, choices: Sequence[Choice]) -> Iterator[Grid]:
    """The tuned rows of a grid; each variant apart, since settings of its method apply to it."""
    bases = {choice.cell.base.name: choice.cell.base.spec.method for choice in choices}
    tuned = [name for name in grid.methods if name in bases]
    methods = tuple(name for name in tuned if bases[name] == name)
    variants = ((name,) for name in tuned if bases[name] != name)
    for names in filter(None, (methods, *variants)):
        yield grid.model_copy(update={"methods": names})


def _applies(when: When, grid: Grid, protocol: Protocol) -> bool:
    """Whether the choice of a condition is of a cell of this grid."""
    [dataset] = when.dataset
    names = {dataset_name(Path(d)) if is_path(d) else d for d in grid.datasets}
    rates = grid.q or protocol.q.get(dataset, DEFAULT_RATES)
    return bool({*when.method} & {*grid.methods}) and dataset in names and {*when.q} <= {*rates}


def to_toml(benchmark: Benchmark) -> str:
    """A benchmark as its file has it."""
    fields: Mapping[str, object] = benchmark.model_dump(mode="json", exclude_defaults=True)
    return tomli_w.dumps(fields)
