"""From a cell of a grid and the settings that apply to it to the specification of a run."""

from collections.abc import Sequence

from pydantic import ValidationError

from pllbench.catalogue import DATASETS
from pllbench.own import OwnData
from pllbench.protocol import Cell, Overrides, default_protocol, merge
from pllbench.registry import load_method
from pllbench.spec import (
    FITTED,
    CandidateSpec,
    RunSpec,
    TrainSpec,
    ViewSpec,
    one_line,
    require_keys,
)
from pllbench.spec import takes_rate as process_takes_rate


def resolve(
    cell: Cell, seed: int, settings: Sequence[Overrides], own: OwnData | None = None
) -> RunSpec:
    """The run of `cell` at `seed`, with `settings` applied in order.

    Args:
        cell: what it is a run of.
        seed: of the run.
        settings: later ones win.
        own: the user's own data, where it is on any.

    Raises:
        ValueError: a value does not fit its field.
    """
    cls = load_method(cell.base)
    merged = merge(settings)
    where = f"{cell.name} on {cell.dataset}"
    require_keys(merged.hparams, cls.hparams_type, f"{where}: hparams")
    try:
        hparams = cls.hparams_type.parse(merged.hparams)
        train = TrainSpec.parse(merged.train)
        candidates = None
        if cls.labels != "true":
            info = own.info if own else DATASETS[cell.dataset]
            candidates = None if info.real_candidates else candidate_spec(merged, cell.q)
        spec = RunSpec(
            method=cell.base,
            version=cls.version,
            hparams=hparams.model_dump(mode="json"),
            changed=tuple(sorted(hparams.model_dump(exclude_defaults=True))),
            labels=cls.labels,
            gradient=cls.gradient,
            dataset=cell.dataset,
            digest=own.digest if own else None,
            kind=cell.own_kind,
            candidates=candidates,
            seed=seed,
            data_seed=merged.data_seed,
            holdout=merged.holdout or 0.0,
            train=train if cls.gradient else FITTED,
            views=ViewSpec.parse(merged.views),
        )
    except ValidationError as error:
        raise ValueError(one_line(error, where, RunSpec)) from error
    if candidates is None or candidates.process != "instance":
        return spec
    return spec.model_copy(update={"annotator": annotator_run(spec, 0).run_id})


def annotator_run(spec: RunSpec, seed: int) -> RunSpec:
    """The run of the annotator that a run with instance-dependent candidate sets asks for.

    Raises:
        ValueError: the annotator is unknown, or learns from candidate sets.
    """
    assert spec.candidates is not None
    name, protocol = spec.candidates.annotator, default_protocol()
    variant = protocol.variants.get(name)
    base = variant.base if variant else name
    if load_method(base).labels != "true":
        raise ValueError(
            f"annotator {name!r} learns from candidate sets, it must learn from labels"
        )
    cell = Cell(name, base, spec.dataset, None, spec.kind)
    asked = Overrides(
        train={
            "network": spec.candidates.annotator_network,
            "epochs": spec.candidates.annotator_epochs,
        }
    )
    run = resolve(cell, seed, [*protocol.settings_of(cell), asked])
    return run.model_copy(update={"digest": spec.digest})


def candidate_spec(settings: Overrides, q: float | None) -> CandidateSpec:
    """The candidate process of resolved settings at rate `q`, which it may not take.

    Raises:
        ValueError: a value does not fit its field, or the process not its options.
    """
    fields = {"process": "uniform"} | settings.candidates
    if takes_rate(settings):
        return CandidateSpec.parse(fields | {"q": q})
    return CandidateSpec.parse(fields)


def takes_rate(settings: Overrides) -> bool:
    """Whether q means anything to the candidate process of these settings."""
    given = settings.candidates
    return process_takes_rate(given.get("process", "uniform"), given.get("rule", "mean_rate"))
