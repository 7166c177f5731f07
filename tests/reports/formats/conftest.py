"""Pages in a browser; modules that use them skip themselves without selenium."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pllbench.reports.page import Page
from tests.reports.pages import example_runs, hostile_page, many_runs, page_of, write_page

if TYPE_CHECKING:
    from tests.browser import Browser

AXE = "axe-core@4.14.1"
"""The accessibility checker, as npm calls it."""


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Browser]":
    """A browser for all tests of a module."""
    from tests.browser import Browser

    browser = Browser()
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(chromium: "Browser") -> "Iterator[Browser]":
    """A browser whose console stays empty and which asks for nothing but files."""
    chromium.resize(1400)
    chromium.prefer("light")
    yield chromium
    assert chromium.console() == []
    assert chromium.requested() <= {"file", "data"}


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core; the test is skipped where npm cannot fetch it."""
    if shutil.which("npm") is None:
        pytest.skip("npm, which fetches axe-core, is not installed")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "pack", AXE, "--pack-destination", str(folder)]
    patience = ["--fetch-retries=1", "--fetch-timeout=20000"]  # ms; npm's own wait is minutes long
    try:
        done = subprocess.run(
            [*command, *patience],
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
            timeout=90,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm cannot fetch {AXE}: its registry does not answer")
    if done.returncode:
        pytest.skip(f"npm cannot fetch {AXE}: {' '.join(done.stderr.split())[:200]}")
    [archive] = folder.glob("*.tgz")
    shutil.unpack_archive(archive, folder, filter="data")
    return (folder / "package" / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def page() -> Page:
    """A page about a few runs."""
    return page_of(example_runs())


@pytest.fixture(scope="module")
def path(page: Page, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That page as a file."""
    return write_page(page, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page on which all that has a name has a hostile one."""
    return write_page(hostile_page(), tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about 45 methods."""
    runs = many_runs(45, ("digits", "lost", "birdsong"))
    return write_page(page_of(runs), tmp_path_factory.mktemp("large"))
