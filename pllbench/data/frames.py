"""Tables of the user, `NAME.csv` and `NAME.parquet`: their columns, and the content of their cells.

A column is known by its name. `y` holds the true label; `candidates` the labels of the candidate
set, `a|b`; instead of it `candidate:CLASS`, one column a class, may hold 0 and 1. All others are
features, numbers. Labels are names, and so are numbers among them. Needs no torch.

Letters in shape comments: N instances, D features.
"""

import csv
import io
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FRAME_SUFFIXES = (".csv", ".parquet")

TRUE_LABEL, CANDIDATE_SET, CANDIDATE = "y", "candidates", "candidate:"
"""Names of columns that are no features; the last one is the beginning of a name."""

SEPARATOR = "|"
"""Between the labels of a candidate set."""


@dataclass(frozen=True, slots=True)
class FrameColumns:
    """The columns of a table, by what they are.

    Attributes:
        names: all of them, in their order.
        wanted: the features that are read; None for all.
    """

    names: tuple[str, ...]
    wanted: frozenset[str] | None = None

    @property
    def indicators(self) -> tuple[str, ...]:
        """Those that say of one class whether it is a candidate."""
        return tuple(name for name in self.names if name.startswith(CANDIDATE))

    @property
    def features(self) -> tuple[str, ...]:
        """Those that hold features."""
        others = {TRUE_LABEL, CANDIDATE_SET, *self.indicators}
        found = (name for name in self.names if name not in others)
        return tuple(name for name in found if self.wanted is None or name in self.wanted)

    @property
    def labelled(self) -> bool:
        """Whether there are true labels."""
        return TRUE_LABEL in self.names

    @property
    def has_sets(self) -> bool:
        """Whether there are candidate sets."""
        return CANDIDATE_SET in self.names or bool(self.indicators)


@dataclass(frozen=True, slots=True)
class Frame:
    """The content of a table.

    Attributes:
        path: its file.
        columns: its columns.
        x: [N, D] float64, its features, finite in float32.
        texts: cells of the other columns, by name; [N] each.
        lines: lines of the file that its rows end at, where it has lines.
    """

    path: Path
    columns: FrameColumns
    x: "npt.NDArray[np.float64]"
    texts: Mapping[str, Sequence[str]]
    lines: Sequence[int] = ()

    def place(self, row: int, column: str) -> str:
        """Where a cell is, for messages."""
        line = f"; line {self.lines[row]}" if self.lines else ""
        return f"{self.path}: row {row} (counted from 0{line}), column `{column}`"


def frame_columns(path: Path) -> FrameColumns:
    """The columns of a table.

    Raises:
        ValueError: no such table, or names that are missing, repeated or exclude each other; the
            message names the file.
    """
    if path.suffix == ".parquet":
        with _opened_parquet(path) as file:
            names = file.schema_arrow.names
        return _known(path, names)
    return _known(path, next(_csv_rows(path), (0, []))[1])


def read_frame(path: Path, wanted: Sequence[str] | None = None) -> Frame:
    """The cells of a table.

    Args:
        path: its file.
        wanted: the features to be read, other ones may hold anything; None for all.

    Raises:
        ValueError: as `frame_columns`; or a row has too few or too many cells, a feature is no
            finite number, or there are no rows. The message names file, row and column.
    """
    import numpy as np  # planning, which needs the names of columns alone, does without

    columns = frame_columns(path)
    if wanted is not None:
        columns = replace(columns, wanted=frozenset(wanted))
    read = _read_parquet if path.suffix == ".parquet" else _read_csv
    frame = read(path, columns)
    if not len(frame.x):
        raise ValueError(f"{path}: no rows below the names of its columns")
    with np.errstate(over="ignore"):
        bad = np.argwhere(~np.isfinite(frame.x.astype(np.float32)))
    if len(bad):
        row, column = bad[0]
        where = frame.place(row, frame.columns.features[column])
        raise ValueError(f"{where}: {frame.x[row, column]:g} is missing or infinite in float32")
    return frame


def _known(path: Path, names: Sequence[str]) -> FrameColumns:
    columns = FrameColumns(tuple(name.strip() for name in names))
    if not columns.names:
        raise ValueError(f"{path}: empty, it must begin with the names of its columns")
    if len(columns.names) == 1 and any(mark in columns.names[0] for mark in ";\t"):
        raise ValueError(f"{path}: one column `{columns.names[0][:40]}`: separate them by commas")
    for number, name in enumerate(columns.names):
        if not name:
            raise ValueError(
                f"{path}: column {number} (counted from 0) has no name: is it an index of rows?"
            )
        if name in columns.names[:number]:
            raise ValueError(f"{path}: two columns are named `{name}`")
    if CANDIDATE_SET in columns.names and columns.indicators:
        raise ValueError(
            f"{path}: candidate sets twice, in `{CANDIDATE_SET}` and in `{columns.indicators[0]}`"
        )
    if not columns.features:
        raise ValueError(f"{path}: no columns of features")
    return columns


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, each with the line that it ends at; empty lines are none."""
    content = path.read_bytes()
    if b"\0" in content:
        raise ValueError(f"{path}: not text in UTF-8 (byte {content.index(0)})")
    try:
        text = content.decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not text in UTF-8 (byte {error.start})") from error
    except csv.Error as error:
        raise ValueError(f"{path}: line {reader.line_num}: {error}") from error


def _read_csv(path: Path, columns: FrameColumns) -> Frame:
    import numpy as np

    features = [columns.names.index(name) for name in columns.features]
    others = {name: i for i, name in enumerate(columns.names) if name not in columns.features}
    numbers, lines = array("d"), list[int]()
    texts: dict[str, list[str]] = {name: [] for name in others}
    rows = _csv_rows(path)
    next(rows)
    for row, (line, cells) in enumerate(rows):
        if len(cells) != len(columns.names):
            raise ValueError(
                f"{path}: row {row} (counted from 0; line {line}) has {len(cells)} cells, the "
                f"header has {len(columns.names)}"
            )
        try:
            numbers.extend(map(_number, (cells[i] for i in features)))
        except ValueError:
            bad = next(i for i in features if not _is_number(cells[i]))
            where = (
                f"{path}: row {row} (counted from 0; line {line}), column `{columns.names[bad]}`"
            )
            raise ValueError(f"{where}: {cells[bad][:40]!r} is no number") from None
        for name, i in others.items():
            texts[name].append(cells[i].strip())
        lines.append(line)
    x = np.frombuffer(numbers, np.float64).reshape(len(lines), len(features))
    return Frame(path, columns, x, texts, lines)


def _number(text: str) -> float:
    if "_" in text:  # Python's way to group digits
        raise ValueError
    return float(text)


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True


@contextmanager
def _opened_parquet(path: Path) -> Iterator[Any]:
    """A Parquet file; what goes wrong with it is told in a line.

    Raises:
        ValueError: it is none, is damaged, or pyarrow is not installed.
    """
    try:
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise ValueError(f"{path}: a Parquet file; pip install 'pllbench[parquet]'") from error
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except Exception as error:  # pyarrow raises its own kinds
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path}: not a Parquet file, or cut off ({reason})") from error


def _read_parquet(path: Path, columns: FrameColumns) -> Frame:
    import numpy as np

    others = [name for name in columns.names if name not in columns.features]
    with _opened_parquet(path) as file:
        table = file.read().rename_columns(list(columns.names))
        texts = {
            name: [_text(value) for value in table.column(name).to_pylist()] for name in others
        }
    x = np.empty((table.num_rows, len(columns.features)))
    for i, name in enumerate(columns.features):
        values = table.column(name).to_numpy()
        if values.dtype.kind not in "biuf":
            kind = table.schema.field(name).type
            raise ValueError(f"{path}: column `{name}`: holds {kind}, a feature must be a number")
        x[:, i] = values
    return Frame(path, columns, x, texts)


def _text(value: object) -> str:
    """A cell as CSV would have it; a list is that of a candidate set's labels."""
    if value is None:
        return ""
    if isinstance(value, list):
        return SEPARATOR.join(map(_text, value))
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):  # pandas makes these of whole numbers, too
        return "" if isnan(value) else f"{value:.17g}"
    return str(value).strip()


CSV_TEMPLATE = """\
wing_cm,weight_g,candidates,y
8.1,14.2,finch|robin,finch
8.4,15.0,finch,finch
7.9,13.6,finch|owl,finch
8.2,16.1,finch|robin,finch
8.6,14.8,finch|robin|owl,finch
29.4,480,owl,owl
27.8,455,owl|robin,owl
30.1,510,owl,owl
28.6,468,finch|owl,owl
29.0,495,owl|robin,owl
13.2,18.0,robin|finch,robin
13.9,19.4,robin,robin
12.8,17.2,robin|owl,robin
13.5,18.8,robin|finch,robin
14.0,19.9,robin,robin
"""
"""A whole CSV file, to be overwritten with rows of one's own."""
