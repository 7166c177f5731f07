"""Custom data: the user's own data sets, by path, and what a grid must know of them.

Four forms:

* `NAME.npz` with `x` and `y`, and optionally `candidates` [N, C] 0/1 (real candidate sets), or
  `annotations` [M, 3] (row, annotator, label), which may stand in `NAME.annotations.csv` instead
  and of which a rule makes candidate sets; with either of them `y` may be left out, where true
  labels are not known; `num_train` (the first so many rows train, the others test), `num_classes`
  and `kind` (`tabular`, `text`, `image` or `digits`; else `image` for three or four dimensions,
  `tabular` for two). Images are uint8: [N, height, width],
  [N, height, width, channels] or [N, channels, height, width].
* `NAME.mat` as the real-world sets have it: `data` [N, D], `target` [C, N] 0/1, and optionally
  `partial_target` [C, N].
* `NAME.csv` or `NAME.parquet`, a table with a named column for each feature, the true label and the
  candidates; see `pllbench.data.frames`.
* a folder of images of one size, one folder inside it for each class; or `train` and `test` in it,
  each with the folders of the classes. Hidden files and folders, `.NAME`, do not count.

Its content digest is part of a run's identity, its path is not. Needs no torch.
"""

import hashlib
import unicodedata
import zipfile
from pathlib import Path
from typing import Any, cast, get_args

from pllbench.data.catalogue import DATASETS, DatasetInfo, Split, dataset_info
from pllbench.data.frames import FRAME_SUFFIXES, TRUE_LABEL, frame_columns
from pllbench.data.image_folders import fixed_parts, visible_files
from pllbench.spec import Kind
from pllbench.validation import folded_name, folder_name_problem


def is_path(text: str) -> bool:
    """Whether --datasets names a file or folder with it, not a data set of the catalogue."""
    return "/" in text or Path(text).suffix in (".npz", ".mat", *FRAME_SUFFIXES)


def find_dataset(text: str) -> DatasetInfo:
    """The data set that --datasets names: one of the catalogue, or the custom one at a path.

    Raises:
        ValueError: unknown name, with the nearest match; or as `custom_info`.
    """
    if is_path(text):
        return custom_info(Path(text))
    if text not in DATASETS and Path(text).is_dir():
        raise ValueError(f"unknown data set {text!r}: for the folder of that name write ./{text}")
    return dataset_info(text)


def dataset_name(path: Path) -> str:
    """Name of the data set at `path`; of `.` and `..`, what these folders are called."""
    if not path.is_dir():
        name = path.stem
    else:
        name = path.name if path.name.strip(".") else path.resolve().name
    return unicodedata.normalize("NFC", name)  # macOS hands out accents as letters of their own


def custom_info(path: Path) -> DatasetInfo:
    """What a grid must know of the custom data set at `path`.

    Raises:
        ValueError: there is nothing, or nothing of these forms; or its name is taken.
    """
    name = dataset_name(path)
    if folded_name(name) in DATASETS:
        raise ValueError(f"{path}: {name!r} is a data set of the suite: choose another name")
    if problem := folder_name_problem(name):
        raise ValueError(f"{path}: {problem}: rename it")
    annotated, labelled = False, True
    if path.is_dir():
        kind, real = "image", False
        fixed = bool(fixed_parts(path))
    elif not path.is_file():
        raise ValueError(f"{path}: no such file or folder")
    elif path.suffix == ".npz":
        kind, names = _npz_facts(path)
        annotated = "annotations" in names or annotations_file(path).exists()
        real, fixed = annotated or "candidates" in names, "num_train" in names
        labelled = "y" in names
        if not (labelled or real):
            raise ValueError(f"{path}: no array `y` in it, and no `candidates` or `annotations`")
    elif path.suffix == ".mat":
        kind, real, fixed = "tabular", "partial_target" in _mat_names(path), False
    elif path.suffix in FRAME_SUFFIXES:
        columns = frame_columns(path)
        labelled = columns.labelled
        if not (labelled or columns.has_sets):
            raise ValueError(f"{path}: no column `{TRUE_LABEL}`, and none of candidates")
        kind, real, fixed = "tabular", columns.has_sets, False
    else:
        forms = ".npz, .csv, .parquet or .mat file"
        raise ValueError(f"{path}: own data is a {forms}, or a folder of images")
    split: Split = "fixed" if fixed else "random"
    return DatasetInfo(
        name=name,
        title=name,
        kind=cast("Kind", kind),
        split=split,
        real_candidates=real,
        file=str(path),
        source=str(path),
        annotated=annotated,
        labelled=labelled,
        path=path,
        digest=content_digest(path),
    )


def annotations_file(path: Path) -> Path:
    """Where annotations of the .npz file at `path` stand, if not in it."""
    return path.with_suffix(".annotations.csv")


def content_digest(path: Path) -> str:
    """First 16 hex digits of the SHA-256 of a file, or of the names and files of a folder.

    A .npz file and the annotations beside it are one content.
    """
    content = hashlib.sha256()
    beside = annotations_file(path)
    files = [path, beside] if path.suffix == ".npz" and beside.exists() else [path]
    for file in visible_files(path) if path.is_dir() else files:
        if path.is_dir():
            content.update(f"{file.relative_to(path).as_posix()}:{file.stat().st_size}:".encode())
        with file.open("rb") as stream:
            while block := stream.read(2**20):
                content.update(block)
    return content.hexdigest()[:16]


def _npz_facts(path: Path) -> tuple[str, set[str]]:
    """Its kind, and the names of its arrays."""
    import numpy as np

    shapes: dict[str, tuple[int, ...]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                with archive.open(name) as file:
                    shapes[name.removesuffix(".npy")] = _header_shape(file)
        kind = str(np.load(path, allow_pickle=False)["kind"]) if "kind" in shapes else ""
    except Exception as error:  # zipfile, zlib and NumPy each raise their own kind
        raise ValueError(f"{path}: not a .npz file, or cut off ({error})") from error
    if "x" not in shapes:
        raise ValueError(f"{path}: no array `x` in it")
    if kind and kind not in get_args(Kind):
        raise ValueError(f"{path}: kind {kind!r} must be one of {', '.join(get_args(Kind))}")
    kind = kind or ("tabular" if len(shapes["x"]) == 2 else "image")
    return kind, set(shapes)


def _header_shape(file: Any) -> tuple[int, ...]:
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, _ = read(file)
    return tuple(shape)


def _mat_names(path: Path) -> set[str]:
    from scipy.io import whosmat  # half a second, which other commands do not pay

    try:
        return {name for name, _, _ in whosmat(path)}
    except NotImplementedError:  # MATLAB 7.3
        return _hdf5_names(path)
    except Exception as error:  # a cut-off file surfaces as any of a dozen kinds
        raise ValueError(f"{path}: not a .mat file of version 7 or older ({error})") from error


def _hdf5_names(path: Path) -> set[str]:
    """Variables of a MATLAB 7.3 file; all that a real-world set has where nothing can read it."""
    try:
        import h5py

        with h5py.File(path) as file:
            return set(file)
    except (ModuleNotFoundError, OSError):  # its reader says what is wrong
        return {"partial_target"}
