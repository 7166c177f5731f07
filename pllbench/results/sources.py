"""`results/sources.json`: sources of methods that were shown to give the same numbers.

By method, and its version: groups of digests. A group grows when a stored run, done again under
another source, has come out bit for bit.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pllbench.results.files import read_regular, write_atomic
from pllbench.validation import one_line

Groups = dict[str, dict[str, list[list[str]]]]

_GROUPS: TypeAdapter[Groups] = TypeAdapter(Groups)


def equal_sources(results: Path, method: str, version: int, source: str) -> set[str]:
    """Digests of the sources that gave the numbers that `source` gives, itself included.

    Raises:
        ValueError: the file is damaged; it is named.
    """
    return _group_of(_read(results), method, version, source)


def representative(groups: Groups, method: str, version: int, source: str) -> str:
    """The first digest, in their order, of the sources that give the numbers of `source`."""
    return min(_group_of(groups, method, version, source))


def join_sources(results: Path, method: str, version: int, one: str, other: str) -> None:
    """Store that two sources of a method's version give the same numbers.

    Raises:
        ValueError: the file is damaged; it is named.
    """
    groups = _read(results)
    listed = groups.setdefault(method, {}).setdefault(str(version), [])
    groups[method][str(version)] = _joined(listed, {one, other})
    write_sources(results, groups)


def union_of_sources(folders: Iterable[Path]) -> Groups:
    """What any of some results folders knows of equal sources.

    Raises:
        ValueError: a file is damaged; it is named.
    """
    merged: Groups = {}
    for folder in folders:
        for method, versions in _read(folder).items():
            for version, groups in versions.items():
                listed = merged.setdefault(method, {}).setdefault(version, [])
                for group in groups:
                    listed[:] = _joined(listed, {*group})
    for versions in merged.values():
        for listed in versions.values():
            listed.sort()
    return merged


def write_sources(results: Path, groups: Groups) -> None:
    """Store groups of equal sources, in the place of those that are there."""
    text = json.dumps(groups, indent=1, sort_keys=True)
    write_atomic(_path(results), text.encode() + b"\n")


def _group_of(groups: Groups, method: str, version: int, source: str) -> set[str]:
    listed = groups.get(method, {}).get(str(version), [])
    return {source}.union(*(group for group in listed if source in group))


def _joined(listed: list[list[str]], equal: set[str]) -> list[list[str]]:
    """Groups, with those that hold one of the `equal` digests made one group of all of them."""
    joined = sorted(equal.union(*(group for group in listed if equal & {*group})))
    return [*(group for group in listed if not equal & {*group}), joined]


def _path(results: Path) -> Path:
    return results / "sources.json"


def _read(results: Path) -> Groups:
    path = _path(results)
    if not path.exists():
        return {}
    try:
        return _GROUPS.validate_json(read_regular(path))
    except ValidationError as error:
        raise ValueError(one_line(error, str(path))) from error
    except OSError as error:
        raise ValueError(f"{path}: not readable ({error.strerror})") from error
