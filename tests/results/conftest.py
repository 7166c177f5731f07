"""Shared by the tests of records and curves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pllbench.results import records
from pllbench.results.records import write_record
from tests.factories import CURVES, make_record, make_spec
from tests.results.damaged import RECORD, SHORT


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with two records."""
    root = tmp_path_factory.mktemp("stored")
    write_record(root, make_record(make_spec("cc", train=SHORT), 50.0), CURVES)
    write_record(root, RECORD, CURVES)
    return root


@pytest.fixture
def path(stored: Path) -> Iterator[Path]:
    """The record of `rc`; it and its curves are whole again after the test."""
    path = records.record_path(stored, RECORD.spec)
    whole = {file: file.read_bytes() for file in (path, path.with_suffix(".npz"))}
    yield path
    for file, content in whole.items():
        file.write_bytes(content)
