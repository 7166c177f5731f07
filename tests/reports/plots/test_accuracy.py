"""Accuracy against q, or against a hyperparameter."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from pydantic import JsonValue

from pllbench.grid.plan import PlannedRun
from pllbench.reports.aggregate import build_table
from pllbench.reports.plots.accuracy import plot_accuracy, plot_hparam
from pllbench.reports.plots.figure import save
from pllbench.results.records import Record
from pllbench.spec import CandidateSpec
from tests.factories import PROTOCOL, RELATIVE, make_plan, make_records
from tests.reports.plots.drawings import example_records, legend, titles


def test_accuracy_has_a_panel_a_data_set() -> None:
    figure = plot_accuracy(build_table(example_records(), PROTOCOL))
    assert titles(figure) == ["Digits", "BirdSong"]
    assert legend(figure) == ["Fully supervised", "CC", "RC"]
    digits, birdsong = figure.axes
    assert [t.get_text() for t in digits.get_xticklabels()] == ["0.1", "0.3", "0.7"]
    assert [t.get_text() for t in birdsong.get_yticklabels()] == ["CC"]


def test_accuracy_has_a_panel_a_process_with_the_rows_of_that_alone() -> None:
    runs = [
        *make_records([90, 91], method="cc"),
        *make_records([80, 81], method="cc", candidates=RELATIVE),
        *make_records([82, 83], method="rc", candidates=RELATIVE),
        *make_records([70, 71], method="cc", candidates=CandidateSpec(process="uniform-set")),
    ]
    figure = plot_accuracy(build_table(runs, PROTOCOL))
    assert titles(figure) == [
        "Digits, instance, rule=max",
        "Digits, uniform",
        "Digits, uniform-set",
    ]
    relative, _, sets = figure.axes
    assert [t.get_text() for t in relative.get_yticklabels()] == ["CC", "RC"]
    assert [t.get_text() for t in sets.get_yticklabels()] == ["CC"]


def test_error_bars_are_sample_std_and_points_do_not_overlap() -> None:
    digits = plot_accuracy(build_table(example_records(), PROTOCOL)).axes[0]
    cc, rc = (container for container in digits.containers)
    x_cc, y_cc = cc.lines[0].get_data()  # type: ignore[attr-defined]
    x_rc, _ = rc.lines[0].get_data()  # type: ignore[attr-defined]
    assert y_cc == pytest.approx([92.0] * 3)
    [bars] = cc.lines[2]  # type: ignore[attr-defined]
    low, high = bars.get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(np.std([90, 94], ddof=1))
    assert not set(x_cc) & set(x_rc)
    assert np.mean([x_cc[0], x_rc[0]]) == pytest.approx(0.1)


def test_dots_alone_need_no_legend() -> None:
    figure = plot_accuracy(
        build_table(make_records([71, 72], dataset="birdsong", q=None), PROTOCOL)
    )
    assert legend(figure) == []


def test_dots_have_room_for_all_lines_of_their_labels() -> None:
    """The label of the second of three rows takes two lines."""
    settings = {"epochs": 20, "batch_size": 128, "weight_decay": 0.01}
    runs = [
        *make_records([71, 72], dataset="birdsong", q=None),
        *make_records([73, 74], method="rc", dataset="birdsong", q=None, train=settings),
        *make_records([75, 76], method="proden", dataset="birdsong", q=None),
    ]
    [panel] = plot_accuracy(build_table(runs, PROTOCOL)).axes
    lines = [label.get_text().count("\n") + 1 for label in panel.get_yticklabels()]
    assert lines == [1, 2, 1]
    assert panel.get_yticks().tolist() == [0.5, 2, 3.5]
    assert panel.get_ylim() == (4, 0)


def test_one_q_one_seed_and_references_alone_are_drawn(tmp_path: Path) -> None:
    for runs in (make_records([90]), make_records([99], method="supervised")):
        save(plot_accuracy(build_table(runs, PROTOCOL)), tmp_path / "one.png")


def test_the_legend_names_what_is_drawn() -> None:
    done = example_records()
    planned = make_plan([r.spec for r in (*done, *make_records([1], method="proden", q=0.1))])
    assert legend(plot_accuracy(build_table(done, PROTOCOL, planned=planned))) == [
        "Fully supervised",
        "CC",
        "RC",
    ]


def taus(values: Sequence[object] = (1.0, 5.0, 30.0)) -> list[Record]:
    return [
        record
        for tau in values
        for q in (0.1, 0.7)
        for record in make_records(
            [90 - q, 92], method="asyco", q=q, hparams={"tau": tau, "a": 1}, changed=("tau",)
        )
    ]


def hparams(runs: list[Record]) -> dict[str, dict[str, JsonValue]]:
    return {record.run_id: record.spec.hparams for record in runs}


def plan_taus(runs: list[Record]) -> list[PlannedRun]:
    """A row for each tau, all under one label."""
    planned = make_plan([run.spec for run in runs])
    return [replace(run, name=f"tau-{run.spec.hparams['tau']}") for run in planned]


def against_tau(runs: list[Record]) -> Figure:
    return plot_hparam(build_table(runs, PROTOCOL, planned=plan_taus(runs)), hparams(runs))


def test_accuracy_against_a_hyperparameter_is_a_line_a_column() -> None:
    figure = against_tau(taus())
    [axes] = figure.axes
    assert legend(figure) == ["q = 0.1", "q = 0.7"]
    assert axes.get_xlabel() == "tau"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "5", "30"]
    x, y = axes.containers[1].lines[0].get_data()  # type: ignore[attr-defined]
    assert list(x) == [1, 5, 30]
    assert y == pytest.approx([90.65] * 3)


def test_a_data_set_without_runs_has_no_panel() -> None:
    runs = taus()
    missing = make_records([1], method="asyco", dataset="cnae9", hparams={"tau": 1.0})
    planned = plan_taus([*runs, *missing])
    figure = plot_hparam(build_table(runs, PROTOCOL, planned=planned), hparams(runs))
    assert titles(figure) == ["Digits"]


def test_data_sets_may_differ_in_another_hyperparameter() -> None:
    runs = taus() + [
        record
        for tau in (1.0, 5.0)
        for record in make_records(
            [90], method="asyco", dataset="cnae9", q=0.1, hparams={"tau": tau, "a": 2}
        )
    ]
    assert titles(against_tau(runs)) == ["Digits", "CNAE-9"]


def test_rows_must_differ_in_one_hyperparameter_which_is_a_number() -> None:
    with pytest.raises(ValueError, match=r"one hyperparameter must differ .*, found: none"):
        against_tau(taus([1.0]))
    with pytest.raises(ValueError, match="tau = 'high' of AsyCo: no number"):
        against_tau(taus(["high", 1.0]))
