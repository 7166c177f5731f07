"""Execute the notebooks of docs/ and store what their cells show: python tools/notebooks.py."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent

TIMEOUT = 300
"""Seconds that a cell may take."""


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook at `path`, after all of its cells have been executed in `folder`.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raises.
    """
    notebook: nbformat.NotebookNode = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
    )
    client.execute(env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    return notebook


def main() -> None:
    """Execute all notebooks in place."""
    for path in sorted((ROOT / "docs").glob("*.ipynb")):
        with TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        notebook.metadata = {"kernelspec": notebook.metadata.get("kernelspec", {})}
        path.write_text(nbformat.writes(notebook) + "\n", "utf-8")
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
