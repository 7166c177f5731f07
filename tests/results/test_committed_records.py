"""The records of the repository: new settings change no identity."""

from collections import Counter
from pathlib import Path

import pytest

from pllbench.results.records import read_records
from pllbench.spec import RunSpec

RESULTS = Path(__file__).parents[2] / "results"

NEW = {"imbalance": 1.0, "annotations": None, "pruning": None}
"""Fields that most records do not hold, and the defaults that they stand for."""


def test_every_committed_record_keeps_its_id() -> None:
    if not (RESULTS / "records").is_dir():
        pytest.skip("the records are in the repository, not in a distribution")
    found, unreadable = read_records(RESULTS)
    assert not unreadable
    assert max(Counter(record.run_id for record in found).values()) == 1
    for name, default in NEW.items():
        without = [record.spec for record in found if getattr(record.spec, name) == default]
        assert len(without) > 600
        assert not any(name in spec.identity for spec in without)


@pytest.mark.parametrize("name", NEW)
def test_a_new_field_at_its_default_is_no_part_of_the_identity(name: str) -> None:
    assert RunSpec.model_fields[name].default == NEW[name]
