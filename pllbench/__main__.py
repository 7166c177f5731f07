"""The command `pllbench`, and `python -m pllbench`."""

import sys
import time


def main() -> None:
    """The command line. Ctrl-C ends it silently while it is still being imported, too."""
    started = time.time()
    try:
        from pllbench.cli.main import main as command
        from pllbench.grid.declared import keep_since
    except KeyboardInterrupt:
        sys.exit(130)  # cli.INTERRUPTED, which is not there yet
    keep_since(started)
    command()


if __name__ == "__main__":
    main()
