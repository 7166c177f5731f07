"""Which cells are best and second, and what a benchmark file adds to its tables."""

from typing import Any

import pytest

from pllbench.grid.benchmark import Benchmark
from pllbench.reports.aggregate import build_table
from pllbench.reports.report import report_table
from pllbench.reports.table import Table
from pllbench.results.records import Record
from tests.factories import PROTOCOL, make_plan, make_records, on_other_sets, one_column


def marks(table: Table) -> dict[str, str]:
    return {row.label: cell.mark for row, cell in table.cells}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"cc": [90], "rc": [89], "proden": [88]}, ["best", "second", ""]),
        ({"cc": [90.001], "rc": [90.004], "proden": [88]}, ["best", "best", ""]),
        ({"cc": [90], "rc": [89.001], "proden": [89.004]}, ["best", "second", "second"]),
        ({"cc": [90], "rc": [90], "proden": [90]}, ["best", "best", "best"]),
        ({"cc": [90]}, [""]),
    ],
)
def test_ties_at_printed_precision(values: dict[str, list[float]], expected: list[str]) -> None:
    assert list(marks(build_table(one_column(**values), PROTOCOL)).values()) == expected


def test_a_reference_is_first_and_not_ranked() -> None:
    table = build_table(one_column(cc=[90], rc=[80], supervised=[99]), PROTOCOL)
    assert marks(table) == {"Fully supervised": "", "CC": "best", "RC": "second"}
    [block] = table.blocks
    assert block.rows[0].reference
    assert table.notes[-1].endswith("not ranked: Fully supervised.")


def test_a_cell_short_of_planned_runs_is_marked_and_not_ranked() -> None:
    records = one_column(cc=[90, 92, 94], rc=[99, 99, 99], proden=[80, 81, 82])
    planned = make_plan([r.spec for r in records])
    done = [r for r in records if (r.spec.method, r.spec.seed) != ("rc", 1)]
    table = build_table(done, PROTOCOL, planned=planned)
    assert {row.label: cell.note for row, cell in table.cells} == {
        "CC": "",
        "RC": "n = 2 of 3",
        "PRODEN": "",
    }
    assert marks(table) == {"CC": "best", "RC": "", "PRODEN": "second"}
    assert "Incomplete: 1 of 9 runs are missing." in table.notes
    assert table.notes[0].endswith("n = 3 seeds unless a cell says otherwise.")


def test_a_row_on_other_candidate_sets_is_not_ranked_and_the_caption_says_so() -> None:
    records = one_column(cc=[90, 92], rc=[91, 93])
    table = build_table([*records, *on_other_sets(one_column(proden=[99, 99]))], PROTOCOL)
    assert marks(table) == {"CC": "second", "RC": "best", "PRODEN": ""}
    assert "On other splits or candidate sets, so not ranked: PRODEN." in table.notes
    two = build_table([*records[:2], *on_other_sets(one_column(proden=[99, 99]))], PROTOCOL)
    assert marks(two) == {"CC": "", "PRODEN": ""}


def test_an_oracle_is_not_ranked_and_the_caption_says_so() -> None:
    hparams: dict[str, Any] = {"oracle_noise_rate": 0.3}
    told = make_records([99, 99], method="alim", hparams=hparams, changed=("oracle_noise_rate",))
    own = make_records([91, 93], method="alim", hparams={"oracle_noise_rate": None})
    table = build_table([*one_column(cc=[90, 92]), *own, *told], PROTOCOL)
    oracle = "ALIM (oracle_noise_rate=0.3)"
    assert marks(table) == {"CC": "second", "ALIM": "best", oracle: ""}
    assert f"Oracles, told what only true labels say, so not ranked: {oracle}." in table.notes


METHODS = ("supervised", "cc", "rc", "proden")


def benchmark(**fields: Any) -> Benchmark:
    return Benchmark.parse({"grid": [{"methods": METHODS}], **fields})


def records() -> list[Record]:
    return [
        *make_records([99, 98], method="supervised"),
        *(r for q, a in ((0.3, 90), (0.7, 80)) for r in make_records([a, a + 1], q=q)),
        *(r for q, a in ((0.3, 91), (0.7, 78)) for r in make_records([a, a], method="rc", q=q)),
        *(r for q in (0.3, 0.7) for r in make_records([70, 71], method="proden", q=q)),
    ]


def improvement(done: list[Record], planned: list[Record], name: str = "rc") -> list[float | None]:
    plan = make_plan([record.spec for record in planned])
    layout = benchmark(improvement=name)
    table = build_table(done, PROTOCOL, planned=plan, benchmark=layout)
    [block] = table.blocks
    assert block.improvement
    return list(block.improvement.values)


def test_the_improvement_is_over_the_best_competitor_and_may_be_none() -> None:
    assert improvement(records(), records()) == pytest.approx([0.5, -2.5])


@pytest.mark.parametrize("method", ["cc", "rc"])
def test_an_incomplete_column_has_no_improvement(method: str) -> None:
    done = [r for r in records() if (r.spec.method, r.spec.q, r.spec.seed) != (method, 0.7, 1)]
    first, second = improvement(done, records())
    assert first == pytest.approx(0.5)
    assert second is None


def test_a_competitor_on_other_candidate_sets_is_none() -> None:
    done = records() + on_other_sets(
        [r for q in (0.3, 0.7) for r in make_records([99, 99], method="dpll", q=q)]
    )
    assert improvement(done, done) == pytest.approx([0.5, -2.5])


def test_title_note_and_grey_rows() -> None:
    layout = benchmark(title="Ours", note="By hand.", grey=["supervised"])
    table = build_table(records(), PROTOCOL, benchmark=layout)
    caption = report_table(table).caption()
    assert caption.startswith("Ours. Test accuracy")
    assert "By hand. Best of a column" in caption
    assert [row.label for row in table.blocks[0].rows if row.grey] == ["Fully supervised"]
    assert table.blocks[0].improvement is None


def test_without_a_benchmark_there_is_no_layout() -> None:
    table = build_table(records(), PROTOCOL)
    [block] = table.blocks
    assert (table.title, block.improvement) == ("", None)
    assert not any(row.grey for row in block.rows)


@pytest.mark.parametrize("fields", [{"improvement": "procen"}, {"grey": ["cc", "procen"]}])
def test_a_layout_names_methods_of_its_grids(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"'procen': in no grid, did you mean proden"):
        benchmark(**fields)
