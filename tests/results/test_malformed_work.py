"""Malformed checkpoints and scores of annotators: named before a run begins, and kept."""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from pydantic import JsonValue
from rich.console import Console

from pllbench.data import dataset as datasets
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.results.workspace import Workspace
from pllbench.runner import annotator as annotators
from pllbench.runner.annotator import annotate
from pllbench.runner.run_grid import Options, run_grid
from pllbench.training.checkpoints import HEADER, Checkpoints, State, sealed
from tests.commands import contents
from tests.damage import ANYWHERE, BYTES, anywhere, cut, overwritten
from tests.records_factory import make_record, make_spec, store
from tests.runner.test_run_grid import InlineEngine

SHORT: dict[str, JsonValue] = {"epochs": 3}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The records of two other runs."""
    methods = [("proden", 50.0), ("rc", 60.0)]
    return store(tmp_path, [make_record(make_spec(m, train=SHORT), a) for m, a in methods])


def planned(**candidates: object) -> list[PlannedRun]:
    flags = (
        Setting(reason="--epochs", train=SHORT),
        Setting.parse({"reason": "--candidates", "candidates": candidates}),
    )
    selection = Selection(methods=("cc",), q=(0.3,), seeds=(0,), flags=flags)
    return plan(selection)


INSTANCE = {"process": "instance", "annotator_network": "linear", "annotator_epochs": 1}


def is_kept(results: Path, path: Path, runs: list[PlannedRun], problem: str) -> None:
    """A run that would need the file begins without it; the file is named, and moved aside."""
    content, others = path.read_bytes(), contents(results / "records")
    output = io.StringIO()
    summary = run_grid(
        runs, InlineEngine("cc"), Options(results, results, "cpu"), Console(file=output, width=1000)
    )
    [line, *_] = output.getvalue().splitlines()
    assert line.startswith(f"{path}: ")
    assert problem in line
    assert len(summary.failed) == 1, "the engine fails what it begins"
    assert not path.exists()
    assert path.with_name(f"{path.name}.unreadable").read_bytes() == content
    assert contents(results / "records") == others


def saved(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return sealed(buffer.getvalue())


CHECKPOINTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "HTML": lambda _: b"<html>503</html>",
    "the header": lambda _: HEADER,
    "cut in half": lambda whole: whole[: len(whole) // 2],
    "a wrong bit": lambda whole: whole[:-50] + bytes([whole[-50] ^ 1]) + whole[-49:],
    "another run's": lambda _: saved({"run_id": "0" * 16, "next_epoch": 1}),
    "no run's": lambda _: saved({"next_epoch": 1}),
    "no fields": lambda _: saved([1, 2]),
    "a pickle": lambda _: sealed(pickle.dumps({"run_id": "0" * 16})),
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_malformed_checkpoints(results: Path, kind: str) -> None:
    runs = planned()
    run_id = runs[0].spec.run_id
    path = Workspace.of(results, run_id).checkpoint
    Checkpoints(path, run_id).save(State(1, {}, {}, {"accuracy": [0.5]}, [], 1.5))
    path.write_bytes(CHECKPOINTS[kind](path.read_bytes()))
    is_kept(results, path, runs, "not a checkpoint of this run (")


def scores(path: Path, **changes: Any) -> bytes:
    """The file of an annotator's scores, with other arrays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"logits": np.ones((1438, 10), dtype=np.float32)}
    arrays = whole | {"train_accuracy": np.float64(0.9), "test_accuracy": 0.8} | changes
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path.read_bytes()


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
    runs = planned(**INSTANCE)
    path = results / "work" / "annotators" / f"{runs[0].spec.annotator}.npz"
    scores(path, **change)
    is_kept(results, path, runs, "not the scores of an annotator (")


@anywhere
@given(place=ANYWHERE)
def test_scores_cut_at_any_byte(tmp_path: Path, place: float) -> None:
    spec = planned(**INSTANCE)[0].spec
    path = tmp_path / f"{spec.annotator}.npz"
    content = cut(scores(path, logits=np.ones((20, 10))), place)
    path.write_bytes(content)
    line = annotators.set_aside(tmp_path, spec)
    assert line is not None
    assert line.startswith(f"{path}: not the scores of an annotator (")
    assert "\n" not in line
    [kept] = tmp_path.iterdir()
    assert kept.read_bytes() == content
    kept.unlink()


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_scores_with_other_bytes(tmp_path: Path, place: float, by: bytes) -> None:
    spec = planned(**INSTANCE)[0].spec
    path = tmp_path / f"{spec.annotator}.npz"
    path.write_bytes(overwritten(scores(path, logits=np.ones((20, 10))), place, by))
    if annotators.set_aside(tmp_path, spec):
        path.with_name(f"{path.name}.unreadable").unlink()
    else:  # bytes that nobody reads
        with np.load(path) as stored:
            assert (stored["logits"] == 1).all()
            assert (stored["train_accuracy"], stored["test_accuracy"]) == (0.9, 0.8)


def test_scores_of_other_data_are_refused_and_lost_ones_are_made_again(tmp_path: Path) -> None:
    spec, cpu = planned(**INSTANCE)[0].spec, torch.device("cpu")
    digits = datasets.load("digits", tmp_path)
    first = annotate(spec, digits, cpu, tmp_path)
    path = tmp_path / f"{spec.annotator}.npz"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"\.npz: not the scores of an annotator \("):
        annotate(spec, digits, cpu, tmp_path)
    assert annotators.set_aside(tmp_path, spec) is not None
    assert np.array_equal(annotate(spec, digits, cpu, tmp_path).logits, first.logits)
    scores(path, logits=np.ones((7, 10)))
    with pytest.raises(ValueError, match=r"\.npz: scores of shape \(7, 10\), not \(1438, 10\)"):
        annotate(spec, digits, cpu, tmp_path)
