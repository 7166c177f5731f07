"""Fonts for the letters of a figure: the default one has no Chinese, Japanese or Korean."""

from pathlib import Path

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text

DEFAULT = "DejaVu Sans"
"""The font of all figures; matplotlib brings it along."""

MISSING_GLYPH = r"Glyph \d+ .*missing from"
"""Begin of matplotlib's warning for each letter that is drawn as a box."""

_LAST_CHOICE = ("bold", "black", "light", "thin", "italic", "oblique", "serif", "mono")
"""Words in the name of a font's file that are taken only where no other font has the letters."""


def choose_fonts(figure: Figure) -> str:
    """Set what the default font lacks in fonts of this machine.

    Call it when all texts are there.

    Returns:
        Letters that no font here has, in order; they are drawn as boxes.
    """
    texts = figure.findobj(Text)
    lacking = {letter for text in texts for letter in text.get_text() if not letter.isspace()}
    lacking -= _letters(font_manager.findfont(DEFAULT))
    families = [DEFAULT]
    # Not the fonts that matplotlib has listed: its list is as old as its cache.
    for path in sorted(font_manager.findSystemFonts(), key=_order) if lacking else ():
        found = lacking & _letters(path)
        if found:
            font_manager.fontManager.addfont(path)
            families.append(font_manager.get_font(path).family_name)
            lacking -= found
        if not lacking:
            break
    for text in texts if len(families) > 1 else ():
        text.set_fontfamily(families)
    return "".join(sorted(lacking))


def _letters(path: str) -> set[str]:
    """Letters that a font has; none where its file cannot be read."""
    try:
        return set(map(chr, font_manager.get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return set()


def _order(path: str) -> tuple[int, str]:
    name = Path(path).name.lower()
    return sum(word in name for word in _LAST_CHOICE), path
