"""Results that are loaded from Python."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pllbench import api
from pllbench.grid.plan import Selection
from pllbench.grid.protocol import Setting
from pllbench.results.status import Status
from tests.factories import make_plan, make_record, make_records, make_spec, store


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"results {tmp_path}: no records there"):
        api.load(tmp_path).table()
    with pytest.raises(ValueError, match=r"results .*elsewhere: no such folder"):
        api.load(tmp_path / "elsewhere")


def test_a_selection_without_finished_runs_is_refused() -> None:
    planned = make_plan([make_spec("rc")])
    results = api.Results(
        [Path("results")],
        [api.Stored(record, Path("results")) for record in make_records([90])],
        planned=planned,
    )
    with pytest.raises(ValueError, match="results: none of the 1 runs of this selection is done"):
        results.table()


def test_two_folders_are_read_together_and_what_disagrees_is_named(tmp_path: Path) -> None:
    [a, b] = make_records([90, 80])
    changed = b.model_copy(update={"result": a.result})
    store(tmp_path / "one", [a, b])
    store(tmp_path / "two", [a, changed])
    results = api.load(tmp_path / "one", tmp_path / "two")
    assert {r.run_id: r for r in results.records} == {r.run_id: r for r in (a, b)}
    [reason] = results.uncounted
    assert reason.startswith(str(tmp_path / "two"))
    assert f"not equal to the run of this id in {tmp_path / 'one'}" in reason


FILTERS = [
    ({"datasets": ("digits",)}, {"cc", "rc"}),
    ({"methods": ("rc",)}, {"rc"}),
    ({"q": (0.5,)}, {"rc"}),
    ({"seeds": (4,)}, {"cc"}),
    ({"flags": (Setting(reason="--epochs 200", train={"epochs": 200}),)}, {"cc", "rc"}),
]


@pytest.mark.parametrize(("parts", "methods"), FILTERS)
def test_a_part_of_a_selection_filters_what_is_there(
    parts: dict[str, Any], methods: set[str], tmp_path: Path
) -> None:
    store(
        tmp_path,
        [make_record(make_spec("cc", seed=4), 90), make_record(make_spec("rc", q=0.5), 80)],
    )
    found = api.load(tmp_path, selection=Selection(**parts)).finished
    assert {record.spec.method for record in found} == methods


def test_a_filter_that_finds_nothing_names_the_nearest_runs(tmp_path: Path) -> None:
    store(tmp_path, [make_record(make_spec("cc", train={"epochs": 5}), 90)])
    flag = Setting(reason="--epochs 200", train={"epochs": 200})
    wanted = Selection(methods=("cc",), flags=(flag,))
    message = r"none of the 1 runs here .*; CC \(epochs=5\) on digits uniform q=0.3 is there"
    with pytest.raises(ValueError, match=message):
        api.load(tmp_path, selection=wanted)


def test_a_plan_of_which_nothing_is_done_names_the_nearest_runs(tmp_path: Path) -> None:
    store(tmp_path, [make_record(make_spec("cc", train={"epochs": 5}), 90)])
    wanted = Selection(methods=("cc",), datasets=("digits",), q=(0.3,), seeds=(0,))
    message = r"\(1 other records\); CC \(epochs=5\) on digits uniform q=0.3 is there$"
    with pytest.raises(ValueError, match=message):
        api.load(tmp_path, selection=wanted).table()


def test_a_planned_selection_shows_all_seeds_that_are_there(tmp_path: Path) -> None:
    store(tmp_path, make_records([90, 91, 92, 93, 94]))
    wanted = Selection(methods=("cc",), datasets=("digits",), q=(0.3,))
    [(_, cell)] = api.load(tmp_path, selection=wanted).table().cells
    assert cell.seeds == (0, 1, 2, 3, 4)
    three = api.load(tmp_path, selection=replace(wanted, seeds=(0, 1, 2))).table()
    assert [cell.seeds for _, cell in three.cells] == [(0, 1, 2)]


def test_status_counts_what_is_missing_for_plans_and_not_for_filters(tmp_path: Path) -> None:
    store(tmp_path, make_records([90, 91]))
    planned = Selection(methods=("cc",), datasets=("digits",), q=(0.3,))
    assert api.status(tmp_path, selection=planned) == Status(2, 0, 0, 1)
    assert api.status(tmp_path, selection=Selection(datasets=("digits",))) == Status(2, 0, 0, None)
