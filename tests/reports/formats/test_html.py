"""The page as a file: one, small, safe, and with the tables of every other format."""

import base64
import hashlib
import html
import json
import re

import pytest

from pllbench.data.catalogue import DATASETS
from pllbench.reports.formats.html import to_html
from pllbench.reports.page import Page
from tests.reports.pages import HOSTILE, hostile_page, many_runs, page_of


def text_of(fragment: str) -> str:
    """The text of some markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", fragment))


@pytest.fixture(scope="module")
def source(page: Page) -> str:
    return to_html(page)


def test_nothing_is_asked_of_anywhere(source: str) -> None:
    assert re.findall("<(?:img|iframe|object|embed|base|form action)", source) == []
    assert re.findall("<(?:script|link)[^>]*(?:src|href)=[^>]*>", source) == [
        '<link rel="icon" href="data:,">'
    ]
    followed = set(re.findall(r"""<a href=["']?([^"'#>]+)""", source))  # when somebody clicks
    assert followed == {
        *("records/digits", "records/birdsong", "records/lost"),
        DATASETS["lost"].source.partition("#")[0],
    }
    assert "@import" not in source
    assert "url(" not in source.replace("`url(#${clip})`", "")
    assert "fetch(" not in source


def test_the_policy_names_the_digests_of_script_and_style(source: str) -> None:
    policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)', source)[0])
    assert policy.startswith("default-src 'none'; ")
    for kind, name in (("script", "script-src"), ("style", "style-src")):
        [text] = re.findall(rf"<{kind}>(.*?)</{kind}>", source, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy


def test_tables_are_those_that_other_formats_print(page: Page, source: str) -> None:
    printed = re.findall(r"<tr.*?</tr>", source, re.S)
    found = {tuple(map(text_of, re.findall(r"<t[hd].*?</t[hd]>", row, re.S))) for row in printed}
    assert page.compared
    chapters = (table for chapter in (*page.datasets, *page.lines) for table in chapter.tables)
    for table in (page.leaderboard, page.wins, *page.provenance, *page.compared.tables, *chapters):
        for row in table.rows:
            wanted = tuple(f"{cell.text} {cell.note}".strip() for cell in row.cells)
            assert wanted in found


def test_numbers_of_the_figures_are_those_of_the_page(page: Page, source: str) -> None:
    [embedded] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', source)
    assert json.loads(embedded) == page.figures


def test_hostile_names_are_text() -> None:
    source = to_html(hostile_page())
    assert len(re.findall("<script", source)) == len(re.findall("</script>", source)) == 2
    assert "<img" not in source
    assert "<svg onload" not in source
    for name in HOSTILE:
        assert html.escape(name, quote=False).replace("'", "&#39;").replace('"', "&#34;") in source


def test_40_methods_on_10_data_sets_take_less_than_a_megabyte_and_a_half() -> None:
    source = to_html(page_of(many_runs()))
    assert 500_000 < len(source.encode()) < 1_500_000
