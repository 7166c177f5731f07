"""`pllbench data`."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.cli.parsing import (
    annotation_setting,
    candidate_setting,
    imbalance_ratio,
    pruning_setting,
)
from pllbench.cli.selection import DataDir, Json, Output
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.custom import find_dataset
from pllbench.data.frames import CSV_TEMPLATE
from pllbench.grid.protocol import DEFAULT_RATES, default_protocol
from pllbench.grid.resolve import candidate_spec, pruning_spec, with_features
from pllbench.spec import CandidateSpec
from pllbench.validation import FieldError, one_line


def data(
    name: Annotated[
        str | None, typer.Argument(help="A data set, or the path of your own.", show_default=False)
    ] = None,
    q: Annotated[float | None, typer.Option("--q", help="Noise rate.", min=0, max=1)] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of split and candidate sets.", min=0)] = 0,
    candidates: Annotated[
        str | None, typer.Option("--candidates", help="PROCESS, or PROCESS:key=value,...")
    ] = None,
    imbalance: Annotated[
        str | None, typer.Option("--imbalance", help="Long-tailed training rows: 100")
    ] = None,
    annotations: Annotated[
        str | None, typer.Option("--annotations", help="union, votes=2, top=3 or draws=3")
    ] = None,
    prune: Annotated[
        str | None, typer.Option("--prune", help="tau=0.6,k=150[,features=FILE]")
    ] = None,
    template: Annotated[
        Literal["csv"] | None,
        typer.Option("--template", help="Instead: write an example of such a file of your own."),
    ] = None,
    output: Output = None,
    data_dir: DataDir = Path("data"),
    as_json: Json = False,
) -> None:
    """Audit a data set, its split at a seed, and the candidate sets of its training rows."""
    from pllbench.cli import console
    from pllbench.data.audit import audit_dataset

    if template is not None:
        if name is not None:
            raise FieldError("template", f"an example, so without the data set {name}", template)
        if output is not None and output.exists():
            raise FieldError("output", "is there already: name another file", output)
        console.write(CSV_TEMPLATE, output)
        return
    if output is not None:
        raise FieldError("output", "only with --template", output)
    if name is None:
        raise ValueError("data: name a data set, or the path of your own")
    info, pruning = find_dataset(name), None
    if prune is not None:
        setting = pruning_setting(prune)
        info = with_features(info, setting)
        pruning = pruning_spec(setting, info)
    process, rule = _process(info, candidates, q), _rule(info, annotations)
    sets = SetsSpec(process, rule, pruning, _ratio(info, imbalance))
    facts = audit_dataset(info, data_dir, sets, seed)
    if as_json:
        console.write(json.dumps(facts, indent=1) + "\n")
    else:
        console.show_facts(facts)


def _rule(info: DatasetInfo, text: str | None) -> str | None:
    """The rule of --annotations, else `union`; None where there are no annotators' labels."""
    if text is None:
        return "union" if info.annotated else None
    if not info.annotated:
        raise FieldError("annotations", f"{info.name} does not come with annotators' labels", text)
    return annotation_setting(text).annotations


def _ratio(info: DatasetInfo, text: str | None) -> float:
    """The ratio of --imbalance, 1 where it is None."""
    if text is None:
        return 1.0
    if info.real_candidates:
        raise FieldError("imbalance", f"{info.name} has real candidate sets", text)
    return imbalance_ratio(text)


def _process(info: DatasetInfo, text: str | None, q: float | None) -> CandidateSpec | None:
    """The process of --candidates at the rate `q`, the first of the protocol where it is None.

    None where candidate sets come with the data.

    Raises:
        ValueError: the process is not possible, or takes no rate.
    """
    given = None if q is None else f"{q:g}"
    if info.real_candidates:
        if q is not None:
            raise FieldError("q", f"{info.name} has real candidate sets", given)
        return None
    setting = candidate_setting(text or info.process or "uniform")
    rate = default_protocol().q.get(info.name, DEFAULT_RATES)[0] if q is None else q
    try:
        spec = candidate_spec(setting, rate, info)
    except ValidationError as error:
        where = f"{setting.reason}, q = {rate:g}"
        raise ValueError(one_line(error, where, CandidateSpec)) from error
    if q is not None and spec.q is None:
        raise FieldError("q", f"process {spec.process} takes no rate", given)
    return spec
