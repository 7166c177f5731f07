"""`pllbench.tune`: the same studies as the command's, from plain values, classes and arrays."""

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pllbench
from pllbench.cli.selection import with_selection
from pllbench.cli.tune import tune as command_tune
from pllbench.grid.request import FurtherParts
from pllbench.runner.progress import Observer
from pllbench.tuning.tune import Tuned
from pllbench.validation import FieldError
from pllbench_methods.cc import CC
from tests.commands import broken
from tests.commands import pllbench as command


def tune_here(*arguments: Any, **options: Any) -> Tuned:
    """A search of short runs in this thread."""
    settings: dict[str, Any] = {
        "trials": 3,
        "epochs": 9,
        "network": "linear",
        "engine": "inline",
        "progress": False,
    }
    return pllbench.tune(*arguments, **settings | options)


def test_a_study_is_that_of_the_command(plugin_folder: Path, tmp_path: Path) -> None:
    words = ["--methods", "cc,lws", "--datasets", "lost", "--epochs", 9, "--network", "linear"]
    words += ["--trials", 3, "--criterion", "approximated_accuracy", "--seeds", "100,101"]
    words += ["--results", tmp_path / "typed", "--data-dir", plugin_folder, "--jobs", 1]
    assert command("tune", *words).code == 0
    found = tune_here(
        ["cc", "lws"],
        "lost",
        criterion="approximated_accuracy",
        seeds=[100, 101],
        results=tmp_path / "called",
        data_dir=plugin_folder,
    )
    typed = tmp_path / "typed" / "tuning" / "default" / "chosen.toml"
    assert found.path.read_text() == typed.read_text().replace('"--', '"')  # the reasons of flags
    frame = found.frame()
    assert isinstance(frame, pd.DataFrame)
    assert repr(found) == "<Tuned 'default': 2 cells, 6 trials, 2 choices>"
    assert list(frame.groupby("method")["trial"].count()) == [3, 3]
    assert list(frame.groupby("method")["chosen"].sum()) == [1, 1]
    again = tune_here(["cc", "lws"], "lost", results=tmp_path / "typed", data_dir=plugin_folder)
    assert again.trials == found.trials, "the settings of the study are those that it has"


def test_what_is_chosen_is_compared_with_the_default(plugin_folder: Path, tmp_path: Path) -> None:
    where: dict[str, Any] = {"results": tmp_path, "data_dir": plugin_folder}
    tuned = tune_here("cc", "lost", study="mine", **where)
    results = pllbench.run(benchmark=tuned.path, engine="inline", progress=False, seeds=2, **where)
    assert len(results.frame()) == 4
    [worth] = results.worth_of_tuning().entries
    assert (worth.method, worth.n) == ("cc", 2)


def test_arrays_without_true_labels_and_a_class_of_ones_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = rng.normal(size=(120, 4)) + 2 * np.eye(4)[y]
    sets = np.eye(3, dtype=int)[y] | (rng.random((120, 3)) < 0.3)
    birds = pllbench.Arrays("birds", x, candidates=sets)
    spaces = tmp_path / "spaces"
    spaces.mkdir()
    (spaces / "Confident.toml").write_text("")
    shared = "[train.lr]\nlow = 0.01\nhigh = 1.0\nlog = true\ndefault = 0.1\nsource = 's'\n"
    (spaces / "shared.toml").write_text(shared)

    class Confident(CC):
        """CC by another name."""

    tuned = tune_here(["cc", Confident], birds, spaces=spaces, results=tmp_path / "results")
    assert [choice.cell.base.name for choice in tuned.choices] == ["cc", "Confident"]
    assert tuned.frame()["outcome"].value_counts().to_dict() == {"pruned": 4, "complete": 2}
    with pytest.raises(FieldError, match="methods Confident: no space"):
        tune_here(Confident, birds, results=tmp_path / "other")


def test_a_classifier_takes_what_is_chosen(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    x = (rng.normal(size=(150, 4)) + 2 * np.eye(4)[y]).astype(np.float32)
    sets = np.eye(3, dtype=int)[y] | (rng.random((150, 3)) < 0.3)
    mine = pllbench.Arrays("mine", x, candidates=sets)
    [choice] = tune_here("lws", mine, results=tmp_path).choices
    classifier = pllbench.PartialLabelClassifier(**choice.parameters, random_state=0)
    classifier.fit(x, sets)
    assert classifier.score(x, y) > 0.7


def test_a_benchmark_names_the_study_and_says_what_it_gives(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    text = '[tuning]\ntrials = 2\nhalving = 1\n[[grid]]\nmethods = ["cc"]\ndatasets = ["digits"]\n'
    path.write_text(text + "q = [0.3]\n")
    told: list[object] = []

    class Told(Observer):
        def pausing(self, until: object, criterion: str) -> None:
            told.append((until, criterion))

    tuned = pllbench.tune(
        benchmark=path, epochs=1, network="linear", engine="inline", results=tmp_path,
        progress=Told(),
    )  # fmt: skip
    assert tuned.study.folder == tmp_path / "tuning" / "two"
    assert tuned.study.file.trials == (2,)
    assert len(told) == 1
    assert tuned.choices[0].budget.halving == 1


def test_every_option_of_the_command_is_an_argument() -> None:
    """But for --dry-run and --output, which show and write."""
    other_names = {"set_": "hparams", "view": "views", "prune": "pruning"}
    command_options = signature(with_selection(command_tune)).parameters
    options = {other_names.get(name, name) for name in command_options}
    arguments = {*signature(pllbench.tune).parameters, *FurtherParts.__annotations__} - {"parts"}
    assert options - arguments == {"dry_run", "output"}
    assert arguments - options == {"progress"}


def test_wrong_requests_name_the_argument(tmp_path: Path) -> None:
    for asked, message in (
        ({"trials": 0}, "trials 0: Input should be greater than or equal to 1"),
        ({"seeds": [7]}, "seeds 7: trials have seeds from 100 on"),
        ({"criterion": "accuracy"}, "criterion accuracy: Input should be 'covering_rate' or"),
        ({"holdout": 1.0}, r"holdout 1\.0: Input should be less than 1"),
        ({"study": "a/b"}, "study a/b: its name must be letters"),
        ({"stale": "kep"}, r"stale kep: did you mean keep\?"),
        ({"checkpoint_every": 0}, "checkpoint_every 0: must be a whole number"),
        ({"timeout": 5}, "timeout: not with engine inline"),
        ({"address": "auto"}, "address: only with engine ray"),
        ({"gpus_per_run": 0.5}, "gpus_per_run: only with engine ray"),
    ):
        with pytest.raises(FieldError, match=message):
            tune_here("cc", "digits", results=tmp_path, **asked)


def test_runs_that_fail_are_a_warning(plugin_folder: Path, tmp_path: Path) -> None:
    spaces = tmp_path / "spaces"
    spaces.mkdir()
    shared = "[train.lr]\nvalues = [0.05, 0.1]\ndefault = 0.1\nsource = 's'\n"
    (spaces / "shared.toml").write_text(shared)
    (spaces / "raising.toml").write_text("")
    with (
        broken(plugin_folder),
        pytest.warns(UserWarning, match=r"runs failed; raising .* Runtime"),
    ):
        tune_here("raising", "lost", spaces=spaces, results=tmp_path, data_dir=plugin_folder)
