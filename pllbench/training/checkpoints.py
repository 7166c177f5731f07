"""Checkpoints of one run: everything that training between two epochs depends on.

Random streams are seeded at each epoch from the run's seed, so no generator's state is needed.
"""

import hashlib
import time
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from pllbench.results.files import quarantine, read_regular, write_atomic

HEADER = b"pllbench checkpoint 3\n"
"""Begin of a checkpoint, with the version of its layout; a digest follows, and the rest."""

DIGEST = hashlib.sha256

MAX_SECONDS = 600.0
"""A checkpoint is written after this time even if fewer epochs than asked for have passed."""


@dataclass(frozen=True, slots=True)
class State:
    """A run between two epochs.

    Attributes:
        next_epoch: 0-based; the first epoch that has not been trained.
        method: its state_dict.
        optimizer: its state_dict.
        columns: per-epoch values by column.
        resumed_from: epochs at which the run went on from a checkpoint so far.
        seconds: wall time of training that led here, in all parts of the run.
    """

    next_epoch: int
    method: dict[str, Any]
    optimizer: dict[str, Any]
    columns: dict[str, list[float]]
    resumed_from: list[int]
    seconds: float


def sealed(content: bytes, header: bytes = HEADER) -> bytes:
    """`content` behind a header and its digest."""
    return header + DIGEST(content).digest() + content


def unsealed(file: bytes, header: bytes = HEADER) -> bytes:
    """The content of what `sealed` gave; no damage to any byte passes.

    Raises:
        ValueError: it is not that, or not of this version.
    """
    start = len(header) + DIGEST().digest_size
    if not file.startswith(header):
        raise ValueError("damaged, or of another version")
    if DIGEST(file[start:]).digest() != file[len(header) : start]:
        raise ValueError("damaged")
    return file[start:]


@dataclass(slots=True)
class Checkpoints:
    """The checkpoint file of one run, and when to write it.

    Attributes:
        path: of the file; there is at most one a run.
        run_id: whose it is; a checkpoint of another run, or of another origin, is not accepted.
        every: epochs between two checkpoints.
    """

    path: Path
    run_id: str
    every: int = 10
    _saved_at: float = field(default_factory=time.monotonic)

    def due(self, next_epoch: int) -> bool:
        """Whether a checkpoint should be written before `next_epoch`."""
        return next_epoch % self.every == 0 or time.monotonic() - self._saved_at > MAX_SECONDS

    def save(self, state: State) -> None:
        """Replace the checkpoint by `state`, atomically."""
        fields = {name: getattr(state, name) for name in State.__slots__}
        buffer = BytesIO()
        torch.save({"run_id": self.run_id, **fields}, buffer)
        write_atomic(self.path, sealed(buffer.getvalue()))
        self._saved_at = time.monotonic()

    def load(self, device: torch.device) -> State | None:
        """The stored state, or None where there is none.

        A file that is damaged, or of another run or version, is moved aside as `*.unreadable`:
        never trusted and never overwritten.
        """
        if not self.path.exists():
            return None
        try:
            return self._read(device)
        except ValueError:
            self.quarantine()
            return None

    def quarantine_damaged(self) -> str | None:
        """Move a checkpoint that cannot be trusted aside, before its run is begun.

        One line that names it, or None where there was none.
        """
        if not self.path.exists():
            return None
        try:
            self._read(torch.device("cpu"))
        except ValueError as error:
            return f"{error}; moved to {self.quarantine().name}, the run starts again"
        return None

    def _read(self, device: torch.device) -> State:
        try:
            content = BytesIO(unsealed(read_regular(self.path)))
            fields = torch.load(content, map_location=device, weights_only=True)
            if fields.pop("run_id") != self.run_id:
                raise ValueError("of another run, or of other settings, source or data")
            return State(**fields)
        except Exception as error:  # torch and pickle raise their own kinds
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise ValueError(f"{self.path}: not a checkpoint of this run ({reason})") from error

    def quarantine(self) -> Path:
        """Rename the checkpoint to `*.unreadable`; its new path."""
        return quarantine(self.path)

    def delete(self) -> None:
        """Remove the checkpoint, if there is one."""
        self.path.unlink(missing_ok=True)
