"""Facts about a data set and the candidate sets that a run would train on."""

from pathlib import Path

from pllbench.candidates import audit as candidate_sets
from pllbench.cli.selection import candidate_spec
from pllbench.data import dataset as datasets
from pllbench.data.catalogue import DATASETS
from pllbench.data.custom import inspect, is_path
from pllbench.grid.protocol import DEFAULT_RATES, default_protocol
from pllbench.spec import PROCESS_OPTIONS


def audit_dataset(
    name: str, data_dir: Path, process: str, q: float | None, seed: int
) -> dict[str, object]:
    """Facts by name: of the data set, its split at `seed`, and the training rows' candidate sets.

    Args:
        name: data set, or the path of the user's own data.
        data_dir: folder of the data sets.
        process: as --candidates takes it; for data sets whose sets are generated.
        q: noise rate; the first of the protocol where None.
        seed: of split and candidate sets.

    Raises:
        ValueError: unknown data set, missing or malformed file, or a q for real candidate sets.
    """
    own = inspect(Path(name)) if is_path(name) else None
    dataset = datasets.load(own or name, data_dir, noisy=True)
    info = own.info if own else DATASETS[name]
    facts: dict[str, object] = datasets.describe(dataset, seed).model_dump(mode="json")
    train, _ = datasets.split(dataset, seed)
    y = dataset.y[train].numpy()
    if dataset.candidates is not None:
        if q is not None:
            raise ValueError(f"--q {q:g}: {name} has real candidate sets")
        sets, facts["candidates"] = dataset.candidates[train].numpy(), "real"
    else:
        spec = candidate_spec(process, _first_rate(name) if q is None else q)
        if q is not None and spec.q is None:
            raise ValueError(f"--q {q:g}: process {spec.process} takes no rate")
        if spec.process == "instance":
            raise ValueError(
                "process instance needs an annotator, which `run` trains: the audit of its sets "
                "stands in the records"
            )
        read = ("process", "q", *PROCESS_OPTIONS[spec.process])
        facts["candidates"] = ", ".join(f"{key}={getattr(spec, key)}" for key in read)
        sets = candidate_sets.generate(
            y, dataset.num_classes, spec, seed, superclasses=info.superclasses
        )
    audit = candidate_sets.audit(sets, y).model_dump(mode="json")
    renamed = {"num_rows": "candidate_rows", "digest": "candidate_digest"}
    audit.pop("num_classes")
    kinds: dict[str, object] = {"kind": info.kind}
    if own:
        facts["digest"] = own.digest
    return kinds | facts | {renamed.get(k, f"candidates_{k}"): v for k, v in audit.items()}


def _first_rate(name: str) -> float:
    return default_protocol().q.get(name, DEFAULT_RATES)[0]
