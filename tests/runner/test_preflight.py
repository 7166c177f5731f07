"""What is found wrong before any run starts and anything is written."""

from dataclasses import replace
from pathlib import Path

import pytest

from pllbench.runner.job import RunOptions
from pllbench.spec import TrainSpec
from tests import plugins
from tests.factories import plan_lost
from tests.inline_engine import InlineEngine, run_inline


def test_a_missing_data_file_is_found_before_anything_is_written(tmp_path: Path) -> None:
    engine = InlineEngine()
    options = RunOptions(tmp_path / "results", tmp_path, "cpu")
    with pytest.raises(ValueError, match=r"^data set 'lost': no file .*lost\.mat; get it from"):
        run_inline(plan_lost("cc", seeds=(0, 1)), engine, options)
    assert not engine.executed
    assert not options.results.exists()


def test_a_malformed_data_file_is_found_before_anything_is_written(tmp_path: Path) -> None:
    plugins.write_lost(tmp_path).write_bytes(b"no matrix")
    engine = InlineEngine()
    options = RunOptions(tmp_path / "results", tmp_path, "cpu")
    with pytest.raises(ValueError, match=r"lost\.mat: not a \.mat file, or cut off"):
        run_inline(plan_lost("cc", seeds=(0, 1)), engine, options)
    assert not engine.executed
    assert not options.results.exists()


def test_a_results_folder_that_is_a_file_is_refused(tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "results").touch()
    options = RunOptions(tmp_path / "results", data_dir, "cpu")
    with pytest.raises(ValueError, match=r"^results .*: not writable \(File exists\); name "):
        run_inline(plan_lost("cc", seeds=(0, 1)), InlineEngine(), options)


@pytest.mark.parametrize("name", ["records", "work"])
def test_a_file_in_place_of_a_folder_is_found_before_any_run(
    options: RunOptions, name: str
) -> None:
    options.results.mkdir()
    (options.results / name).touch()
    engine = InlineEngine()
    with pytest.raises(ValueError, match=rf"^results .*/{name}: not writable \(File exists\)"):
        run_inline(plan_lost("cc", seeds=(0, 1)), engine, options)
    assert not engine.executed


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_graphs_on_a_device_that_knows_none_are_refused_before_any_run(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    engine, options = InlineEngine(), RunOptions(tmp_path / "results", data_dir, device)
    planned = [
        replace(run, spec=run.spec.model_copy(update={"train": graph(run.spec.train)}))
        for run in plan_lost("cc", seeds=(0, 1))
    ]
    with pytest.raises(ValueError, match=r"seed 0: graph = true needs a CUDA device, this run is"):
        run_inline(planned, engine, options)
    assert not engine.executed
    assert not options.results.exists()


def graph(train: TrainSpec) -> TrainSpec:
    return train.model_copy(update={"graph": True})
