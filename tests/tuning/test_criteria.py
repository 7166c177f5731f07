"""How good the criteria are: by numbers, and over the trials of a study."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pllbench.reports.formats.render import to_text
from pllbench.results.curves import read_curves, write_curves
from pllbench.runner.job import RunOptions
from pllbench.tuning.criteria import (
    CHANCE,
    COMPARED_CRITERIA,
    Looked,
    criterion_entries,
    rank_correlation,
    regret,
    report_criteria,
)
from tests.tuning.helpers import EPOCHS, on_lost, run
from tools import criteria


def test_rank_correlation_and_regret_by_numbers() -> None:
    accuracies = [0.5, 0.8, 0.7, 0.6]
    assert rank_correlation([1.0, 4.0, 3.0, 2.0], accuracies) == pytest.approx(1.0)
    # ranks 4 1 2 3 against 1 4 3 2: 1 - 6 * (9 + 9 + 1 + 1) / (4 * 15) = -1
    assert rank_correlation([4.0, 1.0, 2.0, 3.0], accuracies) == pytest.approx(-1.0)
    # ranks 1 3 4 2 against 1 4 3 2: 1 - 6 * (0 + 1 + 1 + 0) / 60 = 0.8
    assert rank_correlation([0.1, 0.3, 0.4, 0.2], accuracies) == pytest.approx(0.8)
    assert rank_correlation([1.0, 1.0, 1.0, 1.0], accuracies) is None
    assert regret([0.1, 0.3, 0.4, 0.2], accuracies) == pytest.approx(0.1)
    assert regret([0.4, 0.4, 0.1, 0.2], accuracies) == pytest.approx(0.3), "the first of two"
    assert regret([0.1, 0.9, 0.4, 0.2], accuracies) == 0


def test_the_criteria() -> None:
    trial = Looked(covering_rate=0.8, approximated_accuracy=0.6, accuracy=0.1)
    assert {name: criterion(trial) for name, criterion in COMPARED_CRITERIA.items()} == {
        "covering rate": 0.8,
        "approximated accuracy": 0.6,
        "mean of both": pytest.approx(0.7),
    }


def test_every_look_compares_the_trials_that_have_come_so_far(options: RunOptions) -> None:
    tuned = run(on_lost("cc", trials=9), options)
    [cell], study = tuned.cells, tuned.study
    # columns by hand: the criterion orders the trials as their numbers, test accuracy against it
    for trial in study.trials(cell):
        for name in trial.paused:
            path = study.folder / "paused" / name
            epochs = len(read_curves(path)["accuracy"])
            column = np.full(epochs, trial.number / 10)
            write_curves(
                path,
                {
                    "covering_rate": column,
                    "approximated_accuracy": column,
                    "accuracy": 0.9 - column,
                },
            )
    entries = criterion_entries(study, cell)
    first = {entry.criterion: entry for entry in entries if entry.share == pytest.approx(1 / 9)}
    assert {entry.n for entry in first.values()} == {9}
    assert first[CHANCE].correlation is None
    correlation = first["covering rate"].correlation
    assert correlation is not None
    assert correlation < -0.4
    assert {entry.n for entry in entries if entry.share == pytest.approx(1 / 3)} == {3}
    assert not [entry for entry in entries if entry.share == 1], "a single trial says nothing"


def test_the_report_has_a_table_a_look_and_means_over_methods(options: RunOptions) -> None:
    tuned = run(on_lost("cc", "rc", trials=4, halving=1), options)
    entries = [e for cell in tuned.cells for e in criterion_entries(tuned.study, cell)]
    one, other = (e for e in entries if e.criterion == "covering rate")
    entries = [
        replace(e, correlation=0.5, regret=1.0 if e is one else 2.0) if e in (one, other) else e
        for e in entries
    ]
    text = to_text(report_criteria(entries), "markdown")
    assert "## Trials at their end" in text
    assert "| Lost |  | covering rate | 2 | 4 | 0.50 | 1.50 |" in text
    assert text.count("| Lost |") == 4
    assert to_text(report_criteria(entries), "csv").startswith("method,label,dataset")


def test_a_study_without_true_labels_is_one_line(
    options: RunOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tuned = run(on_lost("cc", trials=2), options)
    for path in tuned.study.folder.glob("**/*.npz"):
        columns = dict(read_curves(path))
        del columns["accuracy"]
        write_curves(path, columns)
    line = "data set 'lost': criteria are held against true labels, and it has none"
    with pytest.raises(ValueError, match=f"^{line}$"):
        criterion_entries(tuned.study, tuned.cells[0])
    benchmark = tmp_path / "try.toml"
    benchmark.write_text(
        'title = "a study"\n[[grid]]\nmethods = ["cc"]\ndatasets = ["lost"]\nseeds = [0]\n'
        f'[[setting]]\nreason = "short"\ntrain = {{ epochs = {EPOCHS}, network = "linear" }}\n'
        "[tuning]\ntrials = 2\n"
    )
    arguments = ["criteria.py", str(benchmark), "--results", str(options.results)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        criteria.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"criteria.py: {line}\n"
