"""The annotator of instance-dependent candidate sets: an ordinary run on true labels, kept once.

N. Xu, C. Qiao, X. Geng, M.-L. Zhang: Instance-Dependent Partial Label Learning, NeurIPS 2021.

Published codes feed it raw pixels in training mode, or load pickled outputs that were never
published. Here it is a run like any other: normalised input, and evaluation mode for its scores.
Its run_id is part of the identity of the runs that use it, and their records state its accuracy.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import torch

from pllbench.candidates.processes import Logits
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.dataset import split
from pllbench.data.readers.base import Dataset, short_message
from pllbench.grid.resolve import annotator_run
from pllbench.registry import load_method
from pllbench.results.files import lock_file, quarantine, write_atomic
from pllbench.results.records import AnnotatorFacts
from pllbench.runner.origin import origin_id
from pllbench.source import source_digest
from pllbench.spec import RunSpec
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.evaluation import predictions
from pllbench.training.task import Task, make_task
from pllbench.training.trainer import Progress, train


@dataclass(frozen=True, slots=True)
class Annotation:
    """What an annotator says about the training rows.

    Attributes:
        logits: [N, C], in the order of the training rows.
        facts: which run it is, and its accuracy.
    """

    logits: Logits
    facts: AnnotatorFacts


def annotate(
    spec: RunSpec,
    dataset: Dataset,
    device: torch.device,
    folder: Path,
    on_epoch: Callable[[Progress], bool] = lambda _: True,
) -> Annotation:
    """Scores of the annotator of a run; it is trained where `folder` does not hold them yet.

    Its split and imbalance are those of the run, and so is its seed; where the training rows are
    fixed, one annotator of seed 0 serves all seeds.

    Args:
        spec: the run that the candidate sets are for.
        dataset: its data set.
        device: where the annotator is trained.
        folder: of all annotators, one file each; while it is trained others wait for its lock.
        on_epoch: called after every epoch of the annotator's training, always with epoch 0 of the
            run that waits for it; False asks to stop.

    Raises:
        ValueError: as `annotator_run`; or `folder` holds other scores than of this data set.
        Interrupted: `on_epoch` asked to stop; the annotator's state was saved.
    """
    fixed = dataset.num_train is not None and spec.imbalance == 1
    run = annotator_run(spec, dataset.info, 0 if fixed else spec.split_seed)
    path = scores_path(folder, run, dataset.digest)
    with _locked(path.with_suffix(".lock")):
        if not path.exists():
            task = make_task(run, dataset, device)
            checkpoints = Checkpoints(path.with_suffix(".pt"), path.stem)
            outcome = train(
                run,
                load_method(run.method),
                task,
                checkpoints=checkpoints,
                on_epoch=lambda progress: on_epoch(Progress(0, progress.accuracy)),
            )
            logits = predictions(outcome.method, task, task.x).cpu().numpy()
            _store(path, logits, task, outcome.result.accuracy["last"])
            checkpoints.delete()
        found = _read(path, run)
    shape = (len(split(dataset, run.seed, run.imbalance, run.folds)[0]), dataset.num_classes)
    if found.logits.shape != shape:
        raise ValueError(f"{path}: scores of shape {found.logits.shape}, not {shape}: delete it")
    return found


def scores_path(folder: Path, run: RunSpec, data_digest: str | None) -> Path:
    """File of the scores of an annotator below `folder`, by its run and the origin of that."""
    return folder / f"{origin_id(run, data_digest)}.npz"


def quarantine_damaged_scores(
    folder: Path, spec: RunSpec, info: DatasetInfo, data_digest: str | None
) -> str | None:
    """Move scores that cannot be read aside, before a run needs them: its annotator trains again.

    One line that names the file, or None where nothing is wrong.
    """
    if spec.annotator is None:
        return None
    for seed in (0, spec.split_seed):  # which of them it is depends on the data
        run = annotator_run(spec, info, seed)
        path = scores_path(folder, run, data_digest)
        try:
            if path.exists():
                _read(path, run)
        except ValueError as error:
            return f"{error}; moved to {quarantine(path).name}, its annotator trains again"
    return None


def _read(path: Path, run: RunSpec) -> Annotation:
    """The scores at the `scores_path` of an annotator."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            found = Annotation(
                stored["logits"],
                AnnotatorFacts(
                    run_id=run.run_id,
                    method=run.method,
                    version=run.version,
                    hparams=run.hparams,
                    method_source=source_digest(load_method(run.method)),
                    train_accuracy=float(stored["train_accuracy"]),
                    test_accuracy=float(stored["test_accuracy"]),
                ),
            )
        if not np.isfinite(found.logits).all():
            raise ValueError("a score is not finite")
    except Exception as error:  # zipfile, zlib, NumPy and pydantic each raise their own kind
        raise ValueError(
            f"{path}: not the scores of an annotator ({short_message(error)})"
        ) from error
    return found


def _store(path: Path, logits: Logits, task: Task, test_accuracy: float) -> None:
    right = logits.argmax(axis=1) == task.y.cpu().numpy()
    buffer = BytesIO()
    np.savez(buffer, logits=logits, train_accuracy=right.mean(), test_accuracy=test_accuracy)
    write_atomic(path, buffer.getvalue())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file; the operating system frees that of a process which dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        lock_file(file.fileno(), fcntl.LOCK_EX, path)
        yield
