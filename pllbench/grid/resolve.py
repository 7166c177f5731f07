"""From a cell of a grid and the settings that apply to it to the specification of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import JsonValue, ValidationError

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.custom import content_digest
from pllbench.grid.declared import declared
from pllbench.grid.protocol import GridCell, Overrides, default_protocol, merge
from pllbench.registry import find_method, is_given
from pllbench.source import class_digest
from pllbench.spec import (
    FITTED,
    CandidateSpec,
    Kind,
    PruningSpec,
    RunSpec,
    TrainSpec,
    ViewSpec,
    takes_rate,
    unread_settings,
)
from pllbench.validation import one_line

ANNOTATOR_OF_ROWS = Overrides(candidates={"annotator_network": "mlp"})
"""Of tables and text, whose rows the network that annotates images does not take."""


def resolve(cell: GridCell, settings: Sequence[Overrides], info: DatasetInfo) -> RunSpec:
    """The run of a cell at seed 0, with `settings` applied in order: later ones win.

    Raises:
        ValueError: a value does not fit its field.
    """
    merged = merge(settings, info.kind)
    if merged.candidates.get("process") == "instance" and info.kind in ("tabular", "text"):
        merged = merge([ANNOTATOR_OF_ROWS, *settings], info.kind)
    where = f"{cell.name} on {cell.dataset}"
    method = declared(cell.base, merged.hparams, where)
    weak = method.labels != "true"
    generated = weak and not info.real_candidates
    try:
        train = TrainSpec.parse(merged.train)
        candidates = candidate_spec(merged, cell.q, info) if generated else None
        spec = RunSpec(
            method=cell.base,
            version=method.version,
            source=class_digest(find_method(cell.base)) if is_given(cell.base) else None,
            hparams=method.hparams,
            changed=method.changed,
            labels=method.labels,
            gradient=method.gradient,
            dataset=cell.dataset,
            digest=info.digest,
            kind=info.kind if info.path else None,
            candidates=candidates,
            annotations=(merged.annotations or "union") if weak and info.annotated else None,
            pruning=pruning_spec(merged, info) if weak and merged.pruning else None,
            imbalance=cell.imbalance,
            seed=0,
            data_seed=merged.data_seed,
            folds=merged.folds,
            holdout=merged.holdout or 0.0,
            tuning=merged.tuning,
            train=train if method.gradient else FITTED,
            views=ViewSpec.parse(merged.views),
        )
    except ValidationError as error:
        raise ValueError(one_line(error, where, RunSpec)) from error
    if candidates is None or candidates.process != "instance":
        return spec
    return spec.model_copy(update={"annotator": annotator_run(spec, info).run_id})


def with_settings(
    spec: RunSpec,
    kind: Kind,
    *,
    train: Mapping[str, JsonValue],
    hparams: Mapping[str, JsonValue],
) -> RunSpec:
    """A run with other train settings and hyperparameters, for what it reads on data of a kind.

    Raises:
        ValueError: a value does not fit its field.
    """
    cls = find_method(spec.method)
    settings = {**spec.train.model_dump(mode="json"), **train}
    unread = unread_settings(kind, settings, spec.views.model_dump())
    try:
        found = cls.hparams_type.parse({**spec.hparams, **hparams})
        kept = TrainSpec.parse({k: v for k, v in settings.items() if k not in unread})
    except ValidationError as error:
        raise ValueError(one_line(error, f"{spec.method} on {spec.dataset}")) from error
    return spec.model_copy(
        update={
            "hparams": found.model_dump(mode="json"),
            "changed": tuple(sorted(found.model_dump(exclude_defaults=True))),
            "train": kept if spec.gradient else FITTED,
        }
    )


def annotator_run(spec: RunSpec, info: DatasetInfo, seed: int = 0) -> RunSpec:
    """The run of the annotator that a run with instance-dependent candidate sets asks for.

    Raises:
        ValueError: the annotator is unknown, or learns from candidate sets.
    """
    assert spec.candidates is not None
    name, protocol = spec.candidates.annotator, default_protocol()
    variant = protocol.variants.get(name)
    base = variant.base if variant else name
    if declared(base, {}, name).labels != "true":
        raise ValueError(
            f"annotator {name!r} learns from candidate sets, it must learn from labels"
        )
    cell = GridCell(name, base, info.name, info.kind, q=None, imbalance=spec.imbalance)
    asked = Overrides(
        train={
            "network": spec.candidates.annotator_network,
            "epochs": spec.candidates.annotator_epochs,
        },
        folds=spec.folds,
    )
    run = resolve(cell, [*protocol.applicable_settings(cell), asked], info)
    return run.model_copy(update={"seed": seed})


def pruning_spec(settings: Overrides, info: DatasetInfo) -> PruningSpec:
    """The pruning of resolved settings, with the digest of the features of `info`.

    Raises:
        pydantic.ValidationError: a value is missing, or does not fit its field.
    """
    fields = settings.pruning
    if info.features:
        fields = fields | {"features": info.features_digest}
    return PruningSpec.parse(fields)


def with_features(info: DatasetInfo, settings: Overrides) -> DatasetInfo:
    """The data set, with the file of features that its pruning names, if any.

    Raises:
        ValueError: there is no such file.
    """
    file = settings.pruning.get("features")
    if file is None:
        return info
    path = Path(str(file))
    if not path.is_file():
        raise ValueError(f"pruning: features {path}: no such file")
    stat = path.stat()
    digest = _features_digest(path, stat.st_size, stat.st_mtime_ns)
    return replace(info, features=path, features_digest=digest)


@cache  # for every cell of a grid
def _features_digest(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 - keys
    return content_digest(path)


def candidate_spec(settings: Overrides, q: float | None, info: DatasetInfo) -> CandidateSpec:
    """The candidate process of resolved settings at rate `q`, which it may not take.

    Raises:
        pydantic.ValidationError: a value does not fit its field, or the process not its options.
        ValueError: the name of the data set means another process.
    """
    fields = {"process": info.process or "uniform"} | settings.candidates
    if info.process and fields["process"] != info.process:
        raise ValueError(
            f"{info.name}: its candidate sets are those of process {info.process}, not "
            f"{fields['process']}"
        )
    if takes_rate(fields):
        return CandidateSpec.parse(fields | {"q": q})
    return CandidateSpec.parse(fields)
