"""`pllbench new`."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def new(
    what: Annotated[Literal["method"], typer.Argument(help="What to make.")],
    name: Annotated[str, typer.Argument(help="Its name, as --methods will take it.")],
    directory: Annotated[
        Path, typer.Option("--directory", help="Where its folder is put.", metavar="DIR")
    ] = Path(),
) -> None:
    """Write the package of a method of your own, which conforms as it is, with its test."""
    from pllbench import api
    from pllbench.cli import console

    assert what == "method", "the only kind"
    folder = api.new_method(name, directory)
    console.write(f"{folder}\n")
    console.print_error(f"now: pip install -e {folder} && pllbench check {name}")
