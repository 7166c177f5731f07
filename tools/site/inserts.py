"""What pages leave to the code: `<!-- insert: NAME ARGUMENTS -->` on a line of its own."""

import re
from collections.abc import Callable, Mapping
from functools import partial

from tools.site import commands, datasets, exported, methods, protocol, spaces
from tools.site.places import DOCS

INSERTS: Mapping[str, Callable[..., str]] = {
    "commands": commands.command_table,
    "options": commands.options,
    "columns": exported.columns,
    "methods": partial(methods.method_table, DOCS / "methods"),
    "datasets": partial(datasets.dataset_table, DOCS / "datasets"),
    "rates": protocol.rates,
    "settings": protocol.settings,
    "variants": protocol.variants,
    "defaults": protocol.defaults,
    "spaces": spaces.spaces,
}
"""What makes the text of an insert, by its name."""

_LINE = re.compile(r"^<!-- insert: (\w+)(.*?) -->$", re.M)


def expand(text: str) -> str:
    """A page with its inserts in their places.

    Raises:
        KeyError: there is no insert of that name, or nothing that it is asked for.
    """
    return _LINE.sub(lambda found: INSERTS[found[1]](*found[2].split()), text)
