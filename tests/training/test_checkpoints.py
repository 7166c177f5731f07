"""Checkpoints: exact, replaced atomically, and moved aside when anything about them is wrong."""

import os
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from pllbench.training.checkpoints import MAX_SECONDS, Checkpoints, State, sealed, unsealed
from pllbench.training.trainer import Interrupted, train
from tests.factories import CPU, Toy, make_small_task, make_toy_spec

STATE = State(
    next_epoch=3,
    method={"weight": torch.tensor([1.5, -0.0]), "confidence": torch.eye(2)},
    optimizer={"state": {0: {"momentum_buffer": torch.ones(2)}}, "param_groups": [{"lr": 0.1}]},
    columns={"accuracy": [0.1, 0.2, 1 / 3], "log_odd": [float("nan"), 1e-300, 0.0]},
    resumed_from=[2],
    seconds=12.5,
)


@pytest.fixture
def stored(tmp_path: Path) -> Checkpoints:
    """The checkpoint of a run, with `STATE` in it."""
    found = Checkpoints(tmp_path / "work" / "checkpoint.pt", "run-1")
    found.save(STATE)
    return found


def names(stored: Checkpoints) -> set[str]:
    return {path.name for path in stored.path.parent.iterdir()}


def test_a_state_comes_back_exactly(stored: Checkpoints) -> None:
    found = stored.load(CPU)
    assert found is not None
    assert (found.next_epoch, found.resumed_from, found.seconds) == (3, [2], 12.5)
    assert repr(found.columns) == repr(STATE.columns)
    torch.testing.assert_close(found.method, STATE.method, rtol=0, atol=0)
    assert torch.signbit(found.method["weight"][1])
    assert repr(found.optimizer) == repr(STATE.optimizer)
    assert names(stored) == {"checkpoint.pt"}


def test_saving_replaces_the_last_checkpoint(stored: Checkpoints) -> None:
    stored.save(replace(STATE, next_epoch=4))
    found = stored.load(CPU)
    assert found is not None
    assert found.next_epoch == 4
    assert names(stored) == {"checkpoint.pt"}


def test_without_a_file_there_is_no_state(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path / "checkpoint.pt", "run-1").load(CPU) is None
    assert list(tmp_path.iterdir()) == []


def test_a_crash_while_saving_leaves_the_old_one(
    stored: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        stored.save(replace(STATE, next_epoch=4))
    found = stored.load(CPU)
    assert found is not None
    assert found.next_epoch == 3
    assert names(stored) == {"checkpoint.pt"}


class Code:
    """Runs code when it is unpickled."""

    ran: ClassVar[list[str]] = []

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return run_code, ()


def run_code() -> None:
    Code.ran.append("code of a checkpoint")


def resaved(**changes: Any) -> Callable[[Path], None]:
    """Damage that stores other fields; None removes one."""

    def damage(path: Path) -> None:
        content = BytesIO(unsealed(path.read_bytes()))
        fields = torch.load(content, weights_only=True) | changes
        save({name: value for name, value in fields.items() if value is not None}, path)

    return damage


def save(content: object, path: Path) -> None:
    """A checkpoint of any content."""
    buffer = BytesIO()
    torch.save(content, buffer)
    path.write_bytes(sealed(buffer.getvalue()))


def as_the_first_version(path: Path) -> None:
    """As checkpoints were before they had a digest."""
    fields = torch.load(BytesIO(unsealed(path.read_bytes())), weights_only=True)
    torch.save({"schema": 1, **fields}, path)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut in half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "cut by a byte": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "NUL bytes": lambda path: path.write_bytes(b"\0" * path.stat().st_size),
    "text": lambda path: path.write_text("checkpoint"),
    "pickled code": lambda path: path.write_bytes(pickle.dumps(Code())),
    "saved code": lambda path: save(Code(), path),
    "no fields": lambda path: save([1, 2], path),
    "nothing": lambda path: path.write_bytes(sealed(b"")),
    "two in one": lambda path: path.write_bytes(2 * path.read_bytes()),
    "another run's": resaved(run_id="run-2"),
    "no run's": resaved(run_id=None),
    "the first version's": as_the_first_version,
    "a later version's": lambda path: path.write_bytes(
        path.read_bytes().replace(b"checkpoint 3", b"checkpoint 4", 1)
    ),
    "a field is missing": resaved(columns=None),
    "an unknown field": resaved(extra=1),
}


def test_a_checkpoint_of_the_first_version_is_named(stored: Checkpoints) -> None:
    as_the_first_version(stored.path)
    line = stored.quarantine_damaged()
    assert line == (
        f"{stored.path}: not a checkpoint of this run (damaged, or of another version); "
        "moved to checkpoint.pt.unreadable, the run starts again"
    )


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_cannot_be_trusted_is_moved_aside(stored: Checkpoints, kind: str) -> None:
    DAMAGE[kind](stored.path)
    content = stored.path.read_bytes()
    assert stored.load(CPU) is None
    assert names(stored) == {"checkpoint.pt.unreadable"}
    assert stored.path.with_name("checkpoint.pt.unreadable").read_bytes() == content
    assert Code.ran == []


def test_what_was_moved_aside_is_never_overwritten(stored: Checkpoints) -> None:
    for number in range(3):
        stored.path.write_bytes(bytes([number]))
        assert stored.load(CPU) is None
    kept = ["checkpoint.pt.unreadable", "checkpoint.pt.unreadable-2", "checkpoint.pt.unreadable-3"]
    folder = stored.path.parent
    assert [(folder / name).read_bytes() for name in kept] == [b"\0", b"\1", b"\2"]
    assert names(stored) == set(kept)
    stored.save(STATE)
    assert stored.load(CPU) is not None


def test_a_run_with_a_damaged_checkpoint_starts_again_and_gives_the_same_result(
    tmp_path: Path,
) -> None:
    spec = make_toy_spec()
    task = make_small_task(spec)
    expected = train(spec, Toy, task)
    found = Checkpoints(tmp_path / "checkpoint.pt", spec.run_id)
    with pytest.raises(Interrupted):
        train(spec, Toy, task, checkpoints=found, on_epoch=lambda progress: progress.epoch < 1)
    found.path.write_bytes(found.path.read_bytes()[:-100])
    again = train(spec, Toy, task, checkpoints=found)
    assert again.resumed_from == ()
    assert again.result == expected.result
    assert (tmp_path / "checkpoint.pt.unreadable").exists()


def test_a_checkpoint_is_due_every_so_many_epochs(tmp_path: Path) -> None:
    found = Checkpoints(tmp_path / "checkpoint.pt", "run-1", every=4)
    assert [epoch for epoch in range(1, 13) if found.due(epoch)] == [4, 8, 12]


def test_a_checkpoint_is_due_after_some_time_whatever_the_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Checkpoints(tmp_path / "checkpoint.pt", "run-1", every=1000)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    now += MAX_SECONDS / 2
    assert not found.due(1)
    now += MAX_SECONDS
    assert found.due(1)
    found.save(STATE)
    assert not found.due(2)


def test_deleting_twice_is_no_error(stored: Checkpoints) -> None:
    stored.delete()
    stored.delete()
    assert names(stored) == set()
