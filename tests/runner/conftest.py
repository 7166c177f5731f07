"""Shared by the tests of runners."""

from pathlib import Path

import pytest

from pllbench.runner.job import RunOptions
from tests import plugins
from tests.factories import make_record, make_spec, store


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the small data set `lost`."""
    folder = tmp_path_factory.mktemp("data")
    plugins.write_lost(folder)
    return folder


@pytest.fixture
def options(tmp_path: Path, data_dir: Path) -> RunOptions:
    return RunOptions(tmp_path / "results", data_dir, "cpu")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with the records of a run of `proden` and one of `rc`."""
    methods = [("proden", 50.0), ("rc", 60.0)]
    return store(tmp_path, [make_record(make_spec(m, train={"epochs": 3}), a) for m, a in methods])
