"""The command line. Commands import what they need when they run: --help needs no torch."""

import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from pllbench.cli.check import check
from pllbench.cli.choose import choose
from pllbench.cli.console import (
    INTERRUPTED,
    OK,
    WRONG,
    prepare_streams,
    print_error,
    silence,
    write,
)
from pllbench.cli.data import data
from pllbench.cli.disambiguate import disambiguate
from pllbench.cli.export import export
from pllbench.cli.fit import fit
from pllbench.cli.list import list_
from pllbench.cli.merge import merge
from pllbench.cli.new import new
from pllbench.cli.plot import plot
from pllbench.cli.predict import predict
from pllbench.cli.remove import remove
from pllbench.cli.report import report
from pllbench.cli.rerun import rerun
from pllbench.cli.run import run
from pllbench.cli.selection import with_selection
from pllbench.cli.show import show
from pllbench.cli.status import status
from pllbench.cli.table import table
from pllbench.cli.tune import tune
from pllbench.validation import FieldError

app = typer.Typer(
    help="The benchmark suite for partial-label learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        write(f"pllbench {metadata.version('pllbench')}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """The benchmark suite for partial-label learning."""


app.command()(with_selection(run))
app.command()(with_selection(status))
app.command()(with_selection(table))
app.command()(with_selection(plot))
app.command()(with_selection(report))
app.command()(with_selection(tune))
app.command("list")(list_)
app.command()(data)
app.command()(with_selection(choose, without=("benchmark", "datasets")))
app.command()(fit)
app.command()(predict)
app.command()(disambiguate)
app.command()(check)
app.command()(show)
app.command()(rerun)
app.command()(with_selection(export))
app.command()(with_selection(remove))
app.command()(merge)
app.command()(new)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: exit codes as in `OK`, `FAILED`, `WRONG` and `INTERRUPTED`."""
    prepare_streams()
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        if message := error.format_message():  # none after the help of a call without arguments
            print_error(message.replace("Value error, ", ""))
        code = WRONG
    except FieldError as error:
        print_error(f"--{error.field.replace('_', '-')}{str(error).removeprefix(error.field)}")
        code = WRONG
    except ValueError as error:
        print_error(str(error))
        code = WRONG
    except KeyboardInterrupt:  # outside of a command: typer gives the same code within one
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        # The reader of a help page has seen enough; typer and rich turn that into exit code 1.
        if not isinstance(error.__context__ or error, BrokenPipeError):
            raise
        silence(sys.stdout)
        code = OK
    except OSError as error:  # a name too long, a folder without permission: it names the path
        print_error(str(error))
        code = WRONG
    sys.exit(code)
