"""Which runs are a cell, which cells a row, and the sentences of the caption."""

import random
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllbench.grid.protocol import Variant
from pllbench.reports.aggregate import build_table
from pllbench.reports.table import Cell, Row, Table
from pllbench.spec import CORE_VERSION
from tests.factories import (
    FREE,
    PROTOCOL,
    RELATIVE,
    make_plan,
    make_record,
    make_records,
    make_spec,
    one_column,
)


def numbers(table: Table) -> dict[str, list[str]]:
    """Printed numbers by the label of their row."""
    return {
        row.label: [cell.number if cell else "--" for cell in row.cells]
        for block in table.blocks
        for row in block.rows
    }


def only_cell(table: Table) -> tuple[Row, Cell]:
    [cell] = table.cells
    return cell


def caption(table: Table) -> str:
    return " ".join(table.notes)


def test_three_seeds_give_mean_and_sample_std() -> None:
    table = build_table(make_records([90, 92, 94]), PROTOCOL)
    _, cell = only_cell(table)
    assert cell.number == "92.00 ± 2.00"
    assert "mean ± sample std (ddof = 1) over n = 3 seeds." in caption(table)


def test_one_seed_has_no_spread() -> None:
    table = build_table(make_records([90]), PROTOCOL)
    assert only_cell(table)[1].number == "90.00"
    assert "one seed (n = 1)" in caption(table)
    assert "±" not in caption(table)


def test_a_cell_without_runs_is_missing_and_the_caption_says_so() -> None:
    records = [
        *make_records([90, 92, 94], method="cc", q=0.3),
        *make_records([80, 82, 84], method="cc", q=0.7),
        *make_records([91, 92, 93], method="rc", q=0.3),
    ]
    table = build_table(records, PROTOCOL)
    assert numbers(table) == {"CC": ["92.00 ± 2.00", "82.00 ± 2.00"], "RC": ["92.00 ± 1.00", "--"]}
    assert "Incomplete: 1 of 4 cells have no runs." in caption(table)


def test_a_planned_cell_without_runs_is_missing() -> None:
    planned = make_plan([make_spec(method, seed=s) for method in ("cc", "rc") for s in (0, 1)])
    table = build_table(make_records([90, 92], method="cc"), PROTOCOL, planned=planned)
    assert numbers(table) == {"CC": ["91.00 ± 1.41"], "RC": ["--"]}
    assert "Incomplete: 2 of 4 runs are missing." in caption(table)


def test_a_complete_selection_is_not_called_incomplete() -> None:
    records = make_records([90, 92, 94])
    table = build_table(records, PROTOCOL, planned=make_plan([r.spec for r in records]))
    assert "ncomplete" not in caption(table)


def test_only_the_runs_of_a_selection_are_shown() -> None:
    records = make_records([90, 92, 94], q=0.3)
    other = make_records([10, 10, 10], q=0.7) + make_records([20], train={"epochs": 5})
    table = build_table(records + other, PROTOCOL, planned=make_plan([r.spec for r in records]))
    assert numbers(table) == {"CC": ["92.00 ± 2.00"]}


def test_without_a_selection_a_cell_with_another_n_says_so() -> None:
    table = build_table(one_column(cc=[90, 92, 94], rc=[91, 93, 95], proden=[80, 90]), PROTOCOL)
    assert [cell.note for _, cell in table.cells] == ["", "", "n = 2"]


def test_rows_of_a_selection_keep_its_order() -> None:
    records = one_column(rc=[90], supervised=[95], cc=[91])
    table = build_table(records, PROTOCOL, planned=make_plan([r.spec for r in records]))
    assert list(numbers(table)) == ["Fully supervised", "RC", "CC"]


def test_two_rows_may_share_their_runs() -> None:
    spec = make_spec()
    record = make_record(spec, 90)
    [run] = make_plan([spec])
    planned = [run, replace(run, name="cc-2-strong", label="CC, 2 strong views")]
    table = build_table([record], PROTOCOL, planned=planned)
    assert numbers(table) == {"CC": ["90.00"], "CC, 2 strong views": ["90.00"]}


def test_a_benchmarks_variant_has_its_own_label() -> None:
    variant = Variant.parse({"base": "cc", "label": "CC short", "train": {"epochs": 5}})
    protocol = PROTOCOL.model_copy(update={"variants": {"cc-short": variant}})
    spec = make_spec(train={"epochs": 5})
    record = make_record(spec, 90)
    planned = [replace(run, name="cc-short", label="CC short") for run in make_plan([spec])]
    for table in (
        build_table([record], protocol),
        build_table([record], protocol, planned=planned),
    ):
        row, _ = only_cell(table)
        assert (row.name, row.label) == ("cc-short", "CC short")


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({"train": {"epochs": 20}}, "CC (epochs=20)"),
        ({"train": {"network": "mlp"}}, "CC (network=mlp)"),
        ({"holdout": 0.1}, "CC (holdout=0.1)"),
        ({"data_seed": 7}, "CC (data_seed=7)"),
        ({"hparams": {"tau": 2}, "changed": ("tau",)}, "CC (tau=2)"),
        ({"digest": "0123456789abcdef"}, "CC, data 01234567"),
        ({"core_version": CORE_VERSION - 1}, f"CC, core version {CORE_VERSION - 1}"),
    ],
)
def test_runs_with_other_settings_are_a_row_of_their_own(
    changes: dict[str, object], label: str
) -> None:
    other = [make_record(make_spec(seed=s, **changes), 50) for s in range(3)]  # type: ignore[arg-type]
    rows = numbers(build_table(make_records([90, 92, 94]) + other, PROTOCOL))
    assert rows.pop(label) == ["50.00 ± 0.00"]
    assert list(rows.values()) == [["92.00 ± 2.00"]]


def test_an_older_version_of_a_method_is_a_row_of_its_own_in_every_column() -> None:
    records = [
        *make_records([90, 92], q=0.3, version=1),
        *make_records([80, 82], q=0.7, version=1),
        *make_records([70, 72], q=0.3, version=2),
    ]
    assert numbers(build_table(records, PROTOCOL)) == {
        "CC": ["71.00 ± 1.41", "--"],
        "CC, version 1": ["91.00 ± 1.41", "81.00 ± 1.41"],
    }


def test_sets_of_another_annotator_are_a_row_of_their_own() -> None:
    """As a newer version of the annotator's method makes them."""
    records = [
        *make_records([90, 92], candidates=RELATIVE, annotator="a" * 16),
        *make_records([80, 82], candidates=RELATIVE, annotator="b" * 16),
        *make_records([70, 72], annotator=None),
    ]
    assert numbers(build_table(records, PROTOCOL)) == {
        "CC": ["--", "71.00 ± 1.41"],
        "CC, annotator aaaaaaaa": ["91.00 ± 1.41", "--"],
        "CC, annotator bbbbbbbb": ["81.00 ± 1.41", "--"],
    }
    one = [record for record in records if record.spec.annotator != "b" * 16]
    assert list(numbers(build_table(one, PROTOCOL))) == ["CC"]


def test_columns_are_sorted_by_q_and_blocks_by_the_catalogue() -> None:
    records = [
        *make_records([1], dataset="birdsong", q=None),
        *make_records([1], q=0.7),
        *make_records([1], q=0.05),
    ]
    table = build_table(records, PROTOCOL)
    assert [block.title for block in table.blocks] == ["Digits", "BirdSong"]
    assert [block.headers for block in table.blocks] == [
        [("q = 0.05",), ("q = 0.7",)],
        [("accuracy",)],
    ]


def test_options_of_a_process_are_the_columns() -> None:
    records = [
        *make_records([90, 92], method="cc"),
        *make_records([80, 82], method="rc"),
        *make_records([60, 62], method="cc", candidates=FREE),
        *make_records([70, 72], method="rc", candidates=FREE),
        *make_records([50, 52], method="rc", candidates=RELATIVE),
    ]
    table = build_table(records, PROTOCOL)
    assert numbers(table) == {
        "CC": ["--", "91.00 ± 1.41", "61.00 ± 1.41"],
        "RC": ["51.00 ± 1.41", "81.00 ± 1.41", "71.00 ± 1.41"],
    }
    [block] = table.blocks
    marks = [[cell.mark if cell else None for cell in row.cells] for row in block.rows]
    assert marks == [[None, "best", "second"], ["", "second", "best"]]


def test_references_alone_make_a_table() -> None:
    table = build_table(make_records([99, 98], method="supervised"), PROTOCOL)
    assert numbers(table) == {"Fully supervised": ["98.50 ± 0.71"]}
    assert table.blocks[0].columns == ()


def test_the_rule_is_in_the_caption_and_decides_the_number() -> None:
    record = make_record(make_spec(), 60, {"last": 58, "oracle": 75})
    for rule, number in (("last10", "60.00"), ("last", "58.00"), ("oracle", "75.00")):
        table = build_table([record], PROTOCOL, rule)  # type: ignore[arg-type]
        assert only_cell(table)[1].number == number
    assert "oracle (best test epoch): a diagnostic" in caption(
        build_table([record], PROTOCOL, "oracle")
    )


def test_a_short_run_is_said_to_count_all_its_epochs() -> None:
    table = build_table(make_records([90], train={"epochs": 5}), PROTOCOL)
    assert "mean of the last 10 epochs (all epochs of shorter runs)" in caption(table)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "Split, candidate sets and initialisation vary with the seed."),
        ({"dataset": "birdsong", "q": None}, "Split and initialisation vary with the seed."),
        (
            {"data_seed": 7},
            "Initialisation varies with the seed; data_seed = 7 fixes split and candidate sets.",
        ),
    ],
)
def test_the_caption_says_what_the_seed_varies(settings: dict[str, object], sentence: str) -> None:
    assert sentence in caption(build_table(make_records([90, 92], **settings), PROTOCOL))


def test_the_caption_names_the_rows_with_fixed_data() -> None:
    records = make_records([90, 92]) + make_records([80, 82], data_seed=7)
    assert (
        "Split, candidate sets and initialisation vary with the seed; "
        "data_seed = 7 fixes split and candidate sets of CC (data_seed=7)."
    ) in caption(build_table(records, PROTOCOL))


def test_a_rule_without_values_is_refused_with_its_reason() -> None:
    with pytest.raises(ValueError, match=r"select covering_rate: .* needs a hold-out") as caught:
        build_table(make_records([90, 92]), PROTOCOL, "covering_rate")
    assert "\n" not in str(caught.value)


def test_cells_without_a_value_say_why() -> None:
    held = [make_record(make_spec(holdout=0.1), 90, {"covering_rate": 88})]
    table = build_table(held + make_records([80]), PROTOCOL, "covering_rate")
    assert numbers(table) == {"CC": ["--"], "CC (holdout=0.1)": ["88.00"]}
    assert [cell.note for _, cell in table.cells] == ["no hold-out", ""]
    assert "no hold-out: runs without a hold-out" in caption(table)


@given(st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(order: random.Random) -> None:
    records = [
        *one_column(cc=[90, 92.3, 94.1], rc=[91, 93.7, 95.9], supervised=[99, 98]),
        *make_records([1.1, 2.2, 3.3], train={"epochs": 5}),
        *make_records([1.1, 2.2], dataset="birdsong", q=None),
        *make_records([50], version=0),
    ]
    expected = build_table(records, PROTOCOL)
    order.shuffle(records)
    assert build_table(records, PROTOCOL) == expected


def test_tables_and_plots_do_not_import_torch() -> None:
    code = (
        "import sys, pllbench.reports.aggregate, pllbench.reports.formats.terminal;"
        "import pllbench.reports.formats.latex, pllbench.reports.plots.accuracy;"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_that_two_rows_share_is_missing_once() -> None:
    done, missing = make_records([90, 91], method="cc")
    planned = make_plan([done.spec, missing.spec])
    planned += [replace(run, name="cc-again", label="CC again") for run in planned]
    assert (
        "Incomplete: 1 of 2 runs are missing."
        in build_table([done], PROTOCOL, planned=planned).notes
    )
