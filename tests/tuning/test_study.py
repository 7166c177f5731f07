"""Studies on disk: what they refuse, and what they survive."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest

from pllbench.budget import Budget, Judging
from pllbench.runner.job import RunOptions
from pllbench.tuning.space import Space, spaces_folder
from pllbench.tuning.study import StudyFile, load_study, study_folder
from pllbench.validation import FieldError
from tests.inline_engine import InlineEngine
from tests.tuning.helpers import on_lost, run


def test_lots_of_trials_are_numbered_one_after_another() -> None:
    file = StudyFile(judging=Judging(), trials=(20, 10), shared=Space())
    assert [file.numbers(lot) for lot in (0, 1)] == [range(20), range(20, 30)]
    assert file.budget == Budget(trials=(20, 10), space="44136fa3")
    assert file.budget_after(1).trials == (20,)


REFUSED = [
    ({"criterion": "approximated_accuracy"}, "criterion approximated_accuracy: .* covering_rate"),
    ({"seeds": [101]}, r"seeds \(101,\): the study try has \(100,\); name another study"),
    ({"holdout": 0.2}, r"holdout 0\.2: the study try has 0\.1"),
    ({"halving": 2}, "halving 2: the study try has 3"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED)
def test_a_study_keeps_its_settings(
    options: RunOptions, asked: dict[str, Any], message: str
) -> None:
    run(on_lost("cc", trials=1), options)
    with pytest.raises(FieldError, match=message):
        run(on_lost("cc", trials=1, **asked), options)


def test_what_was_not_asked_for_is_the_studys(options: RunOptions) -> None:
    run(on_lost("cc", trials=1, criterion="approximated_accuracy", halving=2), options)
    tuned = run(on_lost("rc", trials=1), options)
    assert tuned.choices[0].budget.criterion == "approximated_accuracy"
    assert tuned.choices[0].budget.halving == 2


def test_another_space_needs_another_study(options: RunOptions, tmp_path: Path) -> None:
    spaces = tmp_path / "spaces"
    spaces.mkdir()
    shared = (spaces_folder() / "shared.toml").read_text()
    (spaces / "shared.toml").write_text(shared)
    (spaces / "lws.toml").write_text("[hparams.beta]\nvalues = [1.0, 3.0]\nsource = 's'\n")
    run(on_lost("lws", trials=1), options)
    wanted = replace(on_lost("lws", trials=1), spaces=spaces)
    with pytest.raises(FieldError, match="study try: the space of lws is not that of this study"):
        run(wanted, options)
    (spaces / "shared.toml").write_text(shared.replace("low = 0.001", "low = 0.002"))
    with pytest.raises(FieldError, match="study try: the space of shared is not that of this"):
        run(replace(on_lost("cc", trials=1), spaces=spaces), options)
    assert run(replace(wanted, study="other"), options).choices


def test_names_that_are_no_folder_and_studies_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FieldError, match=r"study a/b: its name must be letters"):
        study_folder(tmp_path, "a/b")
    with pytest.raises(FieldError, match=r"study mine: no such study in .*tuning"):
        load_study(tmp_path, "mine")
    folder = study_folder(tmp_path, "mine")
    folder.mkdir(parents=True)
    (folder / "study.json").write_text("{}")
    with pytest.raises(
        FieldError, match=r"study mine: .*study\.json: not readable \(judging: Field"
    ):
        load_study(tmp_path, "mine")


def test_half_a_line_at_the_end_of_the_journal_is_decided_anew(options: RunOptions) -> None:
    tuned = run(on_lost("cc", trials=3), options)
    path = tuned.study.folder / "journal.log"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 20])
    engine = InlineEngine()
    again = run(on_lost("cc", trials=3), options, engine)
    assert again.trials == tuned.trials
    assert len(path.read_bytes().splitlines()) == len(whole.splitlines())
    # the runs of trials that were pruned are looked at again in their columns
    assert engine.executed == []


def test_optuna_reads_the_journal(options: RunOptions) -> None:
    tuned = run(on_lost("asyco", trials=3), options)
    backend = optuna.storages.journal.JournalFileBackend(str(tuned.study.folder / "journal.log"))
    storage = optuna.storages.JournalStorage(backend)
    [name] = optuna.get_all_study_names(storage)
    assert name.startswith("AsyCo (epochs=9, holdout=0.1) · lost [")
    study = optuna.load_study(study_name=name, storage=storage)
    assert study.best_trial.number == tuned.choices[0].trial.number
    assert study.best_value == tuned.choices[0].trial.value
    assert [trial.state.name for trial in study.trials].count("PRUNED") == 2


def test_the_file_says_what_every_method_is_given(options: RunOptions) -> None:
    run(on_lost("lws", trials=2), options)
    fields = json.loads((options.results / "tuning" / "try" / "study.json").read_text())
    assert fields["trials"] == [2]
    judging = {"criterion": "covering_rate", "seeds": [100], "holdout": 0.1, "halving": 3}
    assert fields["judging"] == judging, "in full: a later default does not change a study"
    assert fields["own"]["lws"]["hparams"]["beta"]["values"] == [1.0, 2.0]
    assert fields["shared"]["train"]["lr"]["high"] == 1.0
    assert "epochs" not in fields["shared"]["train"], "the flag states them"
