"""Settings that the rows of a table share: said once below it, and in no label."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from pllbench.grid.labels import differences, settings_by_name
from pllbench.grid.protocol import Protocol
from pllbench.reports.groups import RunGroup


def shared_settings(groups: Iterable[RunGroup], protocol: Protocol) -> tuple[str, ...]:
    """What labels of two rows or more would list, and all rows that read it have: `key=value`.

    A row that the protocol itself gives the value does not list it, and has it all the same.
    """
    values: dict[str, set[str]] = defaultdict(set)
    listing: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        settings = settings_by_name(group.spec)
        for name, setting in settings.items():
            values[name].add(setting)
        changed = set(differences(group.spec, group.name, protocol))
        for name in settings:
            if settings[name] in changed:
                listing[name].add(group.label)
    return tuple(
        next(iter(values[name]))
        for name, labels in listing.items()
        if len(labels) > 1 and len(values[name]) == 1
    )


def without_settings(label: str, shared: Sequence[str]) -> str:
    """A label without some of the settings that it lists in brackets."""
    for setting in map(re.escape, shared):
        label = re.sub(rf" \({setting}\)", "", label)  # the only one
        label = re.sub(rf"(?<= \(){setting}, ", "", label)  # the first
        label = re.sub(rf", {setting}(?=\)|, \w+=)", "", label)
    return label


def shared_note(shared: Sequence[str]) -> tuple[str, ...]:
    """A sentence on the shared settings; none where there are none."""
    return (f"Shared settings: {', '.join(shared)}.",) if shared else ()
