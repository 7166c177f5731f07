"""Runs of other defaults, sources or files are in rows of their own: nothing else is averaged."""

import pytest

from pllbench.data.catalogue import DATASETS
from pllbench.reports.aggregate import build_metric_table, build_table
from pllbench.reports.captions import Shown
from pllbench.reports.table import Table
from pllbench.results.records import Record
from pllbench.results.rows import run_rows
from tests.factories import PROTOCOL, make_plan, make_record, make_spec


def by(source: str | None, accuracy: float, seed: int, method: str = "plug-in") -> Record:
    """A run by a source of a method that does not come with the suite, unless another is named."""
    record = make_record(make_spec(method, seed=seed), accuracy)
    provenance = record.provenance.model_copy(update={"method_source": source})
    return record.model_copy(update={"provenance": provenance})


def run(accuracy: float, seed: int, digest: str | None = None, **fields: object) -> Record:
    record = make_record(make_spec("cc", seed=seed, **fields), accuracy)  # type: ignore[arg-type]
    provenance = record.provenance.model_copy(update={"data_digest": digest})
    return record.model_copy(update={"provenance": provenance})


def numbers(table: Table) -> dict[str, list[str]]:
    return {row.label: [c.number if c else "--" for c in row.cells] for row in table.blocks[0].rows}


OLD = [run(84, 0, hparams={"a": 1.0, "b": 2}), run(86, 1, hparams={"a": 1.0, "b": 2})]
NEW = [run(34, 2, hparams={"a": 5.0, "b": 2}), run(36, 3, hparams={"a": 5.0, "b": 2})]


def test_runs_of_two_defaults_are_two_rows() -> None:
    assert numbers(build_table(OLD, PROTOCOL)) == {"CC": ["85.00 ± 1.41"]}
    assert numbers(build_table([*OLD, *NEW], PROTOCOL)) == {
        "CC, a=1.0": ["85.00 ± 1.41"],
        "CC, a=5.0": ["35.00 ± 1.41"],
    }


def test_the_rows_are_told_apart_in_every_column() -> None:
    other = [run(70, 0, q=0.7, hparams={"a": 1.0, "b": 2})]
    assert numbers(build_table([*OLD, *NEW, *other], PROTOCOL)) == {
        "CC, a=1.0": ["85.00 ± 1.41", "70.00"],
        "CC, a=5.0": ["35.00 ± 1.41", "--"],
    }


def test_what_is_set_or_of_another_version_is_no_other_default() -> None:
    set_ = [run(70, 0, hparams={"a": 9.0, "b": 2}, changed=("a",))]
    other = [run(60, 0, hparams={"a": 7.0, "b": 2}, version=2)]
    assert numbers(build_table([*OLD, *set_, *other], PROTOCOL)) == {
        "CC (a=9.0), version 1": ["70.00"],
        "CC, version 1": ["85.00 ± 1.41"],
        "CC": ["60.00"],
    }


def test_a_setting_that_older_records_lack_is_no_difference_unless_its_default_has_changed() -> (
    None
):
    older = [run(84, 0, hparams={"b": 2}), run(86, 1, hparams={"b": 2})]
    assert numbers(build_table([*older, NEW[0]], PROTOCOL)) == {"CC": ["68.00 ± 29.46"]}
    table = build_table([older[0], OLD[1], *NEW], PROTOCOL)
    assert numbers(table) == {
        "CC, no a": ["84.00"],
        "CC, a=1.0": ["86.00"],
        "CC, a=5.0": ["35.00 ± 1.41"],
    }


def test_a_selection_shows_stale_runs_apart_from_those_it_asks_for() -> None:
    specs = [make_spec("cc", seed=seed, hparams={"a": 5.0, "b": 2}) for seed in range(4)]
    planned = make_plan(specs)
    table = build_table([*OLD, *NEW], PROTOCOL, planned=planned)
    assert numbers(table) == {"CC, a=1.0": ["85.00 ± 1.41"], "CC, a=5.0": ["35.00 ± 1.41"]}
    assert [cell.note for _, cell in table.cells] == ["n = 2 of 4", "n = 2 of 4"]
    assert numbers(build_table(OLD, PROTOCOL, planned=planned)) == {"CC, a=1.0": ["85.00 ± 1.41"]}
    assert numbers(build_table(NEW, PROTOCOL, planned=planned)) == {"CC": ["35.00 ± 1.41"]}


def test_records_that_are_not_selected_change_no_label() -> None:
    planned = make_plan([make_spec("cc", seed=seed, hparams={"a": 5.0, "b": 2}) for seed in (2, 3)])
    assert numbers(build_table([*OLD, *NEW], PROTOCOL, planned=planned)) == {"CC": ["35.00 ± 1.41"]}


@pytest.mark.parametrize("planned", [False, True])
def test_runs_on_two_files_are_two_rows(planned: bool) -> None:
    known = DATASETS["birdsong"].known_digest
    records = [
        run(80, 0, known, dataset="birdsong", q=None),
        run(82, 1, None, dataset="birdsong", q=None),  # counts as made on the known file
        run(60, 2, "f" * 16, dataset="birdsong", q=None),
    ]
    selected = make_plan([record.spec for record in records]) if planned else None
    table = build_table(records, PROTOCOL, planned=selected)
    assert numbers(table) == {
        f"CC, data {str(known)[:8]}": ["81.00 ± 1.41"],
        "CC, data ffffffff": ["60.00"],
    }
    assert numbers(build_table(records[:2], PROTOCOL)) == {"CC": ["81.00 ± 1.41"]}
    assert numbers(build_table(records[2:], PROTOCOL)) == {"CC": ["60.00"]}


def test_records_without_a_digest_on_data_without_a_known_one_are_like_the_others() -> None:
    records = [run(80, 0, "a" * 16, dataset="svhn"), run(82, 1, None, dataset="svhn")]
    assert numbers(build_table(records, PROTOCOL)) == {"CC": ["81.00 ± 1.41"]}


def test_runs_of_two_sources_of_a_plug_in_are_two_rows() -> None:
    records = [by("a" * 16, 80, 0), by("a" * 16, 82, 1), by("b" * 16, 30, 2)]
    assert numbers(build_table(records, PROTOCOL)) == {
        "plug-in, source aaaaaaaa": ["81.00 ± 1.41"],
        "plug-in, source bbbbbbbb": ["30.00"],
    }
    labels = [row["label"] for row in run_rows(records, PROTOCOL)]
    assert labels == ["plug-in, source aaaaaaaa"] * 2 + ["plug-in, source bbbbbbbb"]
    assert numbers(build_table(records[:2], PROTOCOL)) == {"plug-in": ["81.00 ± 1.41"]}


def test_sources_that_were_shown_to_give_the_same_numbers_are_one_row() -> None:
    records = [by("b" * 16, 80, 0), by("c" * 16, 82, 1), by("a" * 16, 30, 2)]
    two = {", source bbbbbbbb": "81.00 ± 1.41", ", source aaaaaaaa": "30.00"}
    for equal, expected in (
        ([["b" * 16, "c" * 16]], two),
        ([["a" * 16, "b" * 16, "c" * 16]], {"": "64.00 ± 29.46"}),
    ):
        shown = Shown(equal={"plug-in": {"1": equal}})
        table = build_metric_table(records, PROTOCOL, shown)
        assert numbers(table) == {f"plug-in{end}": [number] for end, number in expected.items()}


def test_a_record_that_does_not_say_its_source_is_of_the_only_one_there_is() -> None:
    one, other, none = by("a" * 16, 80, 0), by("b" * 16, 30, 1), by(None, 82, 2)
    assert numbers(build_table([one, none], PROTOCOL)) == {"plug-in": ["81.00 ± 1.41"]}
    assert numbers(build_table([one, other, none], PROTOCOL)) == {
        "plug-in, source aaaaaaaa": ["80.00"],
        "plug-in, source bbbbbbbb": ["30.00"],
        "plug-in, source unknown": ["82.00"],
    }


def test_sources_of_built_in_methods_are_one_row() -> None:
    records = [by("a" * 16, 80, 0, "cc"), by("b" * 16, 82, 1, "cc")]
    assert numbers(build_table(records, PROTOCOL)) == {"CC": ["81.00 ± 1.41"]}
