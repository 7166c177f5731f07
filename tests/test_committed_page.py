"""`results/report.html` is the page about the committed records."""

import json
import re
from pathlib import Path
from typing import Any

from pllbench import api

RESULTS = Path(__file__).parent.parent / "results"


def embedded(path: Path) -> Any:
    """The numbers that the figures of a page are drawn from."""
    text = path.read_text("utf-8")
    [found] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found)


def rows(path: Path) -> list[str]:
    """The rows of all tables of a page."""
    return re.findall(r"<tr.*?</tr>", path.read_text("utf-8"), re.S)


def test_the_page_is_made_from_the_committed_records(tmp_path: Path) -> None:
    """Made anew where records change, by: pllbench report --output results/report.html."""
    made = tmp_path / "report.html"
    api.load(RESULTS).report(made)
    assert embedded(made) == embedded(RESULTS / "report.html")
    plain = [re.sub(r' href="[^"]*"', "", row) for row in rows(made)]
    assert plain == [re.sub(r' href="[^"]*"', "", row) for row in rows(RESULTS / "report.html")]


def test_links_to_records_are_folders_that_exist() -> None:
    text = (RESULTS / "report.html").read_text("utf-8")
    linked = set(re.findall(r'href="(records/[^"]*)"', text))
    stored = {path.parent for path in (RESULTS / "records").glob("*/*/*.json")}
    assert {RESULTS / address for address in linked} == stored
