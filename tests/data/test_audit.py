"""Facts about a data set and its candidate sets, as `pllbench data` prints them."""

import os
from pathlib import Path

import pytest

from pllbench.data.audit import audit_dataset
from tests import plugins

REAL_DATA = os.environ.get("PLLBENCH_DATA")
needs_data = pytest.mark.skipif(
    REAL_DATA is None, reason="PLLBENCH_DATA names no folder of real data sets"
)


def test_digits(tmp_path: Path) -> None:
    facts = audit_dataset("digits", tmp_path, "uniform", 0.5, seed=1)
    assert facts["kind"] == "tabular"
    assert (facts["num_rows"], facts["num_features"], facts["num_classes"]) == (1797, 64, 10)
    assert (facts["num_train"], facts["num_test"]) == (1438, 359)
    assert facts["candidates"] == "process=uniform, q=0.5, policy=force"
    assert facts["candidate_rows"] == 1438
    assert facts["candidates_mean"] == pytest.approx(1 + 9 * 0.5, abs=0.1)
    assert facts["candidates_min"] == 2
    assert facts["candidates_max"] == 10
    assert facts["candidates_singletons"] == 0
    assert facts["candidates_without_true"] == 0


def test_sets_follow_seed_rate_and_policy(tmp_path: Path) -> None:
    def digest(process: str = "uniform", q: float | None = 0.5, seed: int = 0) -> object:
        return audit_dataset("digits", tmp_path, process, q, seed)["candidate_digest"]

    assert digest() == digest("uniform:policy=force")
    assert len({digest(), digest(q=0.3), digest(seed=1), digest("uniform:policy=resample")}) == 4
    assert digest(q=None) == digest(q=0.1), "the first rate of the protocol"


def test_real_sets(tmp_path: Path) -> None:
    plugins.write_lost(tmp_path)
    facts = audit_dataset("lost", tmp_path, "uniform", None, seed=0)
    assert facts["candidates"] == "real"
    assert (facts["num_rows"], facts["candidate_rows"]) == (100, 80)
    assert (facts["candidates_min"], facts["candidates_mean"], facts["candidates_max"]) == (2, 2, 2)


def test_wrong_requests(tmp_path: Path) -> None:
    plugins.write_lost(tmp_path)
    wrong = {
        "unknown data set 'digit': did you mean digits": ("digit", "uniform", None),
        "--q 0.5: lost has real candidate sets": ("lost", "uniform", 0.5),
        "--candidates unifrom: process: Input should be": ("digits", "unifrom", None),
        "resample, q = 0: policy resample needs q > 0": ("digits", "uniform:policy=resample", 0.0),
        "data set 'italian': no file": ("italian", "uniform", None),
    }
    for message, (name, process, q) in wrong.items():
        with pytest.raises(ValueError, match=message):
            audit_dataset(name, tmp_path, process, q, seed=0)


@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [("cnae9", 1080, 856, 9), ("birdsong", 4998, 38, 13)],
)
def test_real_files(name: str, rows: int, features: int, classes: int) -> None:
    facts = audit_dataset(name, Path(REAL_DATA or ""), "uniform", None, seed=0)
    assert (facts["num_rows"], facts["num_features"], facts["num_classes"]) == (
        rows,
        features,
        classes,
    )
    assert facts["num_train"] == rows - round(rows / 5)
