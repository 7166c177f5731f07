"""Whether two records of one run say the same."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from pllbench.results.equality import Numbers, first_difference, read_numbers
from pllbench.results.records import Provenance, write_record
from tests.factories import AUDIT, CURVES, make_record, make_spec

SPEC = make_spec("cc", train={"epochs": 3})
ONE = Numbers(make_record(SPEC, 80.0), CURVES)


def test_the_same_run_on_another_day_is_equal(tmp_path: Path) -> None:
    provenance = Provenance(audit=AUDIT, seconds=7.0, device="GPU")
    record = ONE.record.model_copy(update={"provenance": provenance})
    found = read_numbers(write_record(tmp_path, record, CURVES))
    assert first_difference(ONE, found) is None
    assert found.digest == ONE.digest


def with_column(name: str, values: list[float]) -> Numbers:
    return Numbers(ONE.record, {**CURVES, name: np.array(values)})


OTHERS = {
    "spec hparams.tau is not there, not 5.0": Numbers(
        make_record(SPEC.model_copy(update={"hparams": {"tau": 5.0}}), 80.0), CURVES
    ),
    "result accuracy.last is 0.8, not 0.81": Numbers(make_record(SPEC, 81.0), CURVES),
    "column accuracy differs from epoch 1 on": with_column("accuracy", [0.25, 0.5001, 0.75]),
    "column accuracy has 3 epochs, not 2": with_column("accuracy", [0.25, 0.5]),
    "column log_late differs from epoch 0 on": with_column("log_late", [0.0, 1 / 3, 2e-300]),
    "one has no column loss": with_column("loss", [1.0, 1.0, 1.0]),
}


@pytest.mark.parametrize("words", OTHERS)
def test_what_differs_is_said(words: str) -> None:
    other = OTHERS[words]
    assert first_difference(ONE, other) == words
    assert first_difference(other, ONE) is not None
    assert other.digest != ONE.digest


def test_values_that_python_takes_for_equal_are_told_apart() -> None:
    specs = [SPEC.model_copy(update={"hparams": {"a": value}}) for value in (1, 1.0, True, None)]
    found = [Numbers(make_record(spec, 80.0), CURVES) for spec in (*specs, SPEC)]
    for one, other in itertools.combinations(found, 2):
        assert first_difference(one, other) is not None
        assert one.digest != other.digest


def test_digits_beyond_float32_do_not_count() -> None:
    one = with_column("loss", [1 / 3, 1e-100, 2.0])
    other = with_column("loss", [float(np.float32(1 / 3)), 0.0, 2.0])
    assert first_difference(one, other) is None
    assert one.digest == other.digest


def test_zeros_of_both_signs_and_all_kinds_of_nan_are_equal() -> None:
    one, other = (
        with_column("loss", [0.0, np.nan, 1e300]),
        with_column("loss", [-0.0, -np.nan, 1e301]),
    )
    assert first_difference(one, other) is None
    assert one.digest == other.digest
