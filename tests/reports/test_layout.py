"""What a benchmark file adds to its tables."""

from typing import Any

import pytest

from pllbench.grid.protocol import Benchmark
from pllbench.reports.aggregate import build
from pllbench.reports.layout import laid_out
from pllbench.reports.table import Table
from pllbench.results.records import Record
from tests.records_factory import PROTOCOL, make_plan, make_records, on_other_sets

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
    table = laid_out(build(done, PROTOCOL, planned=plan), benchmark(improvement=name))
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
    found = laid_out(
        build(records(), PROTOCOL), benchmark(title="Ours", note="By hand.", grey=["supervised"])
    )
    assert found.caption().startswith("Ours. Test accuracy")
    assert "By hand. Best of a column" in found.caption()
    assert [row.label for row in found.blocks[0].rows if row.grey] == ["Fully supervised"]
    assert found.blocks[0].improvement is None


def test_without_a_benchmark_nothing_is_added() -> None:
    table: Table = build(records(), PROTOCOL)
    assert laid_out(table, None) is table


@pytest.mark.parametrize("fields", [{"improvement": "procen"}, {"grey": ["cc", "procen"]}])
def test_a_layout_names_methods_of_its_grids(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"'procen': in no grid, did you mean proden"):
        benchmark(**fields)
