"""The numbers of a page's figures."""

import json
from typing import Any

from pllbench.reports.aggregate import build_table
from pllbench.reports.figure_data import anchors, figure_data
from pllbench.reports.leaderboard import build_leaderboard
from tests.factories import PROTOCOL
from tests.reports.pages import HOSTILE, curves_of, example_runs, many_runs


def data_of(runs: list[Any], *, curves: bool = True) -> Any:
    board = build_leaderboard(build_table(runs, PROTOCOL), runs, {})
    seconds = {run.run_id: run.provenance.seconds for run in runs}
    return json.loads(json.dumps(figure_data(board, seconds, curves_of(runs) if curves else None)))


def test_ids_are_plain_and_differ() -> None:
    ids = anchors("method", ("CC", "c c", "C-C", "cc (lr=0.05)", *HOSTILE))
    assert ids["CC"] == "method-cc"
    assert (ids["c c"], ids["C-C"]) == ("method-c-c", "method-c-c-2")
    assert ids["cc (lr=0.05)"] == "method-cc-lr-0-05"
    assert len(set(ids.values())) == len(ids)
    assert all(set(one) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for one in ids.values())


def test_cells_hold_the_accuracies_of_the_table_and_the_ids_of_the_runs() -> None:
    runs = example_runs()
    data = data_of(runs)
    lines = [line["label"] for line in data["lines"]]
    accuracies = {run.run_id: 100 * run.result.accuracy["last10"] for run in runs}
    assert sum(len(cell["runs"]) for cell in data["cells"]) == len(runs)
    for cell in data["cells"]:
        assert [round(accuracies[run], 4) for run in cell["runs"]] == cell["values"]
    references = [c for c in data["cells"] if lines[c["line"]] == "Fully supervised"]
    assert [(c["column"], len(c["values"])) for c in references] == [(0, 3)]
    assert data["quantiles"] == {"3": 4.302653}
    assert data["ranks"]["lines"] == [0, 1, 2]
    assert data["ranks"]["groups"] == [[1.0, 2.0], [2.0, 3.0]]


def test_curves_are_kept_at_few_epochs_where_there_are_many() -> None:
    assert data_of(example_runs(), curves=False)["curves"] is None
    few, many = data_of(example_runs())["curves"], data_of(many_runs())["curves"]
    assert len(few["epochs"]["200"]) == 60
    assert len(many["epochs"]["200"]) == 41
    assert few["epochs"]["200"][0] == 1
    assert few["epochs"]["200"][-1] == 200
    supervised = next(c for c in few["cells"] if "class_noise" not in c)
    assert supervised.keys() == {"line", "column", "length", "metric"}
