"""`pllbench check`."""

import sys
from functools import partial
from typing import Annotated

import typer

from pllbench.cli.console import FAILED


def check(
    method: Annotated[str, typer.Argument(help="A registered method, or MODULE:CLASS.")],
) -> None:
    """Run the conformance suite on a method."""
    from pllbench.cli import console
    from pllbench.registry import load_class, load_method
    from pllbench.testing import Check, method_checks
    from pllbench.testing.side_effects import require_unchanged
    from pllbench.training.isolation import ProcessState

    sys.path.insert(0, "")  # a module in the current folder, as `python -m` finds it
    before = ProcessState.capture()
    cls = load_class(method) if ":" in method else load_method(method)
    imported = partial(require_unchanged, before.restore())
    failed = 0
    for one in [Check("changes nothing when it is imported", imported), *method_checks(cls)]:
        try:
            one.run()
        except AssertionError as error:
            failed += 1
            console.write(f"FAILED  {one.name}: {' '.join(str(error).split())}\n")
        else:
            console.write(f"ok      {one.name}\n")
    console.write(f"{method}: {f'{failed} checks failed' if failed else 'conforms'}\n")
    if failed:
        raise typer.Exit(FAILED)
