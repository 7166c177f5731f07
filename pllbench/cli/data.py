"""`pllbench data`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from pllbench.cli.parsing import candidate_setting
from pllbench.cli.selection import DataDir, Json
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.custom import find_dataset
from pllbench.grid.protocol import DEFAULT_RATES, default_protocol
from pllbench.grid.resolve import candidate_spec
from pllbench.spec import CandidateSpec
from pllbench.validation import FieldError, one_line


def data(
    name: Annotated[str, typer.Argument(help="A data set, or the path of your own.")],
    q: Annotated[float | None, typer.Option("--q", help="Noise rate.", min=0, max=1)] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    candidates: Annotated[
        str, typer.Option("--candidates", help="PROCESS, or PROCESS:key=value,...")
    ] = "uniform",
    data_dir: DataDir = Path("data"),
    as_json: Json = False,
) -> None:
    """Audit a data set, its split at a seed, and the candidate sets of its training rows."""
    from pllbench.cli import console
    from pllbench.data.audit import audit_dataset

    info = find_dataset(name)
    facts = audit_dataset(info, data_dir, _process(info, candidates, q), seed)
    if as_json:
        console.write(json.dumps(facts, indent=1) + "\n")
    else:
        console.show_facts(facts)


def _process(info: DatasetInfo, text: str, q: float | None) -> CandidateSpec | None:
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
    setting = candidate_setting(text)
    rate = default_protocol().q.get(info.name, DEFAULT_RATES)[0] if q is None else q
    try:
        spec = candidate_spec(setting, rate)
    except ValidationError as error:
        where = f"{setting.reason}, q = {rate:g}"
        raise ValueError(one_line(error, where, CandidateSpec)) from error
    if q is not None and spec.q is None:
        raise FieldError("q", f"process {spec.process} takes no rate", given)
    return spec
