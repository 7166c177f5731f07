"""How good the criteria are: read after a study, with the test accuracies of its trials.

Nothing here is known to a search. At each look at the trials of a lot, a criterion is compared with
the test accuracy at the same epoch: by the rank correlation over trials, and by the regret, which
is how far the trial that it picks lies below the best one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import scipy

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.reports.report import Entry, Report, TextRow, TextTable, plain_headers, plain_row
from pllbench.reports.table import MISSING, dataset_title, format_q
from pllbench.results.curves import Curves, read_curves
from pllbench.results.model_selection import HoldoutCurves, holdout_score, last_epochs
from pllbench.results.records import record_path
from pllbench.tuning.search import look, shares
from pllbench.tuning.study import Study, Trial
from pllbench.tuning.trials import TunedCell


@dataclass(frozen=True, slots=True)
class Looked:
    """A trial at a look; fractions, means over its seeds."""

    covering_rate: float
    approximated_accuracy: float
    accuracy: float


COMPARED_CRITERIA: Mapping[str, Callable[[Looked], float]] = {
    "covering rate": lambda trial: trial.covering_rate,
    "approximated accuracy": lambda trial: trial.approximated_accuracy,
    "mean of both": lambda trial: (trial.covering_rate + trial.approximated_accuracy) / 2,
}
"""What is compared with test accuracy; the first of equal trials is picked."""

CHANCE = "a trial at random"
"""What criteria are held against: the mean regret of all trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionEntry(Entry):
    """A criterion at a look at the trials of a cell; `n` is their number.

    Attributes:
        share: of the trials' epochs.
        criterion: of `COMPARED_CRITERIA`, or `CHANCE`.
        correlation: Spearman's, with test accuracy; None where one of them does not vary.
        regret: percentage points below the best trial.
    """

    share: float
    criterion: str
    correlation: float | None
    regret: float

    header = (
        "method,label,dataset,candidates,q,imbalance,metric,select,n,share,criterion,correlation,"
        "regret,run_ids"
    )


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's; None where one of them does not vary."""
    if len({*one}) < 2 or len({*other}) < 2:
        return None
    return float(scipy.stats.spearmanr(one, other).statistic)


def regret(scores: Sequence[float], accuracies: Sequence[float]) -> float:
    """The best accuracy less that of the first trial with the highest score."""
    return max(accuracies) - accuracies[int(np.argmax(scores))]


def criterion_entries(study: Study, cell: TunedCell) -> list[CriterionEntry]:
    """All criteria at all looks at the first lot of a cell's trials, where there are two or more.

    Raises:
        ValueError: the columns of a trial are missing or damaged, or the data has no true labels.
    """
    lot = [trial for trial in study.trials(cell) if trial.number in study.file.numbers(0)]
    found = []
    for share in shares(cell.judging.halving):
        trials = [t for t in lot if (epochs := _epochs(cell, t, share)) in t.scores and epochs]
        looked = [_looked(study, cell, trial, share) for trial in trials]
        if len(looked) > 1:
            found += _entries(cell, share, looked, tuple(i for t in trials for i in t.run_ids))
    return found


def _entries(
    cell: TunedCell, share: float, looked: Sequence[Looked], run_ids: tuple[str, ...]
) -> list[CriterionEntry]:
    accuracies = [trial.accuracy for trial in looked]
    found: dict[str, tuple[float | None, float]] = {
        CHANCE: (None, max(accuracies) - fmean(accuracies))
    }
    for name, criterion in COMPARED_CRITERIA.items():
        scores = [criterion(trial) for trial in looked]
        found[name] = rank_correlation(scores, accuracies), regret(scores, accuracies)
    spec = cell.base.spec
    return [
        CriterionEntry(
            method=cell.base.name,
            label=cell.base.label,
            dataset=spec.dataset,
            candidates=SetsSpec.of(spec).text,
            q=spec.q,
            imbalance=spec.imbalance,
            select="last10",
            n=len(looked),
            run_ids=run_ids,
            share=share,
            criterion=name,
            correlation=correlation,
            regret=100 * lost,
        )
        for name, (correlation, lost) in found.items()
    ]


def _epochs(cell: TunedCell, trial: Trial, share: float) -> int:
    return look(cell.runs(trial.number)[0].spec.train.epochs, share)


def _looked(study: Study, cell: TunedCell, trial: Trial, share: float) -> Looked:
    """A trial at a look; this reads its test accuracies."""
    epochs = _epochs(cell, trial, share)
    curves = list(_curves(study, cell, trial))
    if any("accuracy" not in one for one in curves):
        name = cell.base.spec.dataset
        raise ValueError(
            f"data set {name!r}: criteria are held against true labels, and it has none"
        )
    held = [HoldoutCurves.of(one) for one in curves]
    return Looked(
        covering_rate=fmean(holdout_score(one, "covering_rate", epochs) for one in held),
        approximated_accuracy=fmean(
            holdout_score(one, "approximated_accuracy", epochs) for one in held
        ),
        accuracy=fmean(last_epochs(one["accuracy"][:epochs]) for one in curves),
    )


def _curves(study: Study, cell: TunedCell, trial: Trial) -> Iterable[Curves]:
    """All columns of a trial's runs."""
    if trial.paused:
        return [read_curves(study.folder / "paused" / name) for name in trial.paused]
    return [read_curves(record_path(study.folder, run.spec)) for run in cell.runs(trial.number)]


def report_criteria(entries: Sequence[CriterionEntry]) -> Report:
    """A text table a look: a row a data set and criterion, means over methods."""
    tables = []
    for share in dict.fromkeys(entry.share for entry in entries):
        groups: dict[tuple[str, str, str], list[CriterionEntry]] = defaultdict(list)
        for entry in entries:
            if entry.share == share:
                where = dataset_title(entry.dataset), format_q(entry.q)
                groups[*where, entry.criterion].append(entry)
        percent = f"after {100 * share:.0f} % of their epochs" if share < 1 else "at their end"
        tables.append(
            TextTable(
                title=f"Trials {percent}",
                headers=plain_headers(
                    (
                        "Data set",
                        "q",
                        "Criterion",
                        "Methods",
                        "Trials",
                        "Rank correlation",
                        "Regret",
                    )
                ),
                rows=tuple(_row(key, found) for key, found in groups.items()),
                num_labels=3,
            )
        )
    notes = (
        "Criteria, test accuracies: means of the last ten epochs so far, read after the study.",
        "Rank correlation: Spearman's over the trials of a method, then the mean over methods.",
        "Regret: points of test accuracy below the best of the trials that have come so far.",
    )
    return Report("", tuple(tables), notes, entries)


def _row(key: tuple[str, str, str], found: Sequence[CriterionEntry]) -> TextRow:
    correlations = [entry.correlation for entry in found if entry.correlation is not None]
    trials = sorted({entry.n for entry in found})
    numbers = str(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    mean = f"{fmean(correlations):.2f}" if correlations else MISSING
    return plain_row(
        (*key, str(len(found)), numbers, mean, f"{fmean(entry.regret for entry in found):.2f}")
    )
