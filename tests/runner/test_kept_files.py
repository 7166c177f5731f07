"""What runs keep on request: predictions of the test rows, and the trained method."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pllbench.data.dataset import split
from pllbench.grid.plan import PlannedRun
from pllbench.results import records
from pllbench.results.kept import Kept, class_accuracy, kept_path
from pllbench.runner.engine import Finished, attempt
from pllbench.runner.job import Job, RunOptions, execute, job_dataset
from pllbench.runner.kept_files import load_model
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
    path = tmp_path / "a.model.pt"
    path.write_bytes(kept["model"])
    stored = np.load(io.BytesIO(kept["predictions"]))
    model = load_model(path)
    assert model.spec == spec
    found = model.scores(job_dataset(job).x[stored["rows"]])
    assert np.array_equal(found.float().numpy(), stored["scores"])


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.model.pt"
    with pytest.raises(ValueError, match=r"a\.model\.pt: not a model of this version"):
        load_model(path)
    path.write_bytes(b"PK\3\4")
    with pytest.raises(ValueError, match=r"a\.model\.pt: not a model of this version"):
        load_model(path)
    torch.save({"spec": "{}"}, path)
    with pytest.raises(ValueError, match=r"a\.model\.pt: not a model of this version"):
        load_model(path)


def test_a_model_of_another_version_is_refused(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pllbench_methods.cc import CC

    [job] = make_jobs(data_dir, plan_lost("cc"))
    event = attempt(keeping(job), lambda _: True)
    assert isinstance(event, Finished)
    path = tmp_path / "a.model.pt"
    path.write_bytes(event.kept["model"])
    monkeypatch.setattr(CC, "version", CC.version + 1)
    with pytest.raises(ValueError, match=rf"cc is of version {CC.version} now, not"):
        load_model(path)


def test_files_lie_beside_the_record_and_go_aside_with_it(options: RunOptions) -> None:
    runs = plan_lost("cc")
    run_inline(runs, InlineEngine(), replace(options, keep=BOTH))
    path = records.record_path(options.results, runs[0].spec)
    assert {file.name for file in path.parent.iterdir()} == {
        path.name,
        f"{path.stem}.npz",
        f"{path.stem}.predictions.npz",
        f"{path.stem}.model.pt",
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
    line = "1 runs were done before and kept no predictions: do them again to have these"
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
