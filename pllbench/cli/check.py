"""`pllbench check`."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pllbench.cli.console import FAILED
from pllbench.cli.parsing import names
from pllbench.cli.selection import DataDir, ResultsDir
from pllbench.validation import visible_line

if TYPE_CHECKING:
    from pllbench.method import Method


def check(
    method: Annotated[str, typer.Argument(help="A registered method, or MODULE:CLASS.")],
    same_numbers: Annotated[
        bool,
        typer.Option(
            "--same-numbers",
            help="Instead: does a changed source give the stored numbers? A stored run is done "
            "again; if it comes out bit for bit, `run` goes on with the others.",
        ),
    ] = False,
    datasets: Annotated[
        list[str] | None, typer.Option("--datasets", help="Own data that stored runs may be of.")
    ] = None,
    results: ResultsDir = Path("results"),
    data_dir: DataDir = Path("data"),
) -> None:
    """Run the conformance suite on a method."""
    from pllbench.cli import console
    from pllbench.registry import load_class, load_in_time, load_method
    from pllbench.testing import Check, method_checks
    from pllbench.testing.side_effects import require_unchanged
    from pllbench.training.isolation import ProcessState

    if same_numbers:
        _check_numbers(method, results, data_dir, names(datasets, "--datasets"))
        return
    if datasets is not None:
        raise ValueError("--datasets: only with --same-numbers")
    sys.path.insert(0, "")  # a module in the current folder, as `python -m` finds it

    def load() -> "tuple[type[Method[Any]], list[str]]":
        """The class, and what its import has changed in the process and in this thread."""
        before = ProcessState.capture()
        cls = load_class(method) if ":" in method else load_method(method)
        return cls, before.restore()

    cls, changed = load_in_time(load, f"method {method!r}")
    imported = partial(require_unchanged, changed)
    failed = 0
    for one in [Check("changes nothing when it is imported", imported), *method_checks(cls)]:
        try:
            one.run()
        except AssertionError as error:
            failed += 1
            console.write(f"FAILED  {one.name}: {visible_line(str(error))}\n")
        else:
            console.write(f"ok      {one.name}\n")
    console.write(f"{method}: {f'{failed} checks failed' if failed else 'conforms'}\n")
    if failed:
        raise typer.Exit(FAILED)


def _check_numbers(method: str, results: Path, data_dir: Path, datasets: tuple[str, ...]) -> None:
    from pllbench.cli import console
    from pllbench.data.custom import find_dataset
    from pllbench.runner.job import RunOptions
    from pllbench.runner.same_numbers import repeat, to_repeat

    options = RunOptions(results, data_dir)
    repetitions = to_repeat(method, options, [find_dataset(name) for name in datasets])
    failed = 0
    for repetition in repetitions:
        difference = repeat(repetition, options)
        failed += difference is not None
        outcome = "bit for bit the stored run" if difference is None else difference
        sign = "ok     " if difference is None else "FAILED "
        console.write(f"{sign} {repetition.run.title}: {outcome}\n")
    if failed:
        console.write(f"{method}: not the stored numbers: raise its version\n")
        raise typer.Exit(FAILED)
    shown = "gives the stored numbers" if repetitions else "is that of its records"
    console.write(f"{method}: its source {shown}\n")
