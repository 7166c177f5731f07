"""Notebooks as pages: text, code, and what the cells have shown."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def notebook_page(path: Path) -> str:
    """The Markdown of a notebook with its stored outputs."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return "\n\n".join(part.strip("\n") for cell in cells for part in _cell(cell)) + "\n"


def _cell(cell: Mapping[str, Any]) -> Iterator[str]:
    source = _text(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            content = _text(data["image/png"]).replace("\n", "")
            yield f'<img alt="figure" src="data:image/png;base64,{content}">'
        elif "text/html" in data:
            lines = _text(data["text/html"]).splitlines()
            yield "\n".join(line for line in lines if line.strip())  # an empty one ends HTML
        else:
            text = _text(data.get("text/plain") or output.get("text", ""))
            yield f"```text\n{text.rstrip()}\n```"


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
