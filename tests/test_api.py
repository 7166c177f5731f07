"""Results that are loaded from Python."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from pllbench import api
from pllbench.grid.plan import Selection
from pllbench.grid.protocol import Setting
from pllbench.reports.plots import Plot
from pllbench.reports.results import Results
from pllbench.results.records import write_record
from pllbench.results.rows import RunRow
from pllbench.results.selected import Stored
from pllbench.results.status import Status
from pllbench.validation import FieldError
from tests.factories import (
    CURVES,
    make_plan,
    make_record,
    make_records,
    make_spec,
    one_column,
    store,
)


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"results {tmp_path}: no records there"):
        api.load(tmp_path).table()
    with pytest.raises(ValueError, match=r"results .*elsewhere: no such folder"):
        api.load(tmp_path / "elsewhere")


def test_a_selection_without_finished_runs_is_refused() -> None:
    planned = make_plan([make_spec("rc")])
    results = Results(
        [Path("results")],
        [Stored(record, Path("results")) for record in make_records([90])],
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
    [(_, cell)] = api.load(tmp_path, selection=wanted).accuracies().cells
    assert cell.seeds == (0, 1, 2, 3, 4)
    three = api.load(tmp_path, selection=replace(wanted, seeds=(0, 1, 2))).accuracies()
    assert [cell.seeds for _, cell in three.cells] == [(0, 1, 2)]


def test_status_counts_what_is_missing_for_plans_and_not_for_filters(tmp_path: Path) -> None:
    store(tmp_path, make_records([90, 91]))
    planned = Selection(methods=("cc",), datasets=("digits",), q=(0.3,))
    assert api.status(tmp_path, selection=planned) == Status(2, 0, 0, 1)
    assert api.status(tmp_path, selection=Selection(datasets=("digits",))) == Status(2, 0, 0, None)


def test_a_frame_has_a_row_for_each_run(tmp_path: Path) -> None:
    store(tmp_path, [*make_records([90, 91]), make_record(make_spec("supervised"), 95)])
    frame = api.load(tmp_path).frame()
    assert set(RunRow.model_fields) <= set(frame.columns)
    found = frame[["method", "label", "q", "seed", "last10"]].astype(object)
    rows = found.where(frame.notna(), None).to_numpy().tolist()
    assert rows == [
        ["cc", "CC", 0.3, 0, 0.9],
        ["cc", "CC", 0.3, 1, 0.91],
        ["supervised", "Fully supervised", None, 0, 0.95],
    ]


def test_curves_are_one_long_table(tmp_path: Path) -> None:
    [record] = make_records([90], train={"epochs": 3})
    write_record(tmp_path, record, CURVES)
    frame = api.load(tmp_path).curves()
    assert list(frame.columns) == ["run_id", "epoch", "quantity", "value"]
    assert set(frame["run_id"]) == {record.run_id}
    assert frame[["epoch", "quantity", "value"]].to_numpy().tolist() == [
        [0, "accuracy", 0.25],
        [1, "accuracy", 0.5],
        [2, "accuracy", 0.75],
        [1, "log_late", 0.25],
        [2, "log_late", 2.0**-100],
    ]


def test_nothing_has_empty_frames(tmp_path: Path) -> None:
    frame = api.load(tmp_path).frame()
    assert len(frame) == 0
    assert list(frame.columns) == list(RunRow.model_fields)
    assert list(api.load(tmp_path).curves().columns) == ["run_id", "epoch", "quantity", "value"]


@pytest.mark.parametrize("kind", ["accuracy", "noise", "curves"])
def test_plots_are_figures_that_a_notebook_shows(kind: Plot, tmp_path: Path) -> None:
    store(tmp_path, make_records([90, 91]))
    figure = api.load(tmp_path).plot(kind)
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_a_plot_of_another_kind_or_rule_is_refused(tmp_path: Path) -> None:
    results = api.load(store(tmp_path, make_records([90, 91])))
    with pytest.raises(FieldError, match=r"^kind accurcy: did you mean accuracy\?$"):
        results.plot("accurcy")  # type: ignore[arg-type]
    with pytest.raises(FieldError, match=r"^select last: a plot of noise shows all epochs"):
        results.plot("noise", "last")


def test_unknown_rules_metrics_and_criteria_are_named(tmp_path: Path) -> None:
    results = api.load(store(tmp_path, make_records([90, 91])))
    with pytest.raises(FieldError, match=r"^select lats: did you mean last\?$"):
        results.table("lats")  # type: ignore[arg-type]
    with pytest.raises(FieldError, match=r"^metric acuracy: did you mean accuracy\?$"):
        results.table(metrics="acuracy")  # type: ignore[arg-type]
    with pytest.raises(FieldError, match=r"^criterion accuracy: known: approximated_accuracy, cov"):
        results.choose("accuracy")  # type: ignore[arg-type]
    with pytest.raises(IsADirectoryError):
        results.report("/")


def test_plain_parts_select_as_a_selection_does(tmp_path: Path) -> None:
    results = api.load(store(tmp_path, one_column(cc=[90, 91], rc=[80, 81])))
    found = results.select(methods="cc", seeds=[1])
    assert [record.run_id for record in found.finished] == [make_spec("cc", seed=1).run_id]
    whole = api.load(tmp_path, selection=Selection(methods=("cc",), seeds=(1,)))
    assert found.finished == whole.finished


def test_results_say_what_they_hold(tmp_path: Path) -> None:
    results = api.load(store(tmp_path, one_column(cc=[90, 91], rc=[80, 81])))
    assert repr(results) == f"<Results of {tmp_path}: runs 4, methods 2, data sets 1>"
    assert results._repr_html_() == results.table()._repr_html_()
    nothing = api.load(tmp_path / "records")
    assert nothing._repr_html_().startswith("&lt;Results of ")
