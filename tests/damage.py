"""Damage to files, anywhere in them, by hypothesis; and how a damaged data file is refused."""

from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.commands import contents, refused

ANYWHERE = st.floats(0, 1, exclude_max=True)
"""A place in a file, as a share of its length."""

BYTES = st.binary(min_size=1, max_size=4)
"""What is written over those of a file."""

anywhere = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""The same 25 examples at every time."""

often = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""60 examples, others at every time."""


def cut(content: bytes, place: float) -> bytes:
    """What stands before `place`."""
    return content[: int(place * len(content))]


def overwritten(content: bytes, place: float, by: bytes) -> bytes:
    """As long as `content`, with other bytes at `place`."""
    at = int(place * len(content))
    return (content[:at] + by + content[at + len(by) :])[: len(content)]


def is_refused(path: Path, problem: str = "", *, run: bool = False) -> None:
    """`data` refuses the data set at `path` by its path; or `run` does, before anything runs."""
    before = contents(path.parent)
    results = path.parent / "results"
    runs = ("run", "--methods", "cc", "--epochs", 1, "--results", results, "--datasets", path)
    message = refused(*(runs if run else ("data", path)))
    assert message.startswith(str(path))
    assert problem in message
    assert contents(path.parent) == before
