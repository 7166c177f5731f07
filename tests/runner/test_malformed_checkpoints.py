"""Checkpoints that are cut, overwritten or another's: named before a run begins, and kept."""

import io
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from pllbench.results.workspace import Workspace
from pllbench.runner.origin import origin_id
from pllbench.training.checkpoints import HEADER, Checkpoints, State, sealed
from tests.damage import ANYWHERE, often
from tests.factories import make_plan, make_spec
from tests.runner.quarantined import is_quarantined


def saved(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return sealed(buffer.getvalue())


CHECKPOINTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "HTML": lambda _: b"<html>503</html>",
    "the header": lambda _: HEADER,
    "cut in half": lambda whole: whole[: len(whole) // 2],
    "a wrong bit": lambda whole: whole[:-50] + bytes([whole[-50] ^ 1]) + whole[-49:],
    "another run's": lambda _: saved({"run_id": "0" * 16, "next_epoch": 1}),
    "no run's": lambda _: saved({"next_epoch": 1}),
    "no fields": lambda _: saved([1, 2]),
    "a pickle": lambda _: sealed(pickle.dumps({"run_id": "0" * 16})),
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_malformed_checkpoints(results: Path, kind: str) -> None:
    runs = make_plan([make_spec("cc", train={"epochs": 3})])
    run_id = runs[0].spec.run_id
    path = Workspace.for_run(results, run_id).checkpoint
    made_by = origin_id(runs[0].spec, None)
    Checkpoints(path, made_by).save(State(1, {}, {}, {"accuracy": [0.5]}, [], 1.5))
    path.write_bytes(CHECKPOINTS[kind](path.read_bytes()))
    is_quarantined(results, path, runs, "not a checkpoint of this run (")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A checkpoint."""
    path = tmp_path_factory.mktemp("whole") / "checkpoint.pt"
    method = {"weight": torch.arange(6.0)}
    Checkpoints(path, "run-1").save(State(3, method, {"state": {}}, {"accuracy": [0.5]}, [], 1.5))
    return path.read_bytes()


def is_moved_aside(tmp_path: Path, content: bytes) -> None:
    """The checkpoint is refused by its path, and kept under another name."""
    found = Checkpoints(tmp_path / "checkpoint.pt", "run-1")
    found.path.write_bytes(content)
    line = found.quarantine_damaged()
    assert line is not None
    assert line.startswith(f"{found.path}: not a checkpoint of this run (")
    assert line.endswith(", the run starts again")
    assert "\n" not in line
    assert not found.path.exists()
    [moved] = tmp_path.iterdir()
    assert moved.read_bytes() == content
    moved.unlink()


@often
@given(place=ANYWHERE, nul=st.booleans())
def test_a_checkpoint_cut_at_any_byte_is_named_and_moved_aside(
    whole: bytes, tmp_path: Path, place: float, nul: bool
) -> None:
    length = int(place * len(whole))
    content = whole[:length] + b"\0" * (len(whole) - length) * nul
    assume(content != whole)  # its last bytes may be NUL
    is_moved_aside(tmp_path, content)


@often
@given(place=ANYWHERE, bit=st.integers(0, 7))
def test_a_checkpoint_with_one_wrong_bit_is_named_and_moved_aside(
    whole: bytes, tmp_path: Path, place: float, bit: int
) -> None:
    at = int(place * len(whole))
    is_moved_aside(tmp_path, whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :])
