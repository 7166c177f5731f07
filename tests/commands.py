"""The command line, called inside the test's process: starting torch anew takes seconds."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from pllbench.cli import main


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
