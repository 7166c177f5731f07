"""A report as Python shows it: plain text, HTML in which all text is text, files by suffix."""

import json
import re
from pathlib import Path

import pytest

from pllbench.reports.aggregate import build_table
from pllbench.reports.formats.view import ReportView
from pllbench.reports.report import Report, TextCell, TextRow, TextTable, report_table
from pllbench.validation import FieldError
from tests.factories import PROTOCOL, make_records, one_column

VIEW = ReportView(report_table(build_table(one_column(cc=[90, 92], rc=[80, 82]), PROTOCOL)))


def test_text_is_that_of_the_command() -> None:
    lines = str(VIEW).splitlines()
    assert lines[0].split() == ["Digits", "q", "=", "0.3"]
    assert lines[2].split() == ["CC", "*", "91.00", "±", "1.41"]
    assert repr(VIEW) == str(VIEW) == VIEW.to_text()
    with pytest.raises(FieldError, match=r"^format latx: did you mean latex\?"):
        VIEW.to_text("latx")


def test_every_format_has_the_numbers() -> None:
    assert r"\textbf{91.00 $\pm$ 1.41}" in VIEW.to_latex()
    assert "| CC | **91.00 ± 1.41** |" in VIEW.to_markdown()
    assert VIEW.to_csv().splitlines()[1].startswith("cc,CC,digits,uniform,0.3,")
    assert [entry["method"] for entry in json.loads(VIEW.to_json())] == ["cc", "rc"]
    assert [entry.method for entry in VIEW.entries] == ["cc", "rc"]


def test_a_notebook_shows_a_table_with_its_marks() -> None:
    page = VIEW._repr_html_()
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    assert re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", rows[0]) == ["Digits", "q = 0.3"]
    assert re.findall(r"<td[^>]*>(.*?)</td>", rows[1]) == ["CC", "<strong>91.00 ± 1.41</strong>"]
    assert re.findall(r"<td[^>]*>(.*?)</td>", rows[2]) == ["RC", "<u>81.00 ± 1.41</u>"]
    assert "Best of a column in bold, second best underlined." in page


def test_a_reference_spans_its_columns_and_grey_rows_are_grey() -> None:
    records = make_records([95], method="supervised") + one_column(cc=[90])
    records += make_records([80], method="cc", q=0.5)
    page = ReportView(report_table(build_table(records, PROTOCOL)))._repr_html_()
    assert '<td style="text-align: center" colspan="2">95.00</td>' in page
    grey = TextTable("", (("a",),), (TextRow((TextCell("b"),), grey=True),))
    assert "<tr style=" in ReportView(Report("", (grey,), (), ()))._repr_html_()


def test_text_of_labels_titles_and_notes_is_escaped() -> None:
    evil = "<script>alert('&')</script>"
    cells = (TextCell(evil), TextCell(evil, "best", note=evil))
    table = TextTable(evil, ((evil,), (evil, evil)), (TextRow(cells),), notes=(evil,))
    page = ReportView(Report(evil, (table,), (evil,), ()))._repr_html_()
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 10


@pytest.mark.parametrize(
    ("name", "start"),
    [("t.tex", "% A fragment"), ("t.md", "| Digits"), ("t.csv", "method,"), ("t.txt", "Digits")],
)
def test_a_file_has_the_format_of_its_suffix(name: str, start: str, tmp_path: Path) -> None:
    VIEW.save(tmp_path / name)
    assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FieldError, match=r"^path .*gone/t\.md: not writable \(No such file"):
        VIEW.save(tmp_path / "gone" / "t.md")
