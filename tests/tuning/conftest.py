"""Shared by the tests of tuning."""

from pathlib import Path

import pytest

from pllbench.runner.job import RunOptions
from tests import plugins


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the small data set `lost`."""
    folder = tmp_path_factory.mktemp("data")
    plugins.write_lost(folder)
    return folder


@pytest.fixture
def options(tmp_path: Path, data_dir: Path) -> RunOptions:
    return RunOptions(tmp_path / "results", data_dir, "cpu")
