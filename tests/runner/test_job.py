"""One run from spec to record: the same record each time, and where it comes from."""

import hashlib
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pllbench.data.content import files_digest
from pllbench.registry import load_method
from pllbench.runner.job import Job, execute
from pllbench.runner.origin import origin_id
from pllbench.source import source_digest
from pllbench.training.checkpoints import Checkpoints, State
from pllbench.training.trainer import Interrupted, Progress
from tests import plugins
from tests.factories import make_jobs, plan_lost


def job(data_dir: Path, method: str = "proden", epochs: int = 6) -> Job:
    [job] = make_jobs(data_dir, plan_lost(method, epochs=epochs))
    return job


def test_two_executions_differ_in_provenance_alone(plugin_folder: Path) -> None:
    record, curves = execute(job(plugin_folder))
    again, same_curves = execute(job(plugin_folder))
    assert record.spec == again.spec == job(plugin_folder).spec
    assert record.result == again.result
    assert curves.keys() == same_curves.keys()
    for name, column in curves.items():
        assert column.shape == (6,)
        assert np.array_equal(column, same_curves[name])


def test_provenance_says_where_a_record_comes_from(plugin_folder: Path) -> None:
    provenance = execute(job(plugin_folder, "steady", epochs=1))[0].provenance
    assert provenance.device == "cpu"
    assert provenance.versions["misbehaving"] == "1.0"
    assert {"python", "pllbench", "torch", "numpy"} <= provenance.versions.keys()
    assert provenance.seconds > 0
    assert provenance.peak_memory_mib is not None
    assert provenance.peak_memory_mib > 1
    assert provenance.audit.num_rows == 80
    assert provenance.audit.mean == 2
    assert provenance.resumed_from == ()
    assert provenance.method_source == source_digest(load_method("steady"))
    assert provenance.method_source is not None
    [lost] = (plugin_folder / "pll_realworld").iterdir()
    assert provenance.data_digest == hashlib.sha256(lost.read_bytes()).hexdigest()[:16]


def test_an_interrupted_run_goes_on_to_the_same_record(plugin_folder: Path, tmp_path: Path) -> None:
    straight, straight_curves = execute(job(plugin_folder))
    halting = replace(job(plugin_folder), checkpoint=tmp_path / "checkpoint.pt")
    for epoch in (1, 3):
        with pytest.raises(Interrupted):
            execute(halting, lambda progress, epoch=epoch: progress.epoch < epoch)  # type: ignore[misc]
    record, curves = execute(halting)
    assert record.provenance.resumed_from == (2, 4)
    assert record.result == straight.result
    for name, column in straight_curves.items():
        assert np.array_equal(column, curves[name])


def test_the_seconds_of_a_resumed_run_are_those_of_all_its_parts(
    plugin_folder: Path, tmp_path: Path
) -> None:
    halting = replace(job(plugin_folder), checkpoint=tmp_path / "checkpoint.pt")
    digest = files_digest(halting.data, plugin_folder)
    stored = Checkpoints(tmp_path / "checkpoint.pt", origin_id(halting.spec, digest))

    def stop(progress: Progress) -> bool:
        return False

    def state() -> State:
        found = stored.load(torch.device("cpu"))
        assert found is not None
        return found

    with pytest.raises(Interrupted):
        execute(halting, stop)
    first = state()
    assert first.seconds > 0
    stored.save(replace(first, seconds=1000.0))  # as if the first part had taken long
    with pytest.raises(Interrupted):
        execute(halting, stop)
    second = state().seconds
    assert 1000 < second < 1100
    assert second < execute(halting)[0].provenance.seconds < second + 100


def test_candidate_sets_without_the_true_label_need_permission(tmp_path: Path) -> None:
    sets = np.zeros((3, 100))
    sets[0] = 1
    plugins.write_lost(tmp_path, partial_target=sets)
    with pytest.raises(ValueError, match=r"lost\.mat: row 1\b"):
        execute(job(tmp_path, "cc", epochs=1))
    strict = job(tmp_path, "cc", epochs=1)
    record, _ = execute(replace(strict, options=replace(strict.options, noisy=True)))
    audit = record.provenance.audit
    assert audit.without_true is not None
    assert audit.without_true > 0.5


def test_jobs_and_records_travel_between_processes(plugin_folder: Path) -> None:
    done = execute(job(plugin_folder, "cc", epochs=1))
    assert pickle.loads(pickle.dumps(job(plugin_folder))) == job(plugin_folder)
    assert pickle.loads(pickle.dumps(done))[0] == done[0]
