"""Scores of annotators that are cut, overwritten or no scores: named before a run, and kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given

from pllbench.data.catalogue import dataset_info
from pllbench.data.dataset import load_dataset
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.grid.resolve import annotator_run
from pllbench.runner.annotator import annotate, quarantine_damaged_scores, scores_path
from pllbench.spec import RunSpec
from tests.damage import ANYWHERE, BYTES, anywhere, cut, overwritten
from tests.runner.quarantined import is_quarantined

DIGITS = dataset_info("digits")


def planned() -> list[PlannedRun]:
    """A run of `cc` whose candidate sets need an annotator."""
    process = {"process": "instance", "annotator_network": "linear", "annotator_epochs": 1}
    flags = (
        Setting(reason="--epochs", train={"epochs": 3}),
        Setting.parse({"reason": "--candidates", "candidates": process}),
    )
    return plan(Selection(methods=("cc",), q=(0.3,), seeds=(0,), flags=flags))


def scores(path: Path, **changes: Any) -> bytes:
    """The file of an annotator's scores, with other arrays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"logits": np.ones((1438, 10), dtype=np.float32)}
    arrays = whole | {"train_accuracy": np.float64(0.9), "test_accuracy": 0.8} | changes
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path.read_bytes()


def path_of(folder: Path, spec: RunSpec) -> Path:
    """File of the scores that a run needs."""
    return scores_path(folder, annotator_run(spec, DIGITS), None)


SCORES: list[dict[str, Any]] = [
    {"logits": None},
    {"test_accuracy": None},
    {"logits": np.full((1438, 10), np.nan)},
    {"logits": np.array([["high"] * 10])},
    {"logits": np.array([None])},
    {"train_accuracy": 90.0},
    {"train_accuracy": np.ones(3)},
    {"test_accuracy": np.nan},
    {"test_accuracy": "high"},
]


@pytest.mark.parametrize("change", SCORES)
def test_malformed_scores(results: Path, change: dict[str, Any]) -> None:
    runs = planned()
    path = path_of(results / "work" / "annotators", runs[0].spec)
    scores(path, **change)
    is_quarantined(results, path, runs, "not the scores of an annotator (")


@anywhere
@given(place=ANYWHERE)
def test_scores_cut_at_any_byte(tmp_path: Path, place: float) -> None:
    spec = planned()[0].spec
    path = path_of(tmp_path, spec)
    content = cut(scores(path, logits=np.ones((20, 10))), place)
    path.write_bytes(content)
    line = quarantine_damaged_scores(tmp_path, spec, DIGITS, None)
    assert line is not None
    assert line.startswith(f"{path}: not the scores of an annotator (")
    assert "\n" not in line
    [kept] = tmp_path.iterdir()
    assert kept.read_bytes() == content
    kept.unlink()


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_scores_with_other_bytes(tmp_path: Path, place: float, by: bytes) -> None:
    spec = planned()[0].spec
    path = path_of(tmp_path, spec)
    path.write_bytes(overwritten(scores(path, logits=np.ones((20, 10))), place, by))
    if quarantine_damaged_scores(tmp_path, spec, DIGITS, None):
        path.with_name(f"{path.name}.unreadable").unlink()
    else:  # bytes that nobody reads
        with np.load(path) as stored:
            assert (stored["logits"] == 1).all()
            assert (stored["train_accuracy"], stored["test_accuracy"]) == (0.9, 0.8)


def test_scores_of_other_data_are_refused_and_lost_ones_are_made_again(tmp_path: Path) -> None:
    spec, cpu = planned()[0].spec, torch.device("cpu")
    digits = load_dataset(DIGITS, tmp_path)
    first = annotate(spec, digits, cpu, tmp_path)
    path = path_of(tmp_path, spec)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"\.npz: not the scores of an annotator \("):
        annotate(spec, digits, cpu, tmp_path)
    assert quarantine_damaged_scores(tmp_path, spec, DIGITS, None) is not None
    assert np.array_equal(annotate(spec, digits, cpu, tmp_path).logits, first.logits)
    scores(path, logits=np.ones((7, 10)))
    with pytest.raises(ValueError, match=r"\.npz: scores of shape \(7, 10\), not \(1438, 10\)"):
        annotate(spec, digits, cpu, tmp_path)
