"""Reports in LaTeX."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllbench.grid.benchmark import benchmark_names
from pllbench.reports.aggregate import build_table
from pllbench.reports.formats.latex import escape_latex, to_latex
from pllbench.reports.report import (
    Report,
    TextCell,
    TextRow,
    TextTable,
    plain_headers,
    report_table,
)
from pllbench.results.records import Record
from tests.factories import PROTOCOL, make_records
from tests.reports.examples import (
    GOLDEN,
    REPORTS,
    TABLES,
    benchmark_table,
    example,
    golden_names,
    golden_text,
)

NAMES = (
    "my_method",
    "cifar_10_50%",
    "A&B #1 ~x^2 {y}",
    r"\input{x} $a$ <b> |c| \"d\"",
    "Ångström é ñ č ő ß Ł æ",
    "τ = ½, β ≥ 2 · λ → Ω, “q”",
    "你好 ☃",
    "`a` ``b``",
)

DOCUMENT = r"""\documentclass[twocolumn]{article}
\setlength{\textwidth}{505pt} %% as on a conference page
\setlength{\columnsep}{20pt}
\setlength{\textheight}{680pt}
\setlength{\topmargin}{-60pt}
\setlength{\oddsidemargin}{-18pt}
\usepackage{booktabs,multirow,colortbl,xcolor,amsmath}
\begin{document}
%s
\end{document}
"""


def test_golden_files_are_there() -> None:
    assert len(golden_names(".tex")) == 12


@pytest.mark.parametrize("name", golden_names(".tex"))
def test_printed_reports_are_the_golden_files(name: str) -> None:
    assert golden_text(name) == (GOLDEN / name).read_text("ascii")


def test_names_are_escaped() -> None:
    assert escape_latex("my_method") == r"my\_method"
    assert escape_latex("cifar_10_50%") == r"cifar\_10\_50\%"
    assert escape_latex("A&B #1 ~x^2 {y}") == (
        r"A\&B \#1 \textasciitilde{}x\textasciicircum{}2 \{y\}"
    )
    assert escape_latex("92 ± 2, τ, é, ½, 你") == r"92 $\pm$ 2, $\tau$, \'{e}, 1/2, [U+4F60]"


@given(st.text())
def test_escaped_text_is_printable_ascii(text: str) -> None:
    escaped = escape_latex(text)
    assert escaped.isascii()
    assert escaped == "" or escaped.isprintable()


def test_the_hyphens_of_a_flag_stay_apart() -> None:
    assert escape_latex("--holdout, a-b, 1\N{EN DASH}2") == "-{}-holdout, a-b, 1--2"


def test_the_layout_is_the_papers() -> None:
    text = to_latex(example())
    assert r"\multirow{4}{*}{Digits}" in text
    assert r"Data set & Method & $q$ = 0.3 & $q$ = 0.7 \\" in text
    assert r"& Fully supervised & \multicolumn{2}{c}{97.50 $\pm$ 0.50} \\" in text
    assert r"\textbf{93.00 $\pm$ 2.00}" in text
    assert r"\underline{92.00 $\pm$ 2.00}" in text


def test_negative_and_missing_numbers_have_a_minus_and_a_dash_and_labels_neither() -> None:
    cells = (TextCell("CC (a=-1)"), TextCell("-1.00 [-2.00, +0.50]"), TextCell("-- (none)"))
    table = TextTable("T", plain_headers(("Method", "x", "y")), (TextRow(cells),))
    text = to_latex(Report("", (table,), (), []))
    assert r"CC (a=-1) & $-$1.00 [$-$2.00, +0.50] & -- (none) \\" in text


def test_the_label_can_be_chosen_and_is_numbered() -> None:
    assert r"\label{tab:mine}" in to_latex(example(), "tab:mine")
    labels = re.findall(r"\\label{(.*)}", to_latex(REPORTS["tests"](), "tab:mine"))
    assert labels == ["tab:mine", "tab:mine-2", "tab:mine-3", "tab:mine-4"]


def printed(records: list[Record]) -> Report:
    return report_table(build_table(records, PROTOCOL))


def names_table() -> Report:
    return printed([r for n in NAMES for r in make_records([90, 92], method=n)])


def reference_table() -> Report:
    return printed(make_records([99], method="supervised"))


def wide_table() -> Report:
    rates = (0.1, 0.2, 0.3, 0.4, 0.5)
    return printed([r for q in rates for r in make_records([90, 92, 94], q=q)])


def long_table() -> Report:
    """Names that are too long for a line."""
    train = {"network": "mlp", "epochs": 20, "batch_size": 128, "weight_decay": 0.001}
    plain = make_records([90, 92], method="rc")
    return printed([*make_records([90, 92], train=train), *plain])


def test_the_papers_numbers_have_the_papers_marks_and_improvements() -> None:
    """Rows of tab:performance-comparison, where the paper's own marks are right."""
    lines = to_latex(benchmark_table("uniform_images")).splitlines()
    svhn = [line for line in lines if "NCPD" in line or "Improv." in line][:2]
    assert svhn[0] == (
        r"& NCPD & \textbf{97.47 $\pm$ 0.01} & \underline{97.43 $\pm$ 0.06}"
        r" & \underline{97.33 $\pm$ 0.05} & 18.86 $\pm$ 2.64 \\"
    )
    assert [match[1] for match in re.finditer(r"textbf{(.*?)}", svhn[1])] == [
        r"$\downarrow$ 0.10",
        r"$\uparrow$ 0.04",
        r"$\uparrow$ 0.22",
        r"$\uparrow$ 1.16",
    ]


def test_a_long_name_is_wrapped_and_a_wide_table_spans_two_columns() -> None:
    assert r"\begin{tabular}{l>{\raggedright\arraybackslash}p{20em}" in to_latex(long_table())
    for name, environment in {"tau": "table*", "backbone": "table"}.items():
        assert rf"\begin{{{environment}}}[t]" in to_latex(benchmark_table(name))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_all_tables_compile(tmp_path: Path) -> None:
    tables = [make() for make in TABLES.values()]
    tables += [names_table(), reference_table(), wide_table(), long_table()]
    tables += map(benchmark_table, benchmark_names())
    fragments = [to_latex(table, f"tab:{i}") for i, table in enumerate(tables)]
    fragments += [to_latex(make(), f"tab:{name}") for name, make in REPORTS.items()]
    (tmp_path / "tables.tex").write_text(DOCUMENT % "\n\\clearpage\n".join(fragments), "ascii")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert "Float too large" not in done.stdout
    assert (tmp_path / "tables.pdf").stat().st_size > 0


def test_a_table_that_is_too_long_for_a_page_goes_on_in_further_ones() -> None:
    records = [
        record
        for i in range(60)
        for record in make_records([50 + i / 10], method="rc", train={"lr": (i + 1) / 1000})
    ]
    text = to_latex(report_table(build_table(records, PROTOCOL)))
    assert text.count(r"\begin{table}") + text.count(r"\begin{table*}") == 2
    assert text.count(r"\caption{Continued.}") == 1
    assert r"\label{tab:pllbench-2}" in text
    rows = [line for line in text.splitlines() if "RC (lr=" in line]
    assert len(rows) == 60
