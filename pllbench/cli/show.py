"""`pllbench show`."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pllbench.cli.selection import Json, ResultsDirs

if TYPE_CHECKING:
    from pllbench.results.lookup import StoredRun, UnfinishedRun
    from pllbench.results.records import Record
    from pllbench.spec import RunSpec

SPARKS = "▁▂▃▄▅▆▇█"
"""From the lowest to the highest value of a curve."""

SPARK_WIDTH = 32
"""Characters of a curve at most; each stands for equally many epochs."""


def show(
    run: Annotated[str, typer.Argument(help="A run id, its beginning, or the path of a record.")],
    results: ResultsDirs = [Path("results")],
    as_json: Json = False,
) -> None:
    """Show a run: specification, result, provenance, curves; of a failed one its traceback."""
    from pllbench import api
    from pllbench.cli import console
    from pllbench.results.lookup import UnfinishedRun

    found = api.show(run, *results)
    if as_json:
        console.write(json.dumps(_facts(found), indent=1) + "\n")
    elif isinstance(found, UnfinishedRun):
        _show_unfinished(found)
    else:
        _show_stored(found)


def _facts(found: "StoredRun | UnfinishedRun") -> dict[str, Any]:
    """What --json prints; epochs without a value are null."""
    from pllbench.results.lookup import UnfinishedRun

    if isinstance(found, UnfinishedRun):
        spec = found.spec and found.spec.model_dump(mode="json")
        return {
            "run_id": found.path.name,
            "path": str(found.path),
            "title": found.title,
            "state": found.state,
            "error": found.error,
            "spec": spec,
        }
    record = found.record
    curves = {
        name: [None if math.isnan(value) else value for value in column.tolist()]
        for name, column in found.curves.items()
    }
    return {
        "run_id": record.run_id,
        "path": str(found.path),
        "title": _title(record),
        "state": "done",
        **record.model_dump(mode="json", include={"spec", "result", "provenance"}),
        "class_accuracy": found.class_accuracy,
        "curves": curves,
        "others": [str(path) for path in found.others],
    }


def _title(record: "Record") -> str:
    from pllbench.grid.labels import row_label, run_title
    from pllbench.grid.protocol import default_protocol

    return run_title(row_label(record.spec, default_protocol()).label, record.spec)


def _show_unfinished(found: "UnfinishedRun") -> None:
    from pllbench.cli import console

    state = "stopped" if found.state == "missing" else found.state
    console.write(f"{found.title}\n{found.path}: {state}\n")
    if found.spec:
        _show_section("spec", _spec_facts(found.spec))
    if found.error:
        console.write(f"\n{found.error}\n")


def _show_stored(found: "StoredRun") -> None:
    from pllbench.cli import console
    from pllbench.results.kept import record_files

    record = found.record
    console.write(f"{_title(record)}\n")
    for path in record_files(found.path):
        console.write(f"{path}\n")
    for other in found.others:
        console.write(f"another outcome: {other}\n")
    _show_section("spec", _spec_facts(record.spec))
    _show_section("result", dict(_result_facts(record)))
    shares = found.class_accuracy.items()
    if known := {name: f"{share:.2%}" for name, share in shares if share is not None}:
        _show_section("test accuracy by class, last epoch", known)
    provenance = record.provenance.model_dump(mode="json")
    _show_section("provenance", {key: value for key, value in provenance.items() if value})
    console.write("\ncurves\n")
    console.show_columns(
        [_curve_row(name, column.tolist()) for name, column in found.curves.items()]
    )


def _show_section(title: str, facts: Mapping[str, object]) -> None:
    from pllbench.cli import console

    console.write(f"\n{title}\n")
    console.show_facts({key: _in_words(value) for key, value in facts.items()})


def _in_words(value: object) -> object:
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key}={_short(inner)}" for key, inner in value.items() if inner is not None
        )
    return value


def _short(value: object) -> object:
    """A number as it is read."""
    return f"{value:.6g}" if isinstance(value, float) else value


def _spec_facts(spec: "RunSpec") -> dict[str, object]:
    facts: dict[str, object] = {
        "method": f"{spec.method}, version {spec.version}",
        "changed": ", ".join(spec.changed) or "no hyperparameter",
        "data": spec.dataset + (f", digest {spec.digest}" if spec.digest else ""),
        "seed": spec.seed,
    }
    if spec.data_seed is not None:
        facts["data seed"] = spec.data_seed
    return facts | dict(settings_of(spec))


def settings_of(spec: "RunSpec") -> dict[str, Mapping[str, object]]:
    """The settings of a run by what owns them, without those that are at "none"."""
    parts: dict[str, Mapping[str, object]] = {"hparams": spec.hparams}
    if spec.gradient:
        parts["train"] = spec.train.model_dump(mode="json")
    parts["views"] = spec.views.model_dump(mode="json")
    if spec.candidates:
        parts["candidates"] = spec.candidates.read
    if spec.annotations:
        parts["annotations"] = {"rule": spec.annotations}
    if spec.pruning:
        parts["pruning"] = spec.pruning.model_dump(exclude_none=True)
    if spec.imbalance != 1:
        parts["training rows"] = {"imbalance": f"{spec.imbalance:g}"}
    if spec.folds:
        parts["split"] = {"folds": spec.folds}
    if spec.holdout:
        parts["holdout"] = {"share": spec.holdout}
    return parts


def _result_facts(record: "Record") -> Iterator[tuple[str, object]]:
    """Accuracies in percent, each with the epoch that its rule chose; then the rest."""
    result = record.result
    for rule, accuracy in result.accuracy.items():
        chosen = f" (epoch {result.epoch[rule]})" if rule in result.epoch else ""
        yield f"accuracy, {rule}", f"{accuracy:.2%}{chosen}"
    for metric, values in (*result.class_accuracy.items(), *result.criteria.items()):
        yield metric, {rule: f"{value:.2%}" for rule, value in values.items()}
    for name, value in result.extra.items():
        yield f"head {name}", f"{value:.2%}"
    for name in ("class_noise", "pairwise_noise"):
        if (rate := getattr(result, name)) is not None:
            yield name, f"{rate:.2%}"
    rows = {"training": result.num_train, "test": result.num_test, "hold-out": result.num_holdout}
    yield "rows", rows


def _curve_row(name: str, column: Sequence[float]) -> dict[str, object]:
    known = [value for value in column if not math.isnan(value)]
    first, last = (f"{known[0]:.4g}", f"{known[-1]:.4g}") if known else ("", "")
    return {"quantity": name, "first": first, "last": last, "over epochs": sparkline(column)}


def sparkline(column: Sequence[float]) -> str:
    """A curve in one line of at most `SPARK_WIDTH` characters; blank where there is no value."""
    width = min(SPARK_WIDTH, len(column))
    parts = [
        column[i * len(column) // width : (i + 1) * len(column) // width] for i in range(width)
    ]
    means = [_mean(part) for part in parts]
    known = [mean for mean in means if not math.isnan(mean)]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    steps = (len(SPARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(" " if math.isnan(m) else SPARKS[round((m - low) * steps)] for m in means)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
