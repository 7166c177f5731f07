"""Reports in Markdown."""

import pytest

from pllbench.reports.aggregate import build_table
from pllbench.reports.formats.markdown import escape_markdown, to_markdown
from pllbench.reports.report import Report, TextTable, plain_headers, plain_row, report_table
from tests.factories import PROTOCOL, make_records
from tests.reports.examples import GOLDEN, golden_names, golden_text


def test_golden_files_are_there() -> None:
    assert len(golden_names(".md")) == 6


@pytest.mark.parametrize("name", golden_names(".md"))
def test_printed_reports_are_the_golden_files(name: str) -> None:
    assert golden_text(name) == (GOLDEN / name).read_text("utf-8")


def test_special_characters_are_escaped() -> None:
    assert escape_markdown("a|b*c_d <e> [f]") == r"a\|b\*c\_d \<e\> \[f\]"
    text = to_markdown(
        report_table(build_table(make_records([90], method="a|b*c_d <e>"), PROTOCOL))
    )
    assert r"| a\|b\*c\_d \<e\> | 90.00 |" in text


def test_notes_follow_the_title_or_come_last() -> None:
    table = TextTable("One", plain_headers(("A", "n")), (plain_row(("a", "1")),), notes=("Mine.",))
    lines = "## One\n\n| A | n |\n| :-- | --: |\n| a | 1 |\n\n- Mine.\n"
    assert to_markdown(Report("All", (table,), ("Ours.",), [])) == f"# All\n\n- Ours.\n\n{lines}"
    assert to_markdown(Report("", (table,), ("Ours.",), [])) == f"{lines}\n- Ours.\n"
