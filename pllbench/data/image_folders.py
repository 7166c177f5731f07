"""Folders of images: one folder a class, in `train` and `test` where the split is fixed.

What is hidden, by a name that begins with a dot, belongs to other programs and is passed over.
Needs no torch.
"""

import mimetypes
import unicodedata
from collections import defaultdict
from collections.abc import Sequence, Set
from pathlib import Path

from pllbench.validation import folded_name

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".pgm", ".tif", ".tiff")

_PARTS = ("train", "test")

_LIKE_TEST = ("testing", "val", "valid", "validation")
"""Names of folders that are more likely part of a split than classes."""


def fixed_parts(path: Path) -> list[Path]:
    """The folders `train` and `test` of a fixed split, in any case; none where one is missing."""
    by_name = {folder.name.casefold(): folder for folder in _folders(path)}
    return [by_name[part] for part in _PARTS] if by_name.keys() >= set(_PARTS) else []


def list_images(path: Path) -> tuple[list[str], list[list[tuple[Path, int]]]]:
    """Names of the classes, in order, and for each part of the split its files with their labels.

    Raises:
        ValueError: fewer than two classes, a class without images, an image of another format, a
            part without classes, folders within that of a class, a class in `test` alone, or
            further folders beside `train` and `test`; or classes of one name, but for the code of
            its accents, or in another case in the other part.
    """
    parts = fixed_parts(path)
    if further := [folder.name for folder in _folders(path) if parts and folder not in parts]:
        raise ValueError(
            f"{path}: holds `{further[0]}` beside `{parts[0].name}` and `{parts[1].name}`: its "
            f"images neither train nor test; move them into `{parts[0].name}`, or the folder away"
        )
    parts = parts or [path]
    folders = [_folders(part) for part in parts]
    classes = sorted({folder.name for part in folders for folder in part})
    if len(classes) < 2:
        raise ValueError(f"{path}: must hold one folder for each class, found {len(classes)}")
    for part, inside in zip(parts, folders, strict=True):
        if not inside:
            raise ValueError(f"{part}: must hold one folder for each class, found none")
    names = [{folder.name for folder in part} for part in folders]
    _require_distinct(path, names)
    if untrained := sorted(names[-1] - names[0]):
        raise ValueError(
            f"{parts[-1] / untrained[0]}: a class without images in `{parts[0].name}`: nothing "
            f"could learn it; add some, or remove the folder"
        )
    listed = [
        [(file, classes.index(folder.name)) for folder in part for file in _images_in(folder, path)]
        for part in folders
    ]
    return classes, listed


def _require_distinct(path: Path, parts: Sequence[Set[str]]) -> None:
    """Raise ValueError where two names of classes are one class, by all that can be told."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted({name for part in parts for name in part}):
        alike[folded_name(name)].append(name)
    for first, *others in alike.values():
        for other in others:
            same = unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", other)
            if same or not any({first, other} <= part for part in parts):
                raise ValueError(
                    f"{path}: the classes {first!r} and {other!r} differ in case or the code of an "
                    f"accent alone: give their folders one name"
                )


def visible_files(path: Path) -> list[Path]:
    """All files below a folder that are not hidden, nor in a hidden folder; sorted."""
    return [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not _hidden(file.relative_to(path).parts)
    ]


def _folders(path: Path) -> list[Path]:
    """The folders in a folder that are not hidden; sorted."""
    return sorted(f for f in path.iterdir() if f.is_dir() and not _hidden([f.name]))


def _hidden(names: Sequence[str]) -> bool:
    return any(name.startswith(".") for name in names)


def _images_in(folder: Path, root: Path) -> list[Path]:
    """The images of a class, from its folder."""
    for inner in _folders(folder):
        if any(_is_image(file) for file in inner.rglob("*")):
            likely = [f.name for f in _folders(root) if f.name.casefold() in _LIKE_TEST]
            mend = "the images of a class lie in its folder itself"
            if likely:
                mend = f"parts are called `train` and `test`; rename `{likely[0]}` if it is one"
            raise ValueError(f"{folder}: holds a folder of images, `{inner.name}`: {mend}")
    files = [file for file in sorted(folder.iterdir()) if not _hidden([file.name])]
    found = [file for file in files if _is_image(file)]
    if unread := [file for file in found if not file.is_file()]:
        raise ValueError(f"{unread[0]}: not readable as an image (no plain file)")
    if others := [file for file in files if _is_unread_image(file)]:
        raise ValueError(
            f"{others[0]}: images of this format are not read ({', '.join(IMAGE_SUFFIXES)} are): "
            f"convert or remove it ({len(others)} of {len(files)} files here)"
        )
    if not found:
        raise ValueError(
            f"{folder}: no images ({', '.join(IMAGE_SUFFIXES)}) in it: a class without any; remove "
            f"the folder if it is none"
        )
    return found


def _is_unread_image(file: Path) -> bool:
    kind, _ = mimetypes.guess_type(file.name)
    return (kind or "").startswith("image/") and not _is_image(file)


def _is_image(file: Path) -> bool:
    return file.suffix.lower() in IMAGE_SUFFIXES and not _hidden([file.name])
