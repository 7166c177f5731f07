"""The spaces in which settings are searched, as tables."""

from collections.abc import Iterator, Mapping

from pllbench.tuning.space import SHARED, Range, own_space, shared_space, spaces_folder
from tools.site.markdown import code, table
from tools.site.protocol import written


def spaces(which: str) -> str:
    """The `shared` space, or the `own` spaces of methods; those without a range in a last row."""
    if which == SHARED:
        heads = ("setting", "where", "trial 0", "source")
        found = shared_space().train
        return table(
            heads, ((code(k), where(r), code(r.default), r.source) for k, r in found.items())
        )
    names = sorted(path.stem for path in spaces_folder().glob("*.toml") if path.stem != SHARED)
    own = {name: own_space(name).hparams for name in names}
    empty = ", ".join(code(name) for name, ranges in own.items() if not ranges)
    return table(
        ("method", "hyperparameter", "where", "source"),
        [*_own_rows(own), (empty, "none", "", "Their papers have none.")],
    )


def _own_rows(own: Mapping[str, Mapping[str, Range]]) -> Iterator[tuple[str, str, str, str]]:
    for name, ranges in own.items():
        for key, found in ranges.items():
            yield code(name), code(key), where(found), found.source


def where(found: Range) -> str:
    """A range, and the kinds of data that it is for, in words."""
    if found.values:
        text = ", ".join(code(written(value)) for value in found.values)
    else:
        text = f"{found.low:g} to {found.high:g}{', orders of magnitude' if found.log else ''}"
    return f"{text} ({' and '.join(found.kinds)} data)" if found.kinds else text
