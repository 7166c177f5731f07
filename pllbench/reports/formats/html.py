"""Pages as one HTML file that asks for nothing else: tables, and scripts that draw the figures."""

import base64
import hashlib
import json
import re
from functools import partial

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from pllbench.reports.page import Page

_FOLDER = "page"
_STYLES = ("style.css",)
_SCRIPTS = (
    "state.js",
    "statistics.js",
    "tables.js",
    "svg.js",
    "figures.js",
    "curves.js",
    "print.js",
    "main.js",
)


def to_html(page: Page) -> str:
    """The page as HTML; whatever it is made of, names and labels are text.

    The browser is told to run and load nothing but what is in the file: the policy names the
    digests of its script and style.
    """
    pages = Environment(
        loader=PackageLoader("pllbench.reports.formats", _FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["breakable"] = _breakable
    style, script = (_joined(pages, names) for names in (_STYLES, _SCRIPTS))
    dumps = partial(json.dumps, separators=(",", ":"))
    return pages.get_template("report.html.j2").render(
        page=page,
        leaderboard_links={(i, 0): f"#{line.anchor}" for i, line in enumerate(page.lines)},
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'",
        data=htmlsafe_json_dumps(page.figures, dumps=dumps),
    )


def _breakable(text: str) -> Markup:
    """Text that may go on in a new line after a comma between two options."""
    return Markup("<wbr>").join(re.split(r"(?<=,)(?=[^\W\d])", text))


def _joined(pages: Environment, names: tuple[str, ...]) -> str:
    """The text of some files, as it stands: no template."""
    assert pages.loader is not None
    return "\n".join(pages.loader.get_source(pages, name)[0] for name in names)


def _digest(text: str) -> str:
    """How a policy names the element of this text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
