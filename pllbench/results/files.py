"""Writing files so that a reader sees the old one or the whole new one; locks; quarantine."""

import errno
import fcntl
import os
import secrets
import stat
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write `data` to `path` so that a reader sees the old file or the whole new one.

    What is not `durable` may be gone, or empty, after a power cut.

    Raises:
        OSError: it cannot be written; the error names `path`.
    """
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
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


def lock_file(handle: int, operation: int, path: Path) -> None:
    """`fcntl.flock` of an open file.

    Raises:
        BlockingIOError: another process holds the lock, and `operation` does not wait.
        OSError: it cannot be locked, as on a file system without locks; the error names `path`.
    """
    try:
        fcntl.flock(handle, operation)
    except BlockingIOError:
        raise
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} (it cannot be locked)", str(path)) from error


def require_regular(path: Path) -> None:
    """Raise OSError unless `path` is a plain file: to read a FIFO or a device may never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "no regular file", str(path))


def read_regular(path: Path) -> bytes:
    """Content of a plain file; raises OSError where it is none, or cannot be read."""
    require_regular(path)
    return path.read_bytes()


def quarantine(path: Path, suffix: str = "unreadable") -> Path:
    """Rename a file that does not count to `*.unreadable`, numbered where that exists."""
    target, number = path.with_name(f"{path.name}.{suffix}"), 1
    while target.exists():
        number += 1
        target = path.with_name(f"{path.name}.{suffix}-{number}")
    return path.rename(target)


def remove_empty(folder: Path, root: Path) -> None:
    """Remove a folder below `root`, and then those around it, as far as they are empty."""
    while folder != root and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
