r"""Formulas between dollar signs as MathML, which browsers draw themselves: no script, no font.

A Markdown extension. `$...$` stands in a line, `$$...$$` by itself; `\$` is a dollar sign.
"""

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from math_core import LatexToMathML

_DISPLAYED = r"(?<!\\)\$\$(.+?)\$\$"
_INLINE = r"(?<![\\$])\$(?![\s$])(.+?)(?<![\s\\])\$(?!\d)"


class _Formulas(InlineProcessor):  # type: ignore[misc]  # Markdown is an extra
    """Replaces formulas of one kind."""

    def __init__(self, pattern: str, md: Markdown, *, displayed: bool) -> None:
        super().__init__(pattern, md)
        self.displayed = displayed
        self.converter = LatexToMathML()

    def handleMatch(self, match: re.Match[str], data: str) -> Any:  # noqa: N802, ARG002 - Markdown's
        """The formula, in a place where no other pattern touches it."""
        formula = self.converter.convert_with_local_state(match[1], displaystyle=self.displayed)
        if self.displayed:
            formula = f'<span class="formula">{formula}</span>'
        return self.md.htmlStash.store(formula), match.start(), match.end()


class _Mathml(Extension):  # type: ignore[misc]  # Markdown is an extra
    """Registers the patterns between those of code, which is left alone, and of escapes."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's
        """Called by Markdown."""
        md.ESCAPED_CHARS.append("$")
        md.inlinePatterns.register(_Formulas(_DISPLAYED, md, displayed=True), "displayed", 186)
        md.inlinePatterns.register(_Formulas(_INLINE, md, displayed=False), "formula", 185)


def makeExtension(**_: Any) -> Extension:  # noqa: N802 - Markdown's
    """Called by Markdown."""
    return _Mathml()
