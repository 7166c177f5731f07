"""Labels of rows: what several have in common, and what one consists of."""

import re
from collections.abc import Iterable


def common_start(labels: Iterable[str]) -> str | None:
    """The label that all others begin with; None where there is none."""
    shortest, *others = sorted(labels, key=len)
    return shortest if all(other.startswith(shortest) for other in others) else None


def common_label(name: str, labels: Iterable[str]) -> str:
    """What a row is called where it has several labels: `common_start`, their title, or its name.

    The title is what all are before their settings.
    """
    found = list(labels)
    titles = {settings_in(label)[0] for label in found}
    return common_start(found) or (titles.pop() if len(titles) == 1 else name)


def settings_in(label: str) -> tuple[str, list[str]]:
    """A label's title, and the settings that it ends with in brackets: `key=value` each."""
    found = re.fullmatch(r"(.*?) \((\w+=.*)\)", label)
    if found is None:
        return label, []
    title, settings = found.groups()
    return title, re.split(r", (?=\w+=)", settings)  # a value may have commas of its own
