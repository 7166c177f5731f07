"""Runs on long-tailed training rows: what their records hold, annotators, refusals before a run."""

from pathlib import Path

import pytest
import torch

from pllbench.data.catalogue import dataset_info
from pllbench.data.dataset import load_dataset
from pllbench.data.imbalance import long_tailed_counts
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.runner.annotator import annotate
from pllbench.runner.job import Job, RunOptions, execute
from tests.commands import pllbench, refused

INSTANCE = {"process": "instance", "annotator_network": "mlp", "annotator_epochs": 2}


def planned(*imbalance: float, **candidates: object) -> list[PlannedRun]:
    flags = (
        Setting.parse({"reason": "--candidates", "candidates": candidates}),
        Setting(reason="--epochs", train={"epochs": 2}),
    )
    selection = Selection(methods=("cc",), q=(0.3,), imbalance=imbalance, seeds=(0, 1), flags=flags)
    return plan(selection)


def job(run: PlannedRun, folder: Path) -> Job:
    return Job(run.spec, run.data, RunOptions(folder, folder, "cpu"))


def test_a_record_counts_the_long_tailed_rows_and_holds_accuracies_by_class(tmp_path: Path) -> None:
    for run in planned(10, process="uniform", policy="free"):
        record, curves = execute(job(run, tmp_path))
        profile = long_tailed_counts(1438, 10, 10)
        assert profile == [143, 111, 86, 66, 51, 40, 30, 23, 18, 14]
        # A class has 130 to 150 of the training rows, so only the first may have too few.
        assert sum(profile) - 15 <= record.result.num_train <= sum(profile)
        assert record.provenance.audit.num_rows == record.result.num_train
        assert record.result.num_test == 359
        groups = record.result.class_accuracy
        assert list(groups) == ["balanced", "many", "medium", "few"]
        thirds = 3 * groups["many"]["last"] + 4 * groups["medium"]["last"]
        thirds += 3 * groups["few"]["last"]
        assert groups["balanced"]["last"] == pytest.approx(thirds / 10)
        assert curves["few_accuracy"][-1] == groups["few"]["last"]


def test_instance_dependent_sets_are_those_of_an_annotator_of_the_same_rows(
    tmp_path: Path,
) -> None:
    dataset = load_dataset(dataset_info("digits"), tmp_path)
    for run in planned(10, **INSTANCE):
        scores = annotate(run.spec, dataset, torch.device("cpu"), tmp_path / "annotators")
        record, _ = execute(job(run, tmp_path))
        assert len(scores.logits) == record.result.num_train < 600
        assert record.provenance.annotator is not None


def test_an_imbalance_that_empties_a_class_is_refused_before_any_run(tmp_path: Path) -> None:
    flags = ("--methods", "cc", "--datasets", "digits", "--imbalance", "144", "--seeds", "1")
    message = refused("run", *flags, "--results", tmp_path / "results")
    assert "imbalance 144: class 9 would keep none of its 143.8 training rows" in message
    assert not (tmp_path / "results" / "records").exists()


@pytest.mark.parametrize("value", ["0.5", "many", "nan", "1e12"])
def test_impossible_ratios_are_refused(value: str) -> None:
    message = refused("run", "--methods", "cc", "--imbalance", value, "--dry-run")
    assert message == f"--imbalance {value}: must be a number from 1 to 1000000000"


def test_the_plan_says_the_imbalance(tmp_path: Path) -> None:
    flags = ("--methods", "cc", "--q", "0.3", "--imbalance", "10,20", "--dry-run")
    answer = pllbench("run", *flags, "--results", tmp_path)
    assert "  training rows: imbalance=10\n" in answer.out
    assert "  training rows: imbalance=20\n" in answer.out
