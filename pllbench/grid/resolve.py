"""From a cell of a grid and the settings that apply to it to the specification of its runs."""

from collections.abc import Sequence

from pydantic import ValidationError

from pllbench.data.catalogue import DatasetInfo
from pllbench.grid.protocol import GridCell, Overrides, default_protocol, merge
from pllbench.registry import find_method
from pllbench.spec import CandidateSpec, RunSpec, TrainSpec, ViewSpec, takes_rate
from pllbench.validation import one_line, require_keys

ANNOTATOR_OF_ROWS = Overrides(candidates={"annotator_network": "mlp"})
"""Of tables and text, whose rows the network that annotates images does not take."""


def resolve(cell: GridCell, settings: Sequence[Overrides], info: DatasetInfo) -> RunSpec:
    """The run of a cell at seed 0, with `settings` applied in order: later ones win.

    Raises:
        ValueError: a value does not fit its field.
    """
    cls = find_method(cell.base)
    merged = merge(settings)
    if merged.candidates.get("process") == "instance" and cell.kind in ("tabular", "text"):
        merged = merge([ANNOTATOR_OF_ROWS, *settings])
    where = f"{cell.name} on {cell.dataset}"
    require_keys(merged.hparams, cls.hparams_type, f"{where}: hparams")
    generated = cls.labels != "true" and not info.real_candidates
    try:
        hparams = cls.hparams_type.parse(merged.hparams)
        candidates = candidate_spec(merged, cell.q) if generated else None
        spec = RunSpec(
            method=cell.base,
            version=cls.version,
            hparams=hparams.model_dump(mode="json"),
            changed=tuple(sorted(hparams.model_dump(exclude_defaults=True))),
            labels=cls.labels,
            dataset=cell.dataset,
            digest=info.digest,
            kind=info.kind if info.path else None,
            candidates=candidates,
            seed=0,
            data_seed=merged.data_seed,
            holdout=merged.holdout or 0.0,
            train=TrainSpec.parse(merged.train),
            views=ViewSpec.parse(merged.views),
        )
    except ValidationError as error:
        raise ValueError(one_line(error, where, RunSpec)) from error
    if candidates is None or candidates.process != "instance":
        return spec
    return spec.model_copy(update={"annotator": annotator_run(spec, info).run_id})


def annotator_run(spec: RunSpec, info: DatasetInfo, seed: int = 0) -> RunSpec:
    """The run of the annotator that a run with instance-dependent candidate sets asks for.

    Raises:
        ValueError: the annotator is unknown, or learns from candidate sets.
    """
    assert spec.candidates is not None
    name, protocol = spec.candidates.annotator, default_protocol()
    variant = protocol.variants.get(name)
    base = variant.base if variant else name
    if find_method(base).labels != "true":
        raise ValueError(
            f"annotator {name!r} learns from candidate sets, it must learn from labels"
        )
    cell = GridCell(name, base, info.name, info.kind, q=None)
    asked = Overrides(
        train={
            "network": spec.candidates.annotator_network,
            "epochs": spec.candidates.annotator_epochs,
        }
    )
    run = resolve(cell, [*protocol.settings_of(cell), asked], info)
    return run.model_copy(update={"seed": seed})


def candidate_spec(settings: Overrides, q: float | None) -> CandidateSpec:
    """The candidate process of resolved settings at rate `q`, which it may not take.

    Raises:
        pydantic.ValidationError: a value does not fit its field, or the process not its options.
    """
    fields = {"process": "uniform"} | settings.candidates
    if takes_rate(settings.candidates):
        return CandidateSpec.parse(fields | {"q": q})
    return CandidateSpec.parse(fields)
