"""Rows of runs as files: CSV, JSON, Parquet."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

from pllbench.results.rows import RunRow, Value
from pllbench.validation import FieldError

RowFormat = Literal["csv", "parquet", "json"]

Rows = Sequence[Mapping[str, Value]]
"""As `run_rows` gives them."""


def rows_as(form: RowFormat, rows: Rows) -> bytes:
    """The content of a file of rows.

    CSV has a header, and empty cells for None; JSON is a list of objects; the columns of Parquet
    have the same types whatever the rows are.

    Raises:
        FieldError: Parquet is asked for, and pyarrow is not installed.
    """
    return _WRITERS[form](rows)


def _csv(rows: Rows) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(rows: Rows) -> bytes:
    return json.dumps(rows, indent=1).encode() + b"\n"


def _parquet(rows: Rows) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise FieldError("format", "pip install 'pllbench[parquet]'", "parquet") from error
    types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    schema = pa.schema([(name, types[_type_name(name)]) for name in _columns(rows)])
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(list(rows), schema=schema), buffer)
    return buffer.getvalue()


def _columns(rows: Rows) -> list[str]:
    return list(rows[0] if rows else RunRow.model_fields)


def _type_name(column: str) -> str:
    """Type of a column; those that only some runs have are numbers."""
    if column not in RunRow.model_fields:
        return "float"
    annotation = RunRow.model_fields[column].annotation
    kind, *_ = get_args(annotation) or (annotation,)  # `X | None` has the arguments X and None
    return str(kind.__name__)


_WRITERS: Mapping[RowFormat, Callable[[Rows], bytes]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
