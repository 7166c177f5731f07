"""The command line, called inside the test's process: starting torch anew takes seconds."""

import io
import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pllbench.cli.main import main
from pllbench.results.curves import read_curves

GRID = shlex.split("--methods cc,rc --datasets digits --q 0.1,0.3 --seeds 2 --epochs 2")
"""The selection that the fixture `grid_results` has run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answered: its exit code and what it wrote."""

    code: int
    out: str
    err: str


def pllbench(*arguments: object) -> Answer:
    """Call the command line."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as exited:
        main([str(argument) for argument in arguments])
    code = exited.value.code or 0
    assert isinstance(code, int), f"exit code {code!r}"
    return Answer(code, out.getvalue(), err.getvalue())


def refused(*arguments: object) -> str:
    """The one line in which a command is refused: exit code 2, and nothing on standard output."""
    answer = pllbench(*arguments)
    assert (answer.code, answer.out) == (2, ""), answer.err
    assert answer.err.startswith("pllbench: ")
    assert answer.err.count("\n") == 1, "one line"
    assert "Traceback" not in answer.err
    return answer.err.removeprefix("pllbench: ").rstrip("\n")


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file below `folder`, to see that a command has changed none."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stored(results: Path) -> dict[str, tuple[object, object, dict[str, NDArray[np.float64]]]]:
    """Spec, result and curves of every record, by the path below the results folder."""
    found = {}
    for path in sorted((results / "records").rglob("*.json")):
        content = json.loads(path.read_bytes())
        curves = read_curves(path)
        found[str(path.relative_to(results))] = (content["spec"], content["result"], curves)
    return found


def same(one: Path, other: Path) -> bool:
    """Whether two results folders hold the same specs, results and curves, byte for byte."""
    first, second = stored(one), stored(other)
    return first.keys() == second.keys() and all(
        spec == second[name][0]
        and result == second[name][1]
        and {key: column.tobytes() for key, column in curves.items()}
        == {key: column.tobytes() for key, column in second[name][2].items()}
        for name, (spec, result, curves) in first.items()
    )


def on_lost(*methods: str, results: Path, epochs: int = 4, seeds: object = "0,") -> list[object]:
    """Selection of runs on the small data set."""
    found: list[object] = ["--methods", ",".join(methods), "--datasets", "lost", "--seeds", seeds]
    return [*found, "--epochs", epochs, "--train", "batch_size=16", "--results", results]


@contextmanager
def broken(plugin_folder: Path) -> Iterator[None]:
    """The plug-in's methods go wrong."""
    (plugin_folder / "broken").touch()
    yield
    (plugin_folder / "broken").unlink()
