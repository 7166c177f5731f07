"""The default protocol and the declared defaults, as tables."""

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from pllbench.data.catalogue import DATASETS
from pllbench.grid.protocol import DEFAULT_RATES, Overrides, When, default_protocol
from pllbench.spec import CandidateSpec, TrainSpec, ViewSpec
from pllbench.validation import StrictModel
from tools.site.docstrings import field_docstrings
from tools.site.markdown import code, table

_SPECS: dict[str, type[StrictModel]] = {
    "train": TrainSpec,
    "views": ViewSpec,
    "candidates": CandidateSpec,
}


def rates() -> str:
    """Noise rates by data set, of those whose candidate sets are generated."""
    protocol = default_protocol()
    rows = [
        (DATASETS[name].title, code(name), ", ".join(f"{rate:g}" for rate in found))
        for name, found in protocol.q.items()
    ]
    rows.append(("any other", "", ", ".join(f"{rate:g}" for rate in DEFAULT_RATES)))
    return table(("data set", "name", "q"), rows)


def settings() -> str:
    """Every setting of the protocol: where it applies, what it changes, and why."""
    rows = [
        (_condition(setting.when), _changes(setting), setting.reason)
        for setting in default_protocol().setting
    ]
    return table(("where", "setting", "reason"), rows)


def variants() -> str:
    """Every variant: its row's label, what it changes, and why."""
    rows = []
    for name, variant in default_protocol().variants.items():
        changes = [_changes(variant)]
        changes += [f"{_condition(one.when)}: {_changes(one)}" for one in variant.setting]
        told = "; ".join(filter(None, changes)) or "nothing"
        rows.append((code(name), variant.label, code(variant.base), told, variant.reason))
    return table(("variant", "printed as", "of", "changes", "reason"), rows)


def defaults(owner: str) -> str:
    """The declared defaults of train, view or candidate settings.

    Raises:
        KeyError: no such owner.
    """
    model = _SPECS[owner]
    meanings = field_docstrings(model)
    rows = [
        (code(name), code(_default(field)), meanings[name])
        for name, field in model.model_fields.items()
    ]
    return table(("setting", "default", "meaning"), rows)


def _default(field: FieldInfo) -> str:
    return "" if field.is_required() or field.default is None else written(field.default)


def written(value: object) -> str:
    """A value as TOML writes it, but for the quotes of text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    return str(value)


def _condition(when: When) -> str:
    """Where a setting applies, in words."""
    parts = [
        f"{name} {' or '.join(code(value) for value in values)}"
        for name, values in (
            ("method", when.method),
            ("data set", when.dataset),
            ("kind", when.kind),
            ("q", tuple(f"{rate:g}" for rate in when.q)),
        )
        if values
    ]
    return ", ".join(parts) or "everywhere"


def _changes(overrides: Overrides) -> str:
    return ", ".join(_assignments(overrides))


def _assignments(overrides: Overrides) -> Iterator[str]:
    for options in (overrides.train, overrides.views, overrides.candidates, overrides.hparams):
        yield from (code(f"{key} = {written(value)}") for key, value in options.items())
    for name in ("holdout", "data_seed"):
        value = getattr(overrides, name)
        if value is not None:
            yield code(f"{name} = {value}")
