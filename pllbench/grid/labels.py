"""Which row of a table a run belongs to, and what that row is called."""

from dataclasses import dataclass

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.data.catalogue import DATASETS
from pllbench.grid.protocol import GridCell, Protocol, merge
from pllbench.spec import FITTED, RunSpec, TrainSpec, ViewSpec
from pllbench.validation import StrictModel


@dataclass(frozen=True, slots=True)
class RowLabel:
    """The row of a table that a run belongs to.

    Attributes:
        name: the method or variant, as --methods takes it.
        label: printed: the method's or variant's label, and every difference from the protocol.
    """

    name: str
    label: str


def row_label(spec: RunSpec, protocol: Protocol) -> RowLabel:
    """The row of a stored run: the method or variant that it equals, else method and differences.

    Needs neither the method's class nor torch.
    """
    names = [spec.method, *(n for n, v in protocol.variants.items() if v.base == spec.method)]
    same = (name for name in names if not differences(spec, name, protocol))
    name = next(same, spec.method)
    return RowLabel(name, label(spec, name, protocol))


def stored_cell(spec: RunSpec, name: str) -> GridCell:
    """The cell that a stored run belongs to, as a run of the row `name`."""
    kind = spec.kind or DATASETS[spec.dataset].kind
    return GridCell(name, spec.method, spec.dataset, kind, spec.q)


def label(spec: RunSpec, name: str, protocol: Protocol) -> str:
    """The printed name of a method or variant, and what differs from its protocol in this run."""
    printed = printed_name(name, protocol)
    changes = ", ".join(differences(spec, name, protocol))
    found = tuning_suffix(spec)
    return f"{printed} ({changes}){found}" if changes else f"{printed}{found}"


def tuning_suffix(spec: RunSpec) -> str:
    """How a row's label ends where its settings were found by a search; else empty."""
    return f" ({spec.tuning.words})" if spec.tuning else ""


def run_title(printed: str, spec: RunSpec) -> str:
    """A run in words: printed row, data set, process unless plainly uniform, q and seed."""
    sets = SetsSpec.of(spec).words
    where = spec.dataset if sets in ("uniform", "") else f"{spec.dataset} {sets}"
    q = "" if spec.q is None else f" q={spec.q:g}"
    return f"{printed} · {where}{q} · seed {spec.seed}"


def printed_name(name: str, protocol: Protocol) -> str:
    """How a method or variant is printed."""
    variant = protocol.variants.get(name)
    return variant.label if variant else protocol.labels.get(name, name)


def differences(spec: RunSpec, name: str, protocol: Protocol) -> list[str]:
    """Every setting of a run that is not what the protocol resolves for `name`, as `key=value`.

    But for its candidate process and the options of that, which belong to the column, and for what
    a search has found, which differs between columns.
    """
    cell = stored_cell(spec, name)
    expected = merge(protocol.applicable_settings(cell), cell.kind)
    tuned_hparams, tuned_train = (
        (spec.tuning.hparams, spec.tuning.train) if spec.tuning else ((), ())
    )
    found = [
        f"{key}={value}"
        for key, value in spec.hparams.items()
        if (value != expected.hparams[key] if key in expected.hparams else key in spec.changed)
        and key not in tuned_hparams
    ]
    pairs: list[tuple[StrictModel, StrictModel]] = [
        (spec.train, TrainSpec.parse(expected.train) if spec.gradient else FITTED),
        (spec.views, ViewSpec.parse(expected.views)),
    ]
    for actual, wanted in pairs:
        found += [
            f"{key}={_value_text(value)}"
            for key, value in actual
            if value != getattr(wanted, key) and key not in tuned_train
        ]
    if spec.folds != expected.folds:
        found.append(f"folds={spec.folds}")
    if spec.holdout != (expected.holdout or 0.0):
        found.append(f"holdout={spec.holdout:g}")
    if spec.data_seed != expected.data_seed:
        found.append(f"data_seed={spec.data_seed}")
    return found


def settings_by_name(spec: RunSpec) -> dict[str, str]:
    """Every setting that a run reads, by its name, as `differences` writes it: `key=value`.

    Without its candidate process, which belongs to the column, and the data_seed, which says what
    the spread of a row is made of.
    """
    found = {key: f"{key}={value}" for key, value in spec.hparams.items()}
    for part in (spec.train, spec.views) if spec.gradient else (spec.views,):
        found |= {key: f"{key}={_value_text(value)}" for key, value in part}
    return found | {"folds": f"folds={spec.folds}", "holdout": f"holdout={spec.holdout:g}"}


def _value_text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
