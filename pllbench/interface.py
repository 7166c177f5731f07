"""What Python users call: a grid from plain values to its results, and the results of folders."""

import os
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pllbench import api
from pllbench.api import Results
from pllbench.data.arrays import Arrays
from pllbench.data.custom import content_digest
from pllbench.grid.plan import plan
from pllbench.grid.request import DatasetLike, MethodLike, Values, make_selection
from pllbench.registry import MethodClass, MethodClasses, given_classes
from pllbench.results.files import write_atomic
from pllbench.source import can_be_imported
from pllbench.validation import FieldError

if TYPE_CHECKING:
    from pllbench.runner.engine import Engine
    from pllbench.runner.job import StalePolicy
    from pllbench.runner.progress import Observer


def run(
    methods: "MethodLike | Sequence[MethodLike]" = (),
    datasets: DatasetLike | Sequence[DatasetLike] = (),
    *,
    q: float | Sequence[float] = (),
    seeds: int | Sequence[int] = (),
    benchmark: str | Path | None = None,
    candidates: str | Values | None = None,
    imbalance: float | Sequence[float] = (),
    annotations: str | None = None,
    pruning: Values | None = None,
    epochs: int | None = None,
    network: str | None = None,
    holdout: float | None = None,
    hparams: Mapping[str, Values] | None = None,
    train: Values | None = None,
    views: Values | None = None,
    results: str | Path = "results",
    data_dir: str | Path | None = None,
    engine: "str | Engine" = "local",
    device: str = "auto",
    jobs: int | None = None,
    timeout: float | None = None,
    address: str | None = None,
    gpus_per_run: float | None = None,
    noisy_candidates: bool = False,
    checkpoint_every: int = 10,
    stale: "StalePolicy" = "refuse",
    progress: "bool | Observer" = True,
) -> "Results":
    """Execute the runs of a selection that have no record yet, and load them all.

    Args:
        methods: methods and variants by name; classes of methods without an entry point as they
            are, whose runs are identified by their source.
        datasets: data sets by name, own data by path, or `Arrays`; digits where there are none.
        q: noise rates; the protocol's where there are none.
        seeds: a number of seeds (3 is 0, 1, 2), or a list; 3 where there are none.
        benchmark: a benchmark of the suite by name, or a TOML file; the other parts change it.
        candidates: candidate process: its name, or `process` and its options.
        imbalance: ratios of the largest to the smallest class of long-tailed training rows.
        annotations: rule that makes sets of annotators' labels: `union`, `votes=2`, `top=3`.
        pruning: `tau`, `k` and `features` of the pruning of candidate sets.
        epochs: length of a run.
        network: network of all methods.
        holdout: share of training rows kept aside, with their candidate sets only.
        hparams: hyperparameters by method or variant, then by name.
        train: train settings by name.
        views: view settings by name.
        results: folder of the records.
        data_dir: folder of the data sets; $PLLBENCH_DATA, else `data`.
        engine: `local` for worker processes, `ray` for a cluster, `inline` for this thread, or an
            engine that is open.
        device: auto, cpu or cuda.
        jobs: runs at a time; one a core, 1 on a GPU, where it is not given.
        timeout: seconds after which a run fails.
        address: of the Ray cluster; $RAY_ADDRESS where it is not given.
        gpus_per_run: share of a GPU, on Ray.
        noisy_candidates: allow candidate sets without the true label.
        checkpoint_every: epochs between two checkpoints of a run.
        stale: what becomes of records of other defaults, source or data: refuse, rerun or keep.
        progress: True shows it (on a terminal, below a cell of a notebook, or as lines on standard
            error), False does not; or an `Observer` that is told.

    Returns:
        The records of the selection. Runs that have failed are a warning, and in `failed`.

    Raises:
        ValueError: before any run starts: the request is wrong, data are missing or malformed,
            settings do not fit them, the results folder is not writable, or a record is stale.
    """
    from pllbench.runner.display import choose_observer
    from pllbench.runner.engine import Engine
    from pllbench.runner.job import RunOptions
    from pllbench.runner.open_engine import EngineOptions, open_engine

    observer, folder = choose_observer(progress), Path(results)
    selection = make_selection(
        {
            "benchmark": benchmark,
            "methods": methods,
            "datasets": datasets,
            "q": q,
            "imbalance": imbalance,
            "seeds": seeds,
            "candidates": candidates,
            "annotations": annotations,
            "pruning": pruning,
            "epochs": epochs,
            "network": network,
            "holdout": holdout,
            "hparams": hparams,
            "train": train,
            "views": views,
        }
    )
    data = os.environ.get("PLLBENCH_DATA", "data") if data_dir is None else data_dir
    options = RunOptions(
        folder, Path(data), device, noisy_candidates, checkpoint_every=checkpoint_every, stale=stale
    )
    opened = (
        nullcontext(engine)
        if isinstance(engine, Engine)
        else open_engine(EngineOptions(engine, device, jobs, timeout, address, gpus_per_run))
    )
    with _stored(_arrays(datasets), folder) as paths, given_classes(selection.classes):
        names = (paths.get(name, name) for name in selection.datasets)
        selection = replace(selection, datasets=tuple(names))
        planned = plan(selection)
        with opened as executing:
            if not executing.in_process:
                options = replace(options, classes=_by_value(selection.classes))
            summary = api.run_planned(planned, executing, options, observer)
        found = _warned(api.load(folder)).of_plan(selection)
    if summary.failed:
        (first, reason), num = summary.failed[0], len({run.spec.run_id for run in planned})
        line = f"{len(summary.failed)} of {num} runs failed: {first.title}: {reason}"
        warnings.warn(line, stacklevel=2)
    return replace(found, summary=summary)


def load(*folders: str | Path) -> Results:
    """The records of results folders, read together; a file that does not count is a warning.

    Raises:
        FieldError: there is no such folder.
    """
    return _warned(api.load(*folders))


def _warned(results: Results) -> Results:
    for reason in results.uncounted:
        warnings.warn(f"not counted: {reason}", stacklevel=3)
    return results


def _arrays(datasets: object) -> list[Arrays]:
    given = [datasets] if isinstance(datasets, Arrays) else datasets
    return [one for one in given if isinstance(one, Arrays)] if isinstance(given, Sequence) else []


@contextmanager
def _stored(given: Sequence[Arrays], results: Path) -> Iterator[Mapping[str, str]]:
    """Paths of the files of arrays, by name; an error there names the data set, not its file."""
    paths: dict[str, str] = {}
    for arrays in given:
        content = arrays.content()
        digest = sha256(content).hexdigest()[:16]
        path = results / "work" / "arrays" / digest / f"{arrays.name}.npz"
        if not path.exists() or content_digest(path) != digest:
            write_atomic(path, content)
        if paths.setdefault(arrays.name, str(path)) != str(path):
            raise FieldError("datasets", "two have this name", arrays.name)
    try:
        yield paths
    except ValueError as error:
        message = str(error)
        for name, file in paths.items():
            message = message.replace(file, f"datasets {name}")
        if message == str(error):
            raise
        raise ValueError(message) from error


def _by_value(classes: MethodClasses) -> dict[str, bytes]:
    """Classes as other processes can make them, also without a module to import them from."""
    found: dict[str, bytes] = {}
    for name, cls in classes.items():
        try:
            found[name] = _pickled(cls)
        except Exception as error:  # a class may hold anything
            reason = f"cannot be sent to worker processes ({error}); engine='inline' needs not"
            raise FieldError("methods", reason, name) from error
    return found


_registered = threading.Lock()
"""One registers a module at a time: another would take it back too early."""


def _pickled(cls: MethodClass) -> bytes:
    import cloudpickle

    module = sys.modules.get(cls.__module__)
    if module is None or cls.__module__ == "__main__" or can_be_imported(cls.__module__):
        content: bytes = cloudpickle.dumps(cls)
        return content
    with _registered:  # a file that is run has a module that only this process knows
        cloudpickle.register_pickle_by_value(module)
        try:
            content = cloudpickle.dumps(cls)
        finally:
            cloudpickle.unregister_pickle_by_value(module)
    return content
