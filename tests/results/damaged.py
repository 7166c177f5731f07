"""How a damaged record is named, and what else stays."""

from pathlib import Path

from pllbench.results import records
from tests.factories import make_record, make_spec

SHORT = {"epochs": 3}
RECORD = make_record(make_spec("rc", train=SHORT), 60.0)
"""What the tests damage."""


def is_named(stored: Path, path: Path, suffix: str = ".json") -> None:
    """The record is refused by the path of its damaged file, and the other one still counts."""
    found, [unreadable] = records.read_records(stored)
    assert [record.spec.method for record in found] == ["cc"]
    assert unreadable.path == path
    assert unreadable.reason.startswith(f"{path.with_suffix(suffix)}: ")
    assert "\n" not in unreadable.reason
    assert not records.is_done(stored, RECORD.spec)
