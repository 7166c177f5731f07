r"""Tables in LaTeX: a fragment for \input, in the layout of the AsyCo paper.

The document needs booktabs and multirow. Output is ASCII, so it compiles under any input encoding.
"""

import unicodedata

from pllbench.cells import MISSING, Block, Cell, Row, Table

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
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
}

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
    return "".join(map(_escape, unicodedata.normalize("NFC", text)))


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

    Three or more columns of numbers are set across both columns of a two-column page.
    """
    width = max(1, *(len(block.columns) for block in table.blocks))
    environment = "table*" if width > 2 else "table"
    lines = [
        r"% A fragment for \input; needs \usepackage{booktabs,multirow}",
        rf"\begin{{{environment}}}[t]",
        r"\centering",
        r"\footnotesize" if width <= 4 else r"\scriptsize",
        r"\setlength{\tabcolsep}{3pt}",
        r"\setlength{\belowcaptionskip}{6pt}",
        r"\renewcommand{\arraystretch}{1.1}",
        rf"\caption{{{escape(table.caption())}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{@{{}}ll*{{{width}}}{{c}}@{{}}}}",
    ]
    for i, block in enumerate(table.blocks):
        lines += [r"\midrule" if i else r"\toprule", *_block(block)]
    lines += [r"\bottomrule", r"\end{tabular}", rf"\end{{{environment}}}"]
    return "\n".join(lines) + "\n"


def _block(block: Block) -> list[str]:
    heads = [_heading(block.heading(column)) for column in block.columns] or ["Accuracy"]
    return [
        _line(["Data set", "Method", *heads]),
        r"\midrule",
        rf"\multirow{{{len(block.rows)}}}{{*}}{{{escape(block.title)}}}",
        *(_line(["", *_row(row, len(heads))]) for row in block.rows),
    ]


def _heading(text: str) -> str:
    before, found, rate = text.rpartition("q = ")
    return f"{escape(before)}$q$ = {rate}" if found else escape(text[:1].upper() + text[1:])


def _row(row: Row, width: int) -> list[str]:
    cells = [_cell(cell) for cell in row.cells]
    if row.reference and width > 1:
        cells = [rf"\multicolumn{{{width}}}{{c}}{{{cells[0]}}}"]
    return [escape(row.label), *cells]


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    before, after = {"best": (r"\textbf{", "}"), "second": (r"\underline{", "}"), "": ("", "")}[
        cell.mark
    ]
    note = rf" {{\scriptsize({escape(cell.note)})}}" if cell.note else ""
    return f"{before}{escape(cell.number)}{after}{note}"


def _line(parts: list[str]) -> str:
    return " & ".join(parts).strip() + r" \\"
