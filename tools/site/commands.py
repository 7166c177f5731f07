"""The commands and their options, as typer has them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from typer.main import get_command

from pllbench.cli.main import app
from tools.site.markdown import code, table

_ROOT = "pllbench"
_PANELS = ("Arguments", "Selection", "Options")


def commands() -> Mapping[str, Any]:
    """The commands by name, in the order of --help."""
    found: Mapping[str, Any] = vars(get_command(app))["commands"]
    return found


def command_table() -> str:
    """A line for each command: what it does, with a link to its page."""
    rows = [
        (f"[`{_ROOT} {name}`]({name}.md)", command.help.split("\n\n")[0])
        for name, command in commands().items()
    ]
    return table(("command", "what it does"), rows)


def command_page(name: str) -> str:
    """The page of a command that has none of its own."""
    return f"# {_ROOT} {name}\n\n<!-- insert: options {name} -->\n"


def options(name: str) -> str:
    """What `--help` says of a command: what it does, its usage, a table for each panel of options.

    Raises:
        KeyError: there is no such command.
    """
    command = commands()[name]
    context = typer.Context(command, info_name=f"{_ROOT} {name}")
    panels: dict[str, list[Sequence[str]]] = defaultdict(list)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:  # hidden ones have none
            panels[_panel(parameter)].append(_row(parameter.help or "", *record))
    usage = " ".join(context.get_usage().split()).removeprefix("Usage: ")
    parts = [command.help, code(usage)]
    for title in sorted(panels, key=_PANELS.index):
        heads = ["argument" if title == "Arguments" else "option", "meaning", "range, default"]
        used = 3 if any(row[2] for row in panels[title]) else 2
        parts += [f"## {title}", table(heads[:used], [row[:used] for row in panels[title]])]
    return "\n\n".join(parts)


def _panel(parameter: Any) -> str:
    """The heading that a parameter stands under."""
    if parameter.rich_help_panel:
        return str(parameter.rich_help_panel)
    return "Options" if any(name.startswith("-") for name in parameter.opts) else "Arguments"


def _row(text: str, name: str, said: str) -> Sequence[str]:
    """Name with its values, meaning, and what typer adds to that in brackets."""
    return code(name.replace(" range>", ">")), text, said.removeprefix(text).strip(" []")
