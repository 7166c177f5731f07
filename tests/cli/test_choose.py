"""`choose`: runs what is missing, and says which method and epoch candidate sets pick."""

import json
from pathlib import Path

import numpy as np
import pytest

from pllbench.results.records import read_records
from tests.commands import pllbench, refused

FLAGS = ("--methods", "cc,proden", "--seeds", "2", "--epochs", "3", "--jobs", "1")


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    """A data set without true labels."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    sets = np.eye(3, dtype=np.uint8)[y] | (rng.random((60, 3)) < 0.3)
    np.savez(tmp_path / "birds.npz", x=np.eye(3)[y] + rng.normal(size=(60, 3)), candidates=sets)
    return tmp_path / "birds.npz"


def test_it_runs_what_is_missing_and_names_method_and_epoch(birds: Path) -> None:
    results = ("--results", birds.parent / "results")
    answer = pllbench("choose", birds, *FLAGS, *results)
    assert answer.code == 0, answer.err
    assert "4 done, 0 were done before" in answer.err
    assert "Chosen: " in answer.out
    again = pllbench("choose", birds, *FLAGS, *results, "--json")
    assert "0 done, 4 were done before" in again.err
    first, second = json.loads(again.out)
    assert (first["chosen"], second["chosen"]) == (True, False)
    assert first["mean"] >= second["mean"]
    assert 1 <= first["epoch"] <= first["epochs"] == 3
    assert f"epoch {first['epoch']} of 3" in answer.out
    assert first["metric"] == "covering_rate"
    other = pllbench(
        "choose", birds, *FLAGS, *results, "--criterion", "approximated_accuracy", "--json"
    )
    assert {entry["metric"] for entry in json.loads(other.out)} == {"approximated_accuracy"}
    records = read_records(birds.parent / "results")[0]
    assert {record.spec.holdout for record in records} == {0.0}
    assert {record.result.num_holdout for record in records} == {12}


def test_with_true_labels_a_fifth_of_the_training_rows_is_held_out(tmp_path: Path) -> None:
    results = ("--results", tmp_path)
    few = ("--methods", "cc", "--seeds", "1", "--epochs", "1", "--jobs", "1", "--q", "0.3")
    assert pllbench("choose", "digits", *few, *results).code == 0
    (record,) = read_records(tmp_path)[0]
    assert record.spec.holdout == 0.2
    assert pllbench("choose", "digits", *few, *results, "--holdout", "0.4").code == 0
    shares = {record.spec.holdout for record in read_records(tmp_path)[0]}
    assert shares == {0.2, 0.4}


def test_what_is_refused(birds: Path) -> None:
    results = ("--results", birds.parent / "results")
    assert "--methods: name some" in refused("choose", birds, *results)
    assert "learns from true labels" in refused(
        "choose", birds, "--methods", "supervised", *results
    )
    assert "unknown data set 'bird'" in refused("choose", "bird", *FLAGS, *results)
    assert "No such option" in refused("choose", birds, *FLAGS, "--datasets", "digits", *results)
    held = refused("choose", "digits", *FLAGS, "--q", "0.3", "--holdout", "0", *results)
    assert held.startswith("--holdout 0: without one nothing can be chosen")
