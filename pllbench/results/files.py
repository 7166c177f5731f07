"""Writing files so that a reader sees the old one or the whole new one, and quarantine."""

import os
import secrets
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write `data` to `path` so that a reader sees the old file or the whole new one.

    What is not `durable` may be gone, or empty, after a power cut.

    Raises:
        OSError: it cannot be written; the error names `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile's: its files are for their owner alone, and a results folder may be shared.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):  # that of a full disk names no file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def quarantine(path: Path, suffix: str = "unreadable") -> Path:
    """Rename a file that does not count to `*.unreadable`, numbered where that exists."""
    target, number = path.with_name(f"{path.name}.{suffix}"), 1
    while target.exists():
        number += 1
        target = path.with_name(f"{path.name}.{suffix}-{number}")
    return path.rename(target)
