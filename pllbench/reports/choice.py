"""Which method and epoch candidate sets alone pick: by a criterion of the hold-out."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from pllbench.budget import Criterion
from pllbench.candidates.sets_spec import SetsSpec
from pllbench.reports.groups import RunGroup
from pllbench.reports.report import Entry, Report, TextCell, TextRow, TextTable, plain_headers
from pllbench.reports.statistics import paired_difference
from pllbench.reports.table import MISSING, data_title, format_difference, section_titles
from pllbench.results.curves import Curves
from pllbench.results.metrics import printed_metric
from pllbench.results.model_selection import chosen_epoch, other_criterion
from pllbench.validation import FieldError


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEntry(Entry):
    """A method, and what a criterion says of it; shares in percent.

    Attributes:
        epoch: counted from 1, at which the criterion's mean over seeds is highest.
        epochs: length of its runs.
        mean: the criterion there.
        low: lower end of its 95 % Student interval over seeds; None with one seed.
        high: upper end.
        behind: how far it lies behind the chosen method, the mean over seeds; None where the two
            have other seeds.
        behind_low: lower end of the 95 % interval of that; None with one seed, and of the chosen.
        behind_high: upper end.
        chosen: whether it has the highest mean.
    """

    epoch: int
    epochs: int
    mean: float
    low: float | None
    high: float | None
    behind: float | None = None
    behind_low: float | None = None
    behind_high: float | None = None
    chosen: bool = False

    header = (
        "method,label,dataset,candidates,q,imbalance,metric,epoch,epochs,n,mean,low,high,"
        "behind,behind_low,behind_high,chosen,run_ids"
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """A method and what decides its place.

    Attributes:
        choice: the method.
        values: the criterion by seed, at its epoch.
        other: mean of the other criterion there, which breaks ties.
    """

    choice: ChosenEntry
    values: Mapping[int, float]
    other: float


def choose_methods(
    groups: Sequence[RunGroup], columns: Mapping[str, Curves], criterion: Criterion
) -> list[ChosenEntry]:
    """The methods on each data set with each candidate process, best first.

    Methods that learn from true labels, and those without a hold-out, take no part.

    Args:
        groups: runs that differ in the seed alone.
        columns: per-epoch columns of the runs, by run_id.
        criterion: what chooses.

    Raises:
        FieldError: no run has a hold-out.
    """
    found: dict[tuple[object, ...], list[_Judged]] = defaultdict(list)
    for group in groups:
        runs = {seed: columns[run.run_id] for seed, run in sorted(group.records.items())}
        held = runs and all(criterion in curves for curves in runs.values())
        if held and not group.learns_from_true_labels:
            spec = group.spec
            key = (spec.dataset, spec.digest, SetsSpec.of(spec).text, spec.q)
            found[key].append(_judge(group, runs, criterion))
    if not found:
        reason = "no run here has one, so nothing can be chosen without true labels"
        raise FieldError("holdout", reason)
    return [choice for judged in found.values() for choice in _ordered(judged)]


def _judge(group: RunGroup, runs: Mapping[int, Curves], criterion: Criterion) -> _Judged:
    """A method at the epoch that the criterion picks."""
    epoch = chosen_epoch(list(runs.values()), criterion)
    values, others = (
        {seed: 100 * float(curves[name][epoch]) for seed, curves in runs.items()}
        for name in (criterion, other_criterion(criterion))
    )
    low, high = _interval(values, dict.fromkeys(values, 0.0))
    spec = group.spec
    choice = ChosenEntry(
        method=group.name,
        label=group.label,
        dataset=spec.dataset,
        candidates=SetsSpec.of(spec).text,
        q=spec.q,
        imbalance=spec.imbalance,
        metric=criterion,
        select=criterion,
        n=len(values),
        run_ids=tuple(group.records[seed].run_id for seed in values),
        epoch=epoch + 1,
        epochs=spec.train.epochs,
        mean=fmean(values.values()),
        low=None if low is None else max(low, 0.0),
        high=None if high is None else min(high, 100.0),
    )
    return _Judged(choice, values, fmean(others.values()))


def _interval(
    a: Mapping[int, float], b: Mapping[int, float]
) -> tuple[float, float] | tuple[None, None]:
    """Ends of the 95 % Student interval of the mean of a - b over seeds; None with one seed."""
    if len(a) < 2:
        return None, None
    found = paired_difference(a, b)
    return found.low, found.high


def _ordered(judged: Sequence[_Judged]) -> list[ChosenEntry]:
    """The methods of one column, best first, each with its distance from the first."""
    best, *others = sorted(judged, key=lambda one: (-one.choice.mean, -one.other))
    listed = [replace(best.choice, chosen=True)]
    for one in others:
        choice = one.choice
        if one.values.keys() == best.values.keys():
            low, high = _interval(best.values, one.values)
            gap = best.choice.mean - choice.mean
            choice = replace(choice, behind=gap, behind_low=low, behind_high=high)
        listed.append(choice)
    return listed


def report_choices(choices: Sequence[ChosenEntry]) -> Report:
    """A text table a data set and process, the chosen method first."""
    criterion = choices[0].metric
    headers = plain_headers(("Method", "Epoch", printed_metric(criterion).capitalize(), "Behind"))
    titles = section_titles(map(_section, choices))
    sections: dict[str, list[ChosenEntry]] = defaultdict(list)
    for choice in choices:
        sections[titles[_section(choice)]].append(choice)
    tables = [
        TextTable(title, headers, tuple(map(_text_row, listed)), num_labels=1)
        for title, listed in sections.items()
    ]
    notes = [
        f"Chosen: {_in_words(listed)}{f' on {title}' if len(sections) > 1 else ''}."
        for title, listed in sections.items()
    ]
    ns = ", ".join(map(str, sorted({choice.n for choice in choices})))
    name = printed_metric(criterion).capitalize()
    mean = f"mean over n = {ns} seeds, at the epoch where it is highest, with its 95 % t-interval"
    notes += [
        f"{name} of the hold-out (%): {mean}. No true label takes part.",
        "Behind: the chosen method less this one, paired over seeds.",
        "An epoch is the best of many, so its value is somewhat too high for all methods.",
    ]
    return Report("", tuple(tables), tuple(notes), choices)


def _section(choice: ChosenEntry) -> tuple[str, str]:
    """Data set and candidate sets, as `section_titles` takes them."""
    q = "" if choice.q is None else f"q = {choice.q:g}"
    data = data_title(choice.dataset, choice.imbalance)
    return data, ":".join(filter(None, (choice.candidates, q)))


def _text_row(choice: ChosenEntry) -> TextRow:
    value = format_difference(choice.mean, choice.low, choice.high).replace("+", "")
    behind = ""
    if not choice.chosen:
        given = (choice.behind_low, choice.behind_high)
        behind = MISSING if choice.behind is None else format_difference(choice.behind, *given)
    mark: Literal["best", ""] = "best" if choice.chosen else ""
    epoch = f"{choice.epoch} of {choice.epochs}"
    return TextRow(
        (TextCell(choice.label), TextCell(epoch), TextCell(value, mark), TextCell(behind))
    )


def _in_words(listed: Sequence[ChosenEntry]) -> str:
    """The chosen method, and those that the hold-out does not tell apart from it."""
    best, *others = listed
    close = [one.label for one in others if one.behind_low is None or one.behind_low <= 0]
    chosen = f"{best.label}, epoch {best.epoch} of {best.epochs}"
    return f"{chosen}; not told apart from {', '.join(close)}" if close else chosen
