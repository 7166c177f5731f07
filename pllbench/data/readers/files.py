"""Where the files of a data set lie."""

from pathlib import Path

from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.registry import did_you_mean


def dataset_info(name: str) -> DatasetInfo:
    """Facts about a data set.

    Raises:
        ValueError: unknown name; gives the nearest match.
    """
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}: {did_you_mean(name, DATASETS)}")
    return DATASETS[name]


def find_file(name: str, data_dir: Path) -> Path:
    """The file of a data set that has one, below `data_dir`.

    Spelling varies with who unpacked it (`Soccer Player.mat`, `SoccerPlayer.mat`), so case, spaces
    and punctuation are ignored, and one more folder around it is no error.

    Raises:
        ValueError: there is none; says what to put where.
    """
    info = dataset_info(name)
    assert info.file is not None, f"{name} has no file"
    wanted = data_dir / info.file
    folder = Path(info.file).parent
    for pattern in (f"{folder}/[!.]*", f"{folder}/*/[!.]*", "[!.]*"):
        found = [
            path for path in data_dir.glob(pattern) if _plain(path.name) == _plain(wanted.name)
        ]
        if found:
            return wanted if wanted in found else min(found)
    raise ValueError(f"data set {name!r}: no file {wanted}; get it from {info.source}")


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
