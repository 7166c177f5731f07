"""Files beside a record: its curves, what a run was asked to keep, and other outcomes of it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pllbench.results.files import write_atomic
from pllbench.validation import FieldError, did_you_mean

Kept = Literal["predictions", "model"]
"""What a run keeps on request: scores of its test rows, or the trained method."""

KEPT_SUFFIXES: Mapping[Kept, str] = {"predictions": ".predictions.npz", "model": ".model"}


def kinds_to_keep(names: Iterable[str]) -> tuple[Kept, ...]:
    """What is to be kept, by its names, each once.

    Raises:
        FieldError: an unknown kind; gives the nearest match.
    """
    given = tuple(map(str, names))
    for name in given:
        if name not in KEPT_SUFFIXES:
            raise FieldError("keep", did_you_mean(name, KEPT_SUFFIXES), name)
    return tuple(kind for kind in KEPT_SUFFIXES if kind in given)


def kept_path(path: Path, kind: Kept) -> Path:
    """Where the run of the record at `path` (its JSON) keeps something; may not exist."""
    return path.with_suffix(KEPT_SUFFIXES[kind])


def write_kept(path: Path, kept: Mapping[Kept, bytes]) -> None:
    """Store what a run keeps beside its record at `path`, which is written after it."""
    for kind, content in kept.items():
        write_atomic(kept_path(path, kind), content)


def without_kept(paths: Iterable[Path], kinds: Sequence[Kept]) -> int:
    """How many of the records at `paths` lack one of the kinds of files."""
    return sum(not all(kept_path(path, kind).exists() for kind in kinds) for path in paths)


def class_accuracy(path: Path) -> dict[str, float | None]:
    """Test accuracy of each class, by its name or number, that the run of a record has kept.

    None for a class without test rows; empty where the run has kept no predictions.

    Raises:
        ValueError: the file of predictions is damaged.
    """
    file = kept_path(path, "predictions")
    if not file.exists():
        return {}
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as stored:
            values = stored["class_accuracy"].tolist()
            names = stored["classes"].tolist() if "classes" in stored else range(len(values))
    except Exception as error:  # zipfile, zlib and NumPy each raise their own kind
        reason = " ".join(str(error).split())
        raise ValueError(f"{file}: not readable ({reason})") from error
    return {
        str(name): None if math.isnan(value) else value
        for name, value in zip(names, values, strict=True)
    }


def record_files(path: Path) -> list[Path]:
    """The files that are there of the record at `path`: its JSON, its curves, what was kept."""
    beside = [kept_path(path, kind) for kind in KEPT_SUFFIXES]
    return [file for file in (path, path.with_suffix(".npz"), *beside) if file.exists()]


def conflicts_folder(path: Path, digest: str) -> Path:
    """Where a merge puts another outcome, of this digest, of the run of the record at `path`."""
    return path.parent / "conflicts" / digest


def conflict_paths(root: Path) -> list[Path]:
    """The JSON files of outcomes that merges have set aside below a results folder."""
    return sorted((root / "records").glob("*/*/conflicts/*/*.json"))
