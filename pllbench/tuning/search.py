"""Trials are executed and decided: successive halving that waits, so that its outcome is one.

K. Jamieson, A. Talwalkar: Non-stochastic Best Arm Identification and Hyperparameter Optimization,
AISTATS 2016.

All trials of a lot run to a share of their epochs and pause; the better part of them goes on from
there to the next share. Pruners that decide at once depend on which trial comes first, and so on
the number of workers and on kills. Here a study ends the same whatever has happened to it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from pllbench.budget import Criterion
from pllbench.grid.plan import PlannedRun
from pllbench.results import records
from pllbench.results.curves import read_curves
from pllbench.results.model_selection import HoldoutCurves, holdout_score
from pllbench.results.paused import paused_path, read_paused
from pllbench.results.workspace import Workspace
from pllbench.runner.engine import Engine
from pllbench.runner.job import RunOptions
from pllbench.runner.origin import run_origin
from pllbench.runner.progress import Observer
from pllbench.runner.run_grid import run_grid
from pllbench.tuning.study import Study, Trial
from pllbench.tuning.trials import TunedCell

OTHER: Mapping[Criterion, Criterion] = {
    "covering_rate": "approximated_accuracy",
    "approximated_accuracy": "covering_rate",
}
"""The criterion that breaks ties of the other one."""


@dataclass(slots=True)
class SearchSummary:
    """What became of a search.

    Attributes:
        failed: runs that failed for other reasons than their settings, each with its reason; the
            next call tries them again.
        interrupted: whether it was stopped before its end.
    """

    failed: list[tuple[PlannedRun, str]] = field(default_factory=list)
    interrupted: bool = False


def search(
    study: Study,
    cells: Sequence[TunedCell],
    engine: Engine,
    options: RunOptions,
    observer: Observer,
) -> SearchSummary:
    """Execute all trials of cells that are not decided, and write those into the journal that are.

    Args:
        study: the study.
        cells: of the study.
        engine: executes runs.
        options: their results are the study's folder.
        observer: is told of the progress.

    Raises:
        ValueError: as `run_grid`.
    """
    summary = SearchSummary()
    for number in range(len(study.file.trials)):
        numbers = study.file.numbers(number)
        decided = {cell.key: len(study.trials(cell)) for cell in cells}
        lots = [
            Lot(cell, numbers, options)
            for cell in cells
            if numbers.start <= decided[cell.key] < numbers.stop
        ]
        for share in shares(study.file.judging.halving):
            runs = [run for lot in lots for run in lot.runs()]
            until = {run.spec.run_id: look(run.spec.train.epochs, share) for run in runs}
            observer.pausing(until, study.file.judging.criterion)
            found = run_grid(runs, engine, options, observer, until)
            if found.interrupted:
                summary.interrupted = True
                return summary
            failed = {run.spec.run_id: reason for run, reason in found.failed}
            summary.failed += [pair for pair in found.failed if not is_settings_fault(pair[1])]
            lots = [lot for lot in lots if lot.decide(share, failed)]
            for lot in lots:
                lot.clean()  # before they are in the journal, or nobody would after a kill
        for lot in lots:
            study.add(lot.cell, lot.trials())
    return summary


def shares(halving: int) -> tuple[float, ...]:
    """Shares of their epochs after which trials are looked at; the last is 1."""
    return (1.0,) if halving == 1 else (halving**-2, 1 / halving, 1.0)


def look(epochs: int, share: float) -> int:
    """The number of epochs after which a run of so many is looked at."""
    return max(1, math.ceil(share * epochs - 1e-9))


def is_settings_fault(reason: str) -> bool:
    """Whether a run has failed by its settings: its loss or its scores were not finite."""
    return reason.startswith(FloatingPointError.__name__)


class Lot:
    """Trials of one cell that are halved together, from their settings to their outcome.

    Attributes:
        cell: what is tuned.
        options: how runs are executed.
        runs_of: runs of each trial, by its number.
        alive: numbers of those that go on.
        scores: of the criterion, by trial, then by number of epochs.
        reasons: why trials have failed, by their number.
    """

    def __init__(self, cell: TunedCell, numbers: Sequence[int], options: RunOptions) -> None:
        self.cell = cell
        self.options = options
        self.runs_of = {number: cell.runs(number) for number in numbers}
        self.alive = list(numbers)
        self.scores: dict[int, dict[int, float]] = {number: {} for number in numbers}
        self.reasons: dict[int, str] = {}

    def runs(self) -> list[PlannedRun]:
        """The runs of the trials that go on."""
        return [run for number in self.alive for run in self.runs_of[number]]

    def decide(self, share: float, failed: Mapping[str, str]) -> bool:
        """Look at the trials that go on, after a share of their epochs, and keep the better part.

        Args:
            share: of `shares`.
            failed: reasons of failed runs, by run_id; settings that make a run fail end its trial.

        Returns:
            Whether all others have come so far. Else nothing can be said of this cell.
        """
        for number in list(self.alive):
            reasons = [failed.get(run.spec.run_id) for run in self.runs_of[number]]
            if any(reason and not is_settings_fault(reason) for reason in reasons):
                return False
            if reason := next(filter(None, reasons), ""):
                self.reasons[number] = reason
                self.alive.remove(number)
        order = {number: self._merit(number, share) for number in self.alive}
        for number, (score, _, _) in order.items():
            self.scores[number][self._epochs(number, share)] = score
        if share < 1:
            kept = math.ceil(len(self.alive) / self.cell.judging.halving)
            best = sorted(self.alive, key=order.__getitem__, reverse=True)[:kept]
            self.alive = sorted(best)
        return True

    def trials(self) -> list[Trial]:
        """All trials with their outcomes; the lot must have been decided at all shares."""
        return [self._trial(number) for number in self.runs_of]

    def clean(self) -> None:
        """Remove checkpoints of trials that do not go on, and what a kill has left of others."""
        results = self.options.results
        going_on = {
            run.spec.run_id
            for run in self.runs()
            if records.stored_record(results, run.spec) is None
        }
        for run in (run for runs in self.runs_of.values() for run in runs):
            workspace = Workspace.for_run(results, run.spec.run_id)
            over = run.spec.run_id not in going_on and workspace.folder.exists()
            if over and workspace.acquire():
                workspace.finish()

    def _epochs(self, number: int, share: float) -> int:
        return look(self.runs_of[number][0].spec.train.epochs, share)

    def _merit(self, number: int, share: float) -> tuple[float, float, int]:
        """What trials are ordered by: criterion, the other criterion, the earlier one."""
        criterion, epochs = self.cell.judging.criterion, self._epochs(number, share)
        held = [self._holdout(run) for run in self.runs_of[number]]
        score, tie = (
            fmean(holdout_score(curves, rule, epochs) for curves in held)
            for rule in (criterion, OTHER[criterion])
        )
        return score, tie, -number

    def _holdout(self, run: PlannedRun) -> HoldoutCurves:
        """What is known of a run that has come to where it is looked at."""
        results = self.options.results
        if records.stored_record(results, run.spec) is not None:
            return HoldoutCurves.of(read_curves(records.record_path(results, run.spec)))
        curves = read_paused(results, run_origin(run, self.options.data_dir))
        assert curves is not None, f"{run.title} has neither a record nor columns"
        return HoldoutCurves.of(curves)

    def _trial(self, number: int) -> Trial:
        runs, results = self.runs_of[number], self.options.results
        trial = Trial(
            number=number,
            outcome="pruned",
            settings=self.cell.settings(number),
            scores=self.scores[number],
            run_ids=tuple(run.spec.run_id for run in runs),
        )
        if number in self.reasons:
            return replace(trial, outcome="failed", reason=self.reasons[number])
        if all(records.stored_record(results, run.spec) for run in runs):
            value, tie, _ = self._merit(number, 1.0)
            return replace(trial, outcome="complete", value=value, tie=tie)
        origins = (run_origin(run, self.options.data_dir) for run in runs)
        return replace(trial, paused=tuple(paused_path(results, o).name for o in origins))
