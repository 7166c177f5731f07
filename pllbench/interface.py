"""What Python users call: a grid from plain values to its results, and the results of folders."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from pllbench import api
from pllbench.budget import Criterion
from pllbench.given import data_folder, opened, placed, with_classes
from pllbench.grid.plan import plan
from pllbench.grid.request import (
    DatasetLike,
    FurtherParts,
    MethodLike,
    Parts,
    Values,
    listed,
    make_selection,
)
from pllbench.reports.results import Results
from pllbench.results.kept import Kept, kinds_to_keep
from pllbench.validation import FieldError

if TYPE_CHECKING:
    from pllbench.runner.engine import Engine
    from pllbench.runner.job import StalePolicy
    from pllbench.runner.progress import Observer
    from pllbench.tuning.tune import Tuned


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
    folds: int | None = None,
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
    keep: Kept | Sequence[Kept] | None = None,
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
        folds: cross-validate: seed s tests on fold s of so many.
        holdout: share of training rows kept aside, with their candidate sets only.
        hparams: hyperparameters by method or variant, then by name.
        train: train settings by name.
        views: view settings by name.
        results: folder of the records.
        data_dir: folder of the data sets; $PLLBENCH_DATA, else `data`.
        engine: `local` for worker processes, `ray` for a cluster, `inline` for this thread, or an
            engine that is open.
        device: auto, cpu, cuda, or one of several GPUs as cuda:1.
        jobs: runs at a time; one a core, 1 on a GPU, where it is not given.
        timeout: seconds after which a run fails.
        address: of the Ray cluster; $RAY_ADDRESS where it is not given.
        gpus_per_run: share of a GPU, on Ray.
        noisy_candidates: allow candidate sets without the true label.
        checkpoint_every: epochs between two checkpoints of a run.
        stale: what becomes of records of other defaults, source or data: refuse, rerun or keep.
        keep: what is stored beside each record, and found by `Results.kept`: `predictions` of the
            test rows, the trained `model`.
        progress: True shows it (on a terminal, below a cell of a notebook, or as lines on standard
            error), False does not; or an `Observer` that is told.

    Returns:
        The records of the selection. Runs that have failed are a warning, and in `failed`; what
        else is special about the runs of this call is shown with the progress, and in `warnings`.

    Raises:
        ValueError: before any run starts: the request is wrong, data are missing or malformed,
            settings do not fit them, the results folder is not writable, or a record is stale.
    """
    from pllbench.runner.display import choose_observer
    from pllbench.runner.job import RunOptions
    from pllbench.runner.open_engine import EngineOptions

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
            "folds": folds,
            "holdout": holdout,
            "hparams": hparams,
            "train": train,
            "views": views,
        }
    )
    options = RunOptions(
        folder,
        data_folder(data_dir),
        device,
        noisy_candidates,
        checkpoint_every=checkpoint_every,
        stale=stale,
        keep=kinds_to_keep(listed(keep)),
    )
    where = EngineOptions("", device, jobs, timeout, address, gpus_per_run)
    with placed(selection, datasets, folder) as given:
        planned = plan(given)
        with opened(engine, where) as executing:
            options = with_classes(options, given, executing)
            summary = api.run_planned(planned, executing, options, observer)
        found = _warned(api.load(folder)).of_plan(given)
    if summary.failed:
        (first, reason), num = summary.failed[0], len({run.spec.run_id for run in planned})
        line = f"{len(summary.failed)} of {num} runs failed: {first.title}: {reason}"
        warnings.warn(line, stacklevel=2)
    return replace(found, summary=summary)


def tune(
    methods: "MethodLike | Sequence[MethodLike]" = (),
    datasets: DatasetLike | Sequence[DatasetLike] = (),
    *,
    trials: int | None = None,
    criterion: Criterion | None = None,
    seeds: Sequence[int] | None = None,
    holdout: float | None = None,
    halving: int | None = None,
    study: str | None = None,
    spaces: str | Path | None = None,
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
    **parts: Unpack[FurtherParts],
) -> "Tuned":
    """Search settings by candidate sets alone, alike for all methods; go on with a study.

    Args:
        methods: as in `run`.
        datasets: as in `run`; true labels are not needed.
        trials: of each method on each data set and q, those of earlier calls included; 20 where
            neither this nor the benchmark says a number.
        criterion: of the hold-out; covering_rate where nothing says it.
        seeds: of the trials, from 100 on; 100 where nothing says them.
        holdout: share of training rows kept aside in trials; 0.1 where nothing says it.
        halving: after a share of its epochs, one trial in so many goes on; 3 where nothing says it.
        study: its name; that of the benchmark, or `default`, where it is not given.
        spaces: a folder of spaces of your own.
        results: folder of the records; the study lies there, in `tuning/<study>`.
        data_dir: as in `run`.
        engine: as in `run`.
        device: as in `run`.
        jobs: as in `run`.
        timeout: as in `run`.
        address: as in `run`.
        gpus_per_run: as in `run`.
        noisy_candidates: as in `run`.
        checkpoint_every: as in `run`.
        stale: as in `run`, of the records of trials.
        progress: as in `run`; nothing of the test rows is shown.
        **parts: what else says which runs, as in `run`: `q`, `benchmark`, `epochs`, `train`, ...

    Returns:
        The study, a frame of its trials, and what it chooses. Runs that have failed, but for their
        settings, are a warning.

    Raises:
        ValueError: before any run starts: the request is wrong, or as in `run`.
    """
    from pllbench.runner.display import choose_observer
    from pllbench.runner.job import RunOptions
    from pllbench.runner.open_engine import EngineOptions

    observer, folder = choose_observer(progress), Path(results)
    asked: dict[str, object] = {"trials": trials, "criterion": criterion, "halving": halving}
    asked |= {"holdout": holdout, "seeds": seeds}
    asked = {name: value for name, value in asked.items() if value is not None}
    benchmark = parts.get("benchmark")
    name = study or (Path(str(benchmark)).stem if benchmark is not None else "default")
    own = None if spaces is None else Path(spaces)
    everything = {"methods": methods, "datasets": datasets, **parts}
    selection = make_selection(cast("Parts", everything))
    options = RunOptions(
        folder, data_folder(data_dir), device, noisy_candidates, checkpoint_every, stale
    )
    where = EngineOptions("", device, jobs, timeout, address, gpus_per_run)
    with placed(selection, datasets, folder) as given:
        wanted = api.tuning_plan(given, asked, name, own)
        with opened(engine, where) as executing:
            options = with_classes(options, given, executing)
            tuned = api.tune(wanted, executing, options, observer)
    if tuned.summary.failed:
        (first, reason), num = tuned.summary.failed[0], len(tuned.summary.failed)
        warnings.warn(f"{num} runs failed; {first.title}: {reason}", stacklevel=2)
    return tuned


def load(*folders: str | Path) -> Results:
    """The records of results folders, read together; a file that does not count is a warning.

    Raises:
        FieldError: none is named, or there is no such folder.
    """
    if not folders:
        raise FieldError("results", "name a folder of records, such as 'results'")
    return _warned(api.load(*folders))


def _warned(results: Results) -> Results:
    for reason in results.uncounted:
        warnings.warn(f"not counted: {reason}", stacklevel=3)
    return results
