"""The columns of data frames, from where they are defined."""

from pllbench.results.rows import RunRow
from tools.site.docstrings import field_docstrings
from tools.site.markdown import table


def columns() -> str:
    """A table of the columns of `Results.frame`."""
    rows = [
        (f"`{name}`", " ".join(text.split())) for name, text in field_docstrings(RunRow).items()
    ]
    return table(("column", "what it is"), rows)
