"""Runs from Python: options of an engine, and a grid from its plan to its records."""

from pathlib import Path

import pytest

from pllbench import api
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.runner.job import RunOptions
from pllbench.validation import FieldError
from tests.inline_engine import InlineEngine


def test_a_grid_is_executed_and_its_records_are_loaded(tmp_path: Path) -> None:
    flags = (Setting(reason="short", train={"epochs": 1}),)
    selection = Selection(methods=("cc",), q=(0.1,), seeds=(0, 1), flags=flags)
    planned = plan(selection)
    summary = api.run_planned(planned, InlineEngine(), RunOptions(tmp_path, tmp_path, "cpu"))
    assert (summary.done, summary.failed) == (2, [])
    one = api.load(
        tmp_path, selection=Selection(methods=("cc",), q=(0.1,), seeds=(1,), flags=flags)
    )
    assert [record.spec.seed for record in one.finished] == [1]
    assert {record.spec.seed for record in api.load(tmp_path).finished} == {0, 1}
    assert one.columns()[planned[1].spec.run_id]["accuracy"].shape == (1,)
    with pytest.raises(FieldError, match=r"^results .*gone: no such folder$"):
        api.load(tmp_path / "gone")
