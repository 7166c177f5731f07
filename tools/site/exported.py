"""The columns of exported rows, as the code has them."""

from pllbench.results.rows import RunRow
from tools.site.docstrings import field_docstrings
from tools.site.markdown import code, table


def columns() -> str:
    """A line for each column that every run has: its name and its meaning."""
    rows = [(code(name), meaning) for name, meaning in field_docstrings(RunRow).items()]
    return table(("column", "content"), rows)
