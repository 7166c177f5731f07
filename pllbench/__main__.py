"""The command `pllbench`, and `python -m pllbench`."""

import sys


def main() -> None:
    """The command line. Ctrl-C ends it silently while it is still being imported, too."""
    try:
        from pllbench.cli.main import main as command
    except KeyboardInterrupt:
        sys.exit(130)  # cli.INTERRUPTED, which is not there yet
    command()


if __name__ == "__main__":
    main()
