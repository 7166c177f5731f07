"""A study: the folder of a search for settings, which processes on several machines may share.

`study.json` says what every method of it is given: how trials are judged, how many there are, in
which spaces. `journal.log` is Optuna's, a study of Optuna's for each cell, with a line for each
trial that has been decided. The folder is a folder of results, too: trials that went to their end
are its records, the others have their columns in `paused`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import optuna
from filelock import FileLock
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import Study as OptunaStudy
from optuna.trial import FrozenTrial, TrialState, create_trial
from pydantic import JsonValue, ValidationError

from pllbench.budget import Budget, Judging, NumTrials
from pllbench.results.files import read_regular, write_atomic
from pllbench.tuning.space import Space
from pllbench.tuning.trials import TunedCell, distribution
from pllbench.validation import FieldError, StrictModel, folder_name_problem, one_line

TrialOutcome = Literal["complete", "pruned", "failed"]

_STATES: Mapping[TrialOutcome, TrialState] = {
    "complete": TrialState.COMPLETE,
    "pruned": TrialState.PRUNED,
    "failed": TrialState.FAIL,
}


class StudyFile(StrictModel):
    """What every method of a study is given."""

    version: Literal[1] = 1
    """Of the layout of this file."""
    judging: Judging
    """How trials are made and judged."""
    trials: tuple[NumTrials, ...]
    """Numbers of trials that were asked for, one after another."""
    shared: Space
    """The shared space, without what flags fix."""
    own: dict[str, Space] = {}
    """The spaces of its methods and variants, likewise."""

    @property
    def budget(self) -> Budget:
        """What each method is given, once all its trials are decided."""
        return self.budget_after(len(self.trials))

    def budget_after(self, lots: int) -> Budget:
        """What a method was given whose first lots of trials are decided."""
        fields = self.judging.model_dump()
        return Budget(**fields, trials=self.trials[:lots], space=self.shared.digest)

    def stored(self) -> dict[str, JsonValue]:
        """What is written of it: how trials are judged in full, whatever a later default says."""
        judging = self.judging.model_dump(mode="json")
        return self.model_dump(mode="json", exclude_defaults=True) | {
            "version": self.version,
            "judging": judging,
        }

    def numbers(self, lot: int) -> range:
        """Numbers of the trials of a lot."""
        start = sum(self.trials[:lot])
        return range(start, start + self.trials[lot])


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial that has been decided.

    Attributes:
        number: in its cell.
        outcome: whether it went to its end.
        settings: values by owner and key.
        scores: of the criterion, by the number of epochs after which it was looked at.
        value: the last score, of complete trials; what settings are chosen by.
        tie: the other criterion at the same place, which breaks ties.
        run_ids: of its runs, by seed.
        paused: files of its columns, by seed, where it did not go to its end.
        reason: why it failed.
    """

    number: int
    outcome: TrialOutcome
    settings: Mapping[str, JsonValue]
    scores: Mapping[int, float]
    value: float | None = None
    tie: float | None = None
    run_ids: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()
    reason: str = ""


class Study:
    """A study on disk.

    Attributes:
        folder: its folder.
        file: what its methods are given.
    """

    def __init__(self, folder: Path, file: StudyFile) -> None:
        self.folder = folder
        self.file = file

    def optuna_study(self, cell: TunedCell) -> OptunaStudy | None:
        """Optuna's study of a cell; None where no trial has been decided."""
        storage = _storage(self.folder)
        if cell.key not in optuna.get_all_study_names(storage):
            return None
        return optuna.load_study(study_name=cell.key, storage=storage)

    def trials(self, cell: TunedCell) -> list[Trial]:
        """The decided trials of a cell, by number."""
        with _locked(self.folder):
            study = self.optuna_study(cell)
            return [_from_optuna(trial) for trial in study.get_trials()] if study else []

    def add(self, cell: TunedCell, trials: Sequence[Trial]) -> None:
        """Write decided trials into the journal, those that are not there yet.

        Another process may have written them. Numbers go on from those that are there.
        """
        with _locked(self.folder):
            study = self.optuna_study(cell) or _new(self.folder, cell)
            known = len(study.get_trials(deepcopy=False))
            for trial in trials:
                if trial.number == known:
                    study.add_trial(_to_optuna(trial, cell))
                    known += 1


def study_folder(results: Path, name: str) -> Path:
    """Folder of the study of a name, which may not exist.

    Raises:
        FieldError: no folder can have this name.
    """
    if problem := folder_name_problem(name):
        raise FieldError("study", problem, name)
    return results / "tuning" / name


def load_study(results: Path, name: str) -> Study:
    """A study that exists.

    Raises:
        FieldError: there is none of this name, or its file is damaged.
    """
    folder = study_folder(results, name)
    file = _read(folder)
    if file is None:
        raise FieldError("study", f"no such study in {folder.parent}", name)
    return Study(folder, file)


def open_study(folder: Path, wanted: StudyFile, given: Mapping[str, object]) -> Study:
    """A study, made or with more trials or methods where it lacks those that are `wanted`.

    Args:
        folder: of the study.
        wanted: what is asked for; `trials` is a single number, of all trials.
        given: the fields of `Judging` that were asked for by name; the others may differ from
            those of the study, which count.

    Raises:
        FieldError: the study was made with other settings or spaces.
    """
    with _locked(folder):
        file = _read(folder)
        if file is None:
            file = wanted
        else:
            _require_same(folder, file, wanted, given)
            missing = sum(wanted.trials) - sum(file.trials)
            trials = (*file.trials, missing) if missing > 0 else file.trials
            file = file.model_copy(update={"trials": trials, "own": wanted.own | file.own})
        text = json.dumps(file.stored(), indent=1)
        write_atomic(folder / "study.json", text.encode() + b"\n")
        _mend_journal(folder)
    return Study(folder, file)


def _require_same(
    folder: Path, file: StudyFile, wanted: StudyFile, given: Mapping[str, object]
) -> None:
    for field, value in given.items():
        if (stored := getattr(file.judging, field)) != value:
            reason = f"the study {folder.name} has {stored}; name another study"
            raise FieldError(field, reason, value)
    spaces = {"shared": (file.shared, wanted.shared)}
    spaces |= {name: (file.own[name], wanted.own[name]) for name in file.own.keys() & wanted.own}
    for name, (stored_space, now) in spaces.items():
        if stored_space.digest != now.digest:
            reason = f"the space of {name} is not that of this study any more; name another study"
            raise FieldError("study", reason, folder.name)


def _read(folder: Path) -> StudyFile | None:
    path = folder / "study.json"
    try:
        return StudyFile.model_validate_json(read_regular(path))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        reason = one_line(error, "", StudyFile) if isinstance(error, ValidationError) else error
        raise FieldError("study", f"{path}: not readable ({reason})", folder.name) from error


class _NoLock(JournalFileOpenLock):
    """The study's own lock is held whenever the journal is used.

    It ends with its process, where a file of Optuna's would be left behind by a kill.
    """

    def acquire(self) -> bool:
        """Nothing to do."""
        return True

    def release(self) -> None:
        """Nothing to do."""


def _storage(folder: Path) -> JournalStorage:
    path = str(folder / "journal.log")
    return JournalStorage(JournalFileBackend(path, _NoLock(path)))


def _new(folder: Path, cell: TunedCell) -> OptunaStudy:
    """Optuna's study of a cell that has none, made without its line on that."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(
            study_name=cell.key, storage=_storage(folder), direction="maximize"
        )
    finally:
        optuna.logging.set_verbosity(verbosity)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        yield


def _mend_journal(folder: Path) -> None:
    """Cut off half a line at the journal's end, as after a power cut: its trial is decided anew."""
    path = folder / "journal.log"
    data = path.read_bytes() if path.exists() else b""
    if data and not data.endswith(b"\n"):
        write_atomic(path, data[: data.rfind(b"\n") + 1])


def _to_optuna(trial: Trial, cell: TunedCell) -> FrozenTrial:
    ranges = {key: distribution(found) for key, found in cell.ranges.items()}
    return create_trial(
        state=_STATES[trial.outcome],
        value=trial.value,
        params=dict(trial.settings),
        distributions=ranges,
        intermediate_values=dict(trial.scores),
        user_attrs={
            "tie": trial.tie,
            "run_ids": list(trial.run_ids),
            "paused": list(trial.paused),
            "reason": trial.reason,
        },
    )


def _from_optuna(trial: FrozenTrial) -> Trial:
    outcomes = {state: outcome for outcome, state in _STATES.items()}
    facts = trial.user_attrs
    return Trial(
        number=trial.number,
        outcome=outcomes[trial.state],
        settings=trial.params,
        scores=trial.intermediate_values,
        value=trial.value,
        tie=facts["tie"],
        run_ids=tuple(facts["run_ids"]),
        paused=tuple(facts["paused"]),
        reason=facts["reason"],
    )
