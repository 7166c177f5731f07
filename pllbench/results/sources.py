"""`results/sources.json`: sources of methods that were shown to give the same numbers.

By method, and its version: groups of digests. A group grows when a stored run, done again under
another source, has come out bit for bit.
"""

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pllbench.results.files import write_atomic
from pllbench.validation import one_line

Groups = dict[str, dict[str, list[list[str]]]]

_GROUPS: TypeAdapter[Groups] = TypeAdapter(Groups)


def equal_sources(results: Path, method: str, version: int, source: str) -> set[str]:
    """Digests of the sources that gave the numbers that `source` gives, itself included.

    Raises:
        ValueError: the file is damaged; it is named.
    """
    return {source}.union(
        *(
            group
            for group in _read(results).get(method, {}).get(str(version), [])
            if source in group
        )
    )


def join_sources(results: Path, method: str, version: int, one: str, other: str) -> None:
    """Store that two sources of a method's version give the same numbers.

    Raises:
        ValueError: the file is damaged; it is named.
    """
    groups = _read(results)
    listed = groups.setdefault(method, {}).setdefault(str(version), [])
    joined = sorted({one, other}.union(*(group for group in listed if {one, other} & {*group})))
    kept = [group for group in listed if not {one, other} & {*group}]
    groups[method][str(version)] = [*kept, joined]
    text = json.dumps(groups, indent=1, sort_keys=True)
    write_atomic(_path(results), text.encode() + b"\n")


def _path(results: Path) -> Path:
    return results / "sources.json"


def _read(results: Path) -> Groups:
    path = _path(results)
    if not path.exists():
        return {}
    try:
        return _GROUPS.validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(one_line(error, str(path))) from error
