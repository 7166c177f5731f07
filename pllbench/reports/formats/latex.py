r"""Tables in LaTeX: fragments for \input, in the layout of the AsyCo paper.

The document needs booktabs, multirow, colortbl and xcolor. Output is ASCII, so it compiles under
any input encoding.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from pllbench.reports.report import Report, Sheet
from pllbench.reports.table import MISSING, Block, Cell, Improvement, Row, Table, change

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "`": r"\textasciigrave{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "ß": r"\ss{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "\N{LATIN SMALL LETTER DOTLESS I}": r"\i{}",
    "\N{EN DASH}": "--",
    "—": "---",
    "\N{LEFT SINGLE QUOTATION MARK}": "`",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\N{WORD JOINER}": "{}",
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}

GREY = "pllbenchgrey"
"""Name of the colour that each fragment defines for itself."""

_JOINER = "\N{WORD JOINER}"
_LIGATURE = re.compile(r"-(?=-)")
"""Two hyphens, as of a flag, which LaTeX would join to a dash."""

_NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")

_SYMBOL = re.compile(r"^[npq]\b")
"""A head that begins with the name of a quantity."""

_LONG = 50
"""Letters from which on a row's name is wrapped."""

_COLUMN = 55
"""Letters that fit in one column of a two-column page."""

_ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": r"\`",
    "\N{COMBINING ACUTE ACCENT}": r"\'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": r"\^",
    "\N{COMBINING TILDE}": r"\~",
    "\N{COMBINING MACRON}": r"\=",
    "\N{COMBINING BREVE}": r"\u",
    "\N{COMBINING DOT ABOVE}": r"\.",
    "\N{COMBINING DIAERESIS}": r"\"",
    "\N{COMBINING RING ABOVE}": r"\r",
    "\N{COMBINING DOUBLE ACUTE ACCENT}": r"\H",
    "\N{COMBINING CARON}": r"\v",
    "\N{COMBINING CEDILLA}": r"\c",
}

_SMALL = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau"
_GREEK = {
    unicodedata.lookup(f"GREEK {case} LETTER {'LAMDA' if name == 'lambda' else name.upper()}"): (
        rf"$\{name if case == 'SMALL' else name.capitalize()}$"
    )
    for case, names in (
        ("SMALL", f"{_SMALL} upsilon phi chi psi omega"),
        ("CAPITAL", "gamma delta theta lambda xi pi sigma upsilon phi psi omega"),
    )
    for name in names.split()
}


def escape(text: str) -> str:
    """`text` as LaTeX that prints it: ASCII, no special character left.

    Accents and Greek become commands. A character that LaTeX's standard fonts lack becomes its
    nearest ASCII form, or its code point in brackets.
    """
    apart = _LIGATURE.sub(f"-{_JOINER}", unicodedata.normalize("NFC", text))
    return "".join(map(_escape, apart))


def _escape(char: str) -> str:
    known = _SPECIAL.get(char) or _GREEK.get(char)
    if known:
        return known
    if char.isascii():
        return char if char.isprintable() else " "
    parts = unicodedata.normalize("NFD", char)
    base, mark = parts[0], parts[1:]
    if mark in _ACCENTS and base.isascii():
        return f"{_ACCENTS[mark]}{{{base}}}"
    plain = unicodedata.normalize("NFKD", char).replace("\N{FRACTION SLASH}", "/")
    plain = plain.encode("ascii", "ignore").decode()
    return "".join(map(_escape, plain)) if plain.strip() else f"[U+{ord(char):04X}]"


def to_latex(table: Table, label: str = "tab:pllbench") -> str:
    r"""A table environment with caption and `label`: one block of rows a data set.

    What does not fit in one column of a two-column page is set across both.
    """
    width = max(1, *(len(block.columns) for block in table.blocks))
    lines = [line for block in table.blocks for line in (r"\midrule", *_block(block))]
    longest = max(len(row.label) for block in table.blocks for row in block.rows)
    names = "l" if longest <= _LONG else r">{\raggedright\arraybackslash}p{20em}"
    return _environment(
        [rf"\begin{{tabular}}{{l{names}*{{{width}}}{{c}}}}", r"\toprule", *lines[1:]],
        caption=escape(table.caption()),
        label=label,
        wide=min(longest, _LONG) + _letters(table, width) > _COLUMN,
        size=r"\footnotesize" if width <= 4 else r"\scriptsize",
    )


def _letters(table: Table, width: int) -> int:
    """How many letters wide a table is without its rows' names, a gap counted as two."""
    texts = [f"{cell.number} {cell.note}" for _, cell in table.cells]
    texts += [part for block in table.blocks for parts in block.heads for part in parts]
    title = max(len(block.title) for block in table.blocks)
    return title + 2 + width * (max(map(len, texts)) + 2)


def report_to_latex(report: Report, label: str = "tab:pllbench") -> str:
    """A table environment for each sheet, numbered labels; the first says how to read them all."""
    parts = []
    for i, sheet in enumerate(report.sheets):
        notes = [f"{sheet.title}.", *sheet.notes, *(report.notes if i == 0 else ())]
        shape = "l" * sheet.num_labels + "r" * (len(sheet.heads) - sheet.num_labels)
        parts += [
            _environment(
                [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", *_sheet(sheet)],
                caption=escape(" ".join(notes)),
                label=f"{label}-{i + 1}" if i else label,
                wide=len(sheet.heads) > 4,
                size=r"\footnotesize" if len(sheet.heads) <= 6 else r"\scriptsize",
                gap=2 if len(sheet.heads) > 8 else 3,
            )
        ]
    return "\n".join(parts)


def _environment(
    tabular: Iterable[str], *, caption: str, label: str, wide: bool, size: str, gap: int = 3
) -> str:
    """A table environment around the lines of a tabular, whose end is added."""
    environment = "table*" if wide else "table"
    lines = [
        r"% A fragment for \input; needs \usepackage{booktabs,multirow,colortbl,xcolor}",
        rf"\begin{{{environment}}}[t]",
        rf"\definecolor{{{GREY}}}{{gray}}{{0.9}}",
        r"\centering",
        size,
        rf"\setlength{{\tabcolsep}}{{{gap}pt}}",
        r"\setlength{\belowcaptionskip}{6pt}",
        r"\renewcommand{\arraystretch}{1.1}",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        *tabular,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def _block(block: Block) -> list[str]:
    heads = list(map(_heading, block.heads))
    rows = [_row(row, len(heads)) for row in block.rows]
    if block.improvement:
        rows += [_improvement(block.improvement)]
    return [
        _line(["Data set", "Method", *heads]),
        r"\midrule",
        rf"\multirow{{{len(rows)}}}{{*}}{{{escape(block.title)}}}",
        *(_line(["", *row]) for row in rows),
    ]


def _heading(parts: Sequence[str]) -> str:
    """The head of a column, its parts below one another."""
    first, *others = [_SYMBOL.sub(r"$\g<0>$", escape(part)) for part in parts]
    lines = (first[:1].upper() + first[1:], *others)
    below = r" \\ ".join(lines)
    return rf"\shortstack{{{below}}}" if others else below


def _row(row: Row, width: int) -> list[str]:
    cells = [_painted(_cell(cell), row.grey) for cell in row.cells]
    if row.reference and width > 1:
        cells = [rf"\multicolumn{{{width}}}{{c}}{{{cells[0]}}}"]
    return [_painted(escape(row.label), row.grey), *cells]


def _improvement(row: Improvement) -> list[str]:
    values = [
        escape(change(value)) if value is None else rf"\textbf{{{escape(change(value))}}}"
        for value in row.values
    ]
    return [_painted(text, row.grey) for text in (escape(row.label), *values)]


def _painted(text: str, grey: bool) -> str:
    return rf"\cellcolor{{{GREY}}}{text}" if grey else text


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    before, after = {"best": (r"\textbf{", "}"), "second": (r"\underline{", "}"), "": ("", "")}[
        cell.mark
    ]
    note = rf" {{\scriptsize({escape(cell.note)})}}" if cell.note else ""
    return f"{before}{_number(cell.number)}{after}{note}"


def _sheet(sheet: Sheet) -> list[str]:
    heads = [_SYMBOL.sub(r"$\g<0>$", escape(head)) for head in sheet.heads]
    return [_line(heads), r"\midrule", *(_line(list(map(_number, row))) for row in sheet.rows)]


def _number(text: str) -> str:
    """A text whose negative numbers have a minus, and whose missing ones a dash."""
    if text.startswith(MISSING):
        return MISSING + _number(text.removeprefix(MISSING))
    return _NEGATIVE.sub("$-$", escape(text))


def _line(parts: Sequence[str]) -> str:
    return " & ".join(parts).strip() + r" \\"
