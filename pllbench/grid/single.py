"""One run on data that are at hand: what `plan` does for grids, for a single method."""

from collections.abc import Mapping

from pydantic import JsonValue

from pllbench.data.catalogue import DatasetInfo
from pllbench.grid.protocol import GridCell, Setting, default_protocol, merge, unknown_row
from pllbench.grid.resolve import resolve
from pllbench.registry import load_method, method_entries
from pllbench.spec import Kind, RunSpec
from pllbench.validation import FieldError


def single_run(name: str, info: DatasetInfo, setting: Setting) -> RunSpec:
    """The run of a method or variant, at seed 0, on data whose candidate sets come with it.

    Args:
        name: the method or variant.
        info: its data.
        setting: what differs from the default protocol.

    Raises:
        FieldError: there is no such method, or it learns from true labels.
        ValueError: a setting does not fit its field, or the run does not read it.
    """
    protocol, methods = default_protocol(), method_entries()
    variant = protocol.variants.get(name)
    base = variant.base if variant else name
    if not isinstance(name, str):
        raise FieldError("method", "must be the name of a method or variant", name)
    if base not in methods:
        raise FieldError("method", unknown_row(name, protocol, {*methods, *protocol.variants}))
    if load_method(base).labels == "true":
        raise FieldError("method", "learns from true labels, not from candidate sets", name)
    cell = GridCell(name, base, info.name, info.kind, q=None)
    settings = protocol.applicable_settings(cell, further=(setting,))
    spec = resolve(cell, settings, info)
    read = merge(settings, info.kind)
    for owner, given, known in (
        ("train", setting.train, read.train if spec.gradient else {}),
        ("views", setting.views, read.views),
    ):
        _require_read(f"{name} on {info.kind} data: {owner}", given, known)
    return spec


def settings_read(spec: RunSpec, kind: Kind) -> dict[str, dict[str, JsonValue]]:
    """The settings that a run on data of a kind reads: `train`, `views` and `hparams`, by name."""
    train = spec.train.model_dump(mode="json") if spec.gradient else {}
    every = {"train": train, "views": spec.views.model_dump(mode="json"), "hparams": spec.hparams}
    read = merge([Setting.parse(every)], kind)
    return {"train": read.train, "views": read.views, "hparams": read.hparams}


def _require_read(where: str, given: Mapping[str, object], read: Mapping[str, object]) -> None:
    """Raise ValueError, naming the first, if some of the `given` settings are not `read`."""
    for key in sorted(given.keys() - read.keys()):
        raise ValueError(f"{where}: no run reads {key!r} here: leave it out")
