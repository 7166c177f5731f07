"""What runs keep on request: predictions of the test rows, and the trained method."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone

from pllbench.data.dataset import split
from pllbench.estimator import PartialLabelClassifier
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.results import records
from pllbench.results.kept import Kept, class_accuracy, kept_path
from pllbench.runner.job import Job, RunOptions, execute, job_dataset
from pllbench.training.evaluation import predictions
from pllbench.training.model import read_model
from tests.factories import make_jobs, plan_lost
from tests.inline_engine import InlineEngine, run_inline

BOTH: tuple[Kept, ...] = ("predictions", "model")


def one_run(method: str, epochs: int = 3) -> PlannedRun:
    """A run on `lost`; a fitted method reads no epochs, so another one is planned beside it."""
    return next(run for run in plan_lost(method, "cc", epochs=epochs) if run.name == method)


def keeping(job: Job) -> Job:
    return replace(job, options=replace(job.options, keep=BOTH))


@pytest.mark.parametrize("method", ["proden", "asyco", "pl_knn"])
def test_predictions_are_those_of_the_last_epoch(data_dir: Path, method: str) -> None:
    [job] = make_jobs(data_dir, [one_run(method)])
    kept: dict[Kept, bytes] = {}
    record, _ = execute(keeping(job), kept=kept)
    assert kept.keys() == set(BOTH)
    stored = np.load(io.BytesIO(kept["predictions"]))
    dataset = job_dataset(job)
    _, test = split(dataset, 0)
    assert stored["rows"].tolist() == test.tolist()
    assert stored["y"].tolist() == dataset.y[test].tolist()
    assert stored["scores"].shape == (20, 3)
    assert stored["scores"].dtype == np.float32
    assert stored["predicted"].tolist() == stored["scores"].argmax(1).tolist()
    right = stored["predicted"] == stored["y"]
    assert right.mean() == record.result.accuracy["last"]
    assert "classes" not in stored
    for label, share in enumerate(stored["class_accuracy"]):
        assert share == right[stored["y"] == label].mean()


def test_to_keep_something_changes_no_number(data_dir: Path) -> None:
    [job] = make_jobs(data_dir, plan_lost("asyco", epochs=3))
    record, curves = execute(job)
    other, same = execute(keeping(job), kept={})
    assert (record.spec, record.result) == (other.spec, other.result)
    assert all(np.array_equal(curves[name], same[name]) for name in curves)


@pytest.mark.parametrize("method", ["proden", "asyco", "pico", "pl_knn"])
def test_a_kept_method_predicts_as_it_did_without_any_data(
    data_dir: Path, tmp_path: Path, method: str
) -> None:
    run = one_run(method)
    spec = run.spec.model_copy(
        update={"views": run.spec.views.model_copy(update={"scaling": "zscore"})}
    )
    [job] = make_jobs(data_dir, [replace(run, spec=spec)])
    kept: dict[Kept, bytes] = {}
    execute(keeping(job), kept=kept)
    path = tmp_path / "a.model"
    path.write_bytes(kept["model"])
    stored = np.load(io.BytesIO(kept["predictions"]))
    model, _ = read_model(path)
    assert model.spec == spec
    x = job_dataset(job).x[stored["rows"]]
    found = predictions(model.method, model.task, x)
    assert np.array_equal(found.float().numpy(), stored["scores"])
    classifier = PartialLabelClassifier.load(path)
    assert classifier.predict(x.numpy()).tolist() == stored["predicted"].tolist()
    assert classifier.predict_proba(x.numpy()) == pytest.approx(softmax(stored["scores"], axis=1))


def test_a_kept_model_is_a_classifier_that_can_be_trained_again(
    data_dir: Path, tmp_path: Path
) -> None:
    run = one_run("proden")
    [job] = make_jobs(data_dir, [run])
    kept: dict[Kept, bytes] = {}
    execute(keeping(job), kept=kept)
    path = tmp_path / "a.model"
    path.write_bytes(kept["model"])
    dataset, spec = job_dataset(job), run.spec
    train, _ = split(dataset, 0)
    assert dataset.candidates is not None
    x, sets = dataset.x[train].numpy(), dataset.candidates[train].numpy()
    kept_one = PartialLabelClassifier.load(path)
    assert kept_one.classes_.tolist() == [0, 1, 2]
    again = clone(kept_one).fit(x, sets)
    assert again._model.spec.train == spec.train
    assert np.array_equal(again.predict_proba(x), kept_one.predict_proba(x))
    with pytest.raises(ValueError, match=r"a run has kept knows no training rows: give X and y$"):
        kept_one.disambiguate()
    found = kept_one.disambiguate(x, sets)
    inside = np.where(sets, kept_one.predict_proba(x), 0)
    assert found.label.tolist() == inside.argmax(1).tolist()
    kept_one.save(tmp_path / "b.model")
    saved = PartialLabelClassifier.load(tmp_path / "b.model")
    assert np.array_equal(saved.predict_proba(x), kept_one.predict_proba(x))


def test_without_test_rows_there_are_no_predictions(data_dir: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    np.savez(tmp_path / "birds.npz", x=x, candidates=np.eye(3, dtype=int)[np.arange(40) % 3])
    selection = Selection(methods=("cc",), datasets=(str(tmp_path / "birds.npz"),), seeds=(0,))
    epochs = Setting(train={"epochs": 2}, reason="--epochs 2")
    [job] = make_jobs(data_dir, plan(replace(selection, flags=(epochs,))))
    kept: dict[Kept, bytes] = {}
    record, _ = execute(keeping(job), kept=kept)
    assert (record.result.num_test, record.result.num_holdout) == (0, 8)
    stored = np.load(io.BytesIO(kept["predictions"]))
    shapes = {name: stored[name].shape for name in stored}
    assert shapes == {
        "rows": (0,),
        "y": (0,),
        "scores": (0, 3),
        "predicted": (0,),
        "class_accuracy": (3,),
    }
    assert np.isnan(stored["class_accuracy"]).all()


def test_files_lie_beside_the_record_and_go_aside_with_it(options: RunOptions) -> None:
    runs = plan_lost("cc")
    run_inline(runs, InlineEngine(), replace(options, keep=BOTH))
    path = records.record_path(options.results, runs[0].spec)
    assert {file.name for file in path.parent.iterdir()} == {
        path.name,
        f"{path.stem}.npz",
        f"{path.stem}.predictions.npz",
        f"{path.stem}.model",
    }
    shares = class_accuracy(path)
    assert list(shares) == ["0", "1", "2"]
    assert records.verify(path).run_id == runs[0].spec.run_id
    records.set_stale_aside(options.results, runs[0].spec)
    assert {file.name.rpartition(".")[2] for file in path.parent.iterdir()} == {"stale"}


def test_runs_that_were_done_before_without_are_counted(options: RunOptions) -> None:
    runs = plan_lost("cc", "rc")
    run_inline(runs[:1], InlineEngine(), options)
    engine = InlineEngine()
    _, lines = run_inline(runs, engine, replace(options, keep=("predictions",)))
    line = "done before, without predictions kept: 1; `pllbench rerun` does runs again"
    assert line in lines
    assert engine.executed == [("rc", 0)]
    _, lines = run_inline(runs[1:], engine, replace(options, keep=("predictions",)))
    assert lines == []


def test_damaged_predictions_are_named(options: RunOptions) -> None:
    runs = plan_lost("cc")
    run_inline(runs, InlineEngine(), replace(options, keep=BOTH))
    path = records.record_path(options.results, runs[0].spec)
    kept_path(path, "predictions").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"predictions\.npz: not readable"):
        class_accuracy(path)
