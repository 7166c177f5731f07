"""Runs from Python: options of an engine, and a grid from its plan to its records."""

import re
from pathlib import Path

import pytest
import torch

from pllbench import api
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.runner.job import RunOptions
from pllbench.runner.local_engine import LocalEngine
from pllbench.validation import FieldError
from tests.inline_engine import InlineEngine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (api.EngineOptions(name="rya"), "engine rya: did you mean ray?"),
        (api.EngineOptions(device="gpu"), "device gpu: did you mean cpu?"),
        (api.EngineOptions(address="10.0.0.1:6379"), "address: only with engine ray"),
        (api.EngineOptions(gpus_per_run=0.5), "gpus_per_run: only with engine ray"),
        (api.EngineOptions(timeout=0), "timeout 0: must be more than 0 seconds"),
    ],
)
def test_impossible_options_of_an_engine_are_refused(
    options: api.EngineOptions, message: str
) -> None:
    for function in (api.require_engine_options, api.open_engine):
        with pytest.raises(FieldError, match=f"^{re.escape(message)}$"):
            function(options)


def test_the_local_engine_has_the_options_that_were_asked_for() -> None:
    with api.open_engine(api.EngineOptions(device="cpu", jobs=3, timeout=5)) as engine:
        assert isinstance(engine, LocalEngine)
        assert (engine.places, engine.timeout) == (3, 5)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("device", ["auto", "cuda", "cuda:0", "cuda:1"])
def test_one_run_at_a_time_on_a_gpu(device: str) -> None:
    with api.open_engine(api.EngineOptions(device=device)) as engine:
        assert isinstance(engine, LocalEngine)
        assert engine.places == 1


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(FieldError, match=r"^device cuda:2: the last one here is cuda:1$"):
        api.open_engine(api.EngineOptions(device="cuda:2"))


def test_a_grid_is_executed_and_its_records_are_loaded(tmp_path: Path) -> None:
    flags = (Setting(reason="short", train={"epochs": 1}),)
    selection = Selection(methods=("cc",), q=(0.1,), seeds=(0, 1), flags=flags)
    planned = plan(selection)
    summary = api.run(planned, InlineEngine(), RunOptions(tmp_path, tmp_path, "cpu"))
    assert (summary.done, summary.failed) == (2, [])
    one = api.load(tmp_path, Selection(methods=("cc",), q=(0.1,), seeds=(1,), flags=flags))
    assert [record.spec.seed for record in one.finished] == [1]
    assert {record.spec.seed for record in api.load(tmp_path).finished} == {0, 1}
    assert one.curves()[planned[1].spec.run_id]["accuracy"].shape == (1,)
    with pytest.raises(FieldError, match=r"^results .*gone: no such folder$"):
        api.load(tmp_path / "gone")
