"""The numbers that the AsyCo paper prints (arXiv 2407.15036), as data: one file for each table."""

import csv
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pllbench.grid.protocol import shipped
from pllbench.spec import Rate, one_line
from pllbench.validation import Values


class Published(Values):
    """One number of a published table, in percent: a line of its file."""

    method: str
    """The method or variant, as --methods takes it."""
    dataset: str
    """Name of the data set."""
    candidates: Literal["uniform", "instance", "real"] | None = None
    """Where the candidate sets come from; None for methods that learn from true labels."""
    q: Rate | None = None
    """Rate of the process; None where the paper gives none."""
    mean: float = Field(ge=0, le=100)
    """As printed."""
    std: float = Field(ge=0)
    """As printed, with `ddof`."""
    n: int = Field(ge=2)
    """Number of runs."""
    n_inferred: bool
    """`n` is not what the paper says (3), but what the printed digits fit."""
    ddof: int = Field(ge=0, le=1)
    """0: the printed spread is the population std."""
    change: float | None = None
    """The change printed beside it, against what the table compares it with."""
    table: str
    r"""\\label of the table in the paper's source."""

    @property
    def sample_std(self) -> float:
        """The spread as this suite states it: the sample std (ddof = 1)."""
        return self.std * math.sqrt(self.n / (self.n - 1)) if self.ddof == 0 else self.std

    def matches(self, method: str, dataset: str, candidates: str | None, q: float | None) -> bool:
        """Whether it is the number of these runs."""
        return (self.method, self.dataset, self.candidates) == (method, dataset, candidates) and (
            self.q is None or self.q == q
        )


def paper_folder() -> Path:
    """Folder of the published tables."""
    return shipped("paper", "results/paper")


def table_names() -> list[str]:
    """Names of the published tables; the benchmark of that name regenerates it."""
    return sorted(path.stem for path in paper_folder().glob("*.csv"))


def load_table(name: str) -> list[Published]:
    """The numbers of one published table, in printed order."""
    return read(paper_folder() / f"{name}.csv")


def load_all() -> list[Published]:
    """Every published number once, though the paper repeats some in several tables."""
    return _distinct(entry for name in table_names() for entry in load_table(name))


def read(path: Path) -> list[Published]:
    """The published numbers in a CSV file.

    Raises:
        ValueError: a line is wrong; file and line are named.
    """
    found = []
    with path.open(encoding="utf-8", newline="") as file:
        for number, line in enumerate(csv.DictReader(file), start=2):
            try:
                given = {key: text for key, text in line.items() if text != ""}
                found.append(Published.model_validate_strings(given))
            except ValidationError as error:
                raise ValueError(one_line(error, f"{path}, line {number}", Published)) from error
    return found


def _distinct(entries: Iterable[Published]) -> list[Published]:
    first: dict[tuple[object, ...], Published] = {}
    for entry in entries:
        first.setdefault((entry.method, entry.dataset, entry.candidates, entry.q), entry)
    return list(first.values())
