import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllbench.cells import Table
from pllbench.latex import escape, report_to_latex, to_latex
from pllbench.tables import build
from tests.records_factory import PROTOCOL, make_records
from tests.test_formats import example, in_layout
from tests.test_printing import REPORTS

NAMES = (
    "my_method",
    "cifar_10_50%",
    "A&B #1 ~x^2 {y}",
    r"\input{x} $a$ <b> |c| \"d\"",
    "Ångström é ñ č ő ß Ł æ",
    "τ = ½, β ≥ 2 · λ → Ω, “q”",
    "你好 ☃",
)

DOCUMENT = r"""\documentclass{article}
\setlength{\textwidth}{505pt} %% the text width of a two-column conference page
\setlength{\oddsidemargin}{-18pt}
\usepackage{booktabs,multirow,colortbl,xcolor,amsmath}
\begin{document}
%s
\end{document}
"""


def test_names_are_escaped() -> None:
    assert escape("my_method") == r"my\_method"
    assert escape("cifar_10_50%") == r"cifar\_10\_50\%"
    assert escape("A&B #1 ~x^2 {y}") == (r"A\&B \#1 \textasciitilde{}x\textasciicircum{}2 \{y\}")
    assert escape("92 ± 2, τ, é, ½, 你") == r"92 $\pm$ 2, $\tau$, \'{e}, 1/2, [U+4F60]"


@given(st.text())
def test_escaped_text_is_printable_ascii(text: str) -> None:
    found = escape(text)
    assert found.isascii()
    assert found == "" or found.isprintable()


def test_the_hyphens_of_a_flag_stay_apart() -> None:
    assert escape("--holdout, a-b, 1\N{EN DASH}2") == "-{}-holdout, a-b, 1--2"


def test_the_layout_is_the_papers() -> None:
    text = to_latex(example())
    assert r"\multirow{4}{*}{Digits}" in text
    assert r"Data set & Method & $q$ = 0.3 & $q$ = 0.7 \\" in text
    assert r"& Fully supervised & \multicolumn{2}{c}{97.50 $\pm$ 0.50} \\" in text
    assert r"\textbf{93.00 $\pm$ 2.00}" in text
    assert r"\underline{92.00 $\pm$ 2.00}" in text


def test_the_label_can_be_chosen() -> None:
    assert r"\label{tab:mine}" in to_latex(example(), "tab:mine")


def names_table() -> Table:
    return build([r for n in NAMES for r in make_records([90, 92], method=n)], PROTOCOL)


def reference_table() -> Table:
    return build(make_records([99], method="supervised"), PROTOCOL)


def wide_table() -> Table:
    rates = (0.1, 0.2, 0.3, 0.4, 0.5)
    return build([r for q in rates for r in make_records([90, 92, 94], q=q)], PROTOCOL)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_all_tables_compile(tmp_path: Path) -> None:
    tables = [example(), in_layout(), names_table(), reference_table(), wide_table()]
    fragments = [to_latex(table, f"tab:{i}") for i, table in enumerate(tables)]
    fragments += [report_to_latex(make(), f"tab:{name}") for name, make in REPORTS.items()]
    (tmp_path / "tables.tex").write_text(DOCUMENT % "\n".join(fragments), "ascii")
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
    assert (tmp_path / "tables.pdf").stat().st_size > 0
