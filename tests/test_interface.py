"""`pllbench.run`: the same runs as the command's, from plain values, classes and arrays."""

import threading
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pllbench
from pllbench.cli.run import run
from pllbench.cli.selection import with_selection
from pllbench.grid.plan import PlannedRun
from pllbench.results.records import record_path
from pllbench.runner.inline_engine import InlineEngine
from pllbench.runner.progress import Observer
from pllbench.validation import FieldError
from tests.commands import on_lost, refused, same
from tests.commands import pllbench as command
from tests.factories import Toy

BIRDS = pllbench.Arrays("birds", np.eye(3)[np.arange(60) % 3], np.arange(60) % 3)
"""Three classes that a line can tell apart."""


def run_here(*arguments: Any, **options: Any) -> pllbench.Results:
    """A grid of short runs in this thread."""
    settings: dict[str, Any] = {
        "q": 0.3,
        "seeds": 1,
        "epochs": 2,
        "engine": "inline",
        "progress": False,
    }
    return pllbench.run(*arguments, **settings | options)


def test_runs_are_those_of_the_command(plugin_folder: Path, tmp_path: Path) -> None:
    typed = on_lost("cc", "steady", results=tmp_path / "typed", seeds=2)
    answer = command("run", *typed, "--data-dir", plugin_folder, "--jobs", 1)
    assert answer.code == 0, answer.err
    found: dict[str, pllbench.Results] = {}
    for engine in ("local", "inline"):
        found[engine] = pllbench.run(
            ["cc", "steady"],
            "lost",
            seeds=2,
            epochs=4,
            train={"batch_size": 16},
            results=tmp_path / engine,
            data_dir=plugin_folder,
            engine=engine,
            jobs=1 if engine == "local" else None,
            progress=False,
        )
        assert same(tmp_path / "typed", tmp_path / engine)
        assert repr(found[engine]).endswith(": runs 4, methods 2, data sets 1>")
    assert found["local"].table().to_markdown() == found["inline"].table().to_markdown()
    rows = [line.split() for line in answer.out.splitlines()]
    assert [line.split() for line in str(found["local"].table()).splitlines()[:4]] == rows[:4]


def test_a_second_call_executes_nothing(tmp_path: Path) -> None:
    first = run_here("cc", BIRDS, results=tmp_path)
    assert first.summary is not None
    assert (first.summary.done, first.summary.skipped) == (1, 0)
    again = run_here("cc", BIRDS, results=tmp_path)
    assert again.summary is not None
    assert (again.summary.done, again.summary.skipped) == (0, 1)
    assert again.records == first.records


def test_results_are_those_that_were_asked_for(tmp_path: Path) -> None:
    run_here("cc", BIRDS, epochs=1, results=tmp_path)
    [record] = run_here("cc", epochs=1, results=tmp_path).finished  # on digits
    assert record.spec.dataset == "digits"
    typed = ["--methods", "cc", "--q", 0.3, "--seeds", 1, "--epochs", 1, "--results", tmp_path]
    assert "birds" not in command("run", *typed).out
    assert "birds" in command("table", *typed).out


def test_arrays_are_own_data(tmp_path: Path) -> None:
    results = run_here("cc", ["digits", BIRDS], results=tmp_path / "results")
    assert [record.spec.dataset for record in results.finished] == ["birds", "digits"]
    (tmp_path / "birds.npz").write_bytes(BIRDS.content())
    by_path = run_here("cc", tmp_path / "birds.npz", results=tmp_path / "results")
    assert by_path.summary is not None
    assert by_path.summary.skipped == 1
    assert [r.run_id for r in results.select(datasets="birds").finished] == [
        r.run_id for r in by_path.finished
    ]


def test_every_option_of_the_command_is_an_argument() -> None:
    """But for --dry-run, which prints."""
    other_names = {"set_": "hparams", "view": "views", "prune": "pruning"}
    options = {other_names.get(name, name) for name in signature(with_selection(run)).parameters}
    arguments = set(signature(pllbench.run).parameters)
    assert options - arguments == {"dry_run"}
    assert arguments - options == {"progress"}


def test_what_runs_keep_is_found_by_their_ids(tmp_path: Path) -> None:
    results = run_here("cc", BIRDS, seeds=2, results=tmp_path, keep=["model", "predictions"])
    run_ids = {record.run_id for record in results.finished}
    models, predictions = results.kept("model"), results.kept("predictions")
    assert models.keys() == predictions.keys() == run_ids
    for record in pllbench.load(tmp_path).finished:
        model = pllbench.PartialLabelClassifier.load(models[record.run_id])
        with np.load(predictions[record.run_id]) as stored:
            right = stored["predicted"] == stored["y"]
            assert model.predict(BIRDS.x[stored["rows"]]).tolist() == stored["predicted"].tolist()
        assert right.mean() == record.result.accuracy["last"]
    assert run_here("cc", BIRDS, seeds=[5], results=tmp_path).kept("model") == {}
    with pytest.raises(FieldError, match=r"^keep modle: did you mean model\?$"):
        results.kept("modle")  # type: ignore[arg-type]


IMAGES = pllbench.Arrays("images", np.zeros((60, 8, 8), np.uint8), np.arange(60) % 3)


def test_what_is_special_is_told_and_handed_back(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"^AsyCo \(.*network=small_cnn.*\): tau = 20 belongs to"):
        results = run_here("asyco", IMAGES, epochs=1, network="small_cnn", results=tmp_path)
    [caution] = results.warnings
    assert ": tau = 20 belongs to ResNet-18" in caution
    told = Told()
    again = run_here(
        "asyco",
        IMAGES,
        epochs=1,
        network="small_cnn",
        results=tmp_path,
        keep="model",
        progress=told,
    )
    assert again.warnings == told.lines
    assert told.lines == [
        caution,
        "done before, without model kept: 1; `pllbench rerun` does runs again",
    ]
    assert pllbench.load(tmp_path).warnings == []


def test_malformed_arrays_are_named_and_not_their_file(tmp_path: Path) -> None:
    short = pllbench.Arrays("short", np.zeros((3, 2)), [0, 1])
    with pytest.raises(ValueError, match=r"^datasets short: `x` has 3 rows, `y` has 2$"):
        run_here("cc", short, results=tmp_path)
    other = pllbench.Arrays("birds", np.zeros((3, 2)), [0, 1, 0])
    with pytest.raises(FieldError, match=r"^datasets birds: two have this name$"):
        run_here("cc", [BIRDS, other], results=tmp_path)


def test_a_class_needs_no_entry_point(tmp_path: Path) -> None:
    results = run_here([Toy, "cc"], BIRDS, results=tmp_path)
    spec = results.select(methods=Toy).finished[0].spec
    assert (spec.method, len(spec.source or "")) == ("Toy", 16)
    assert [row.name for row, _ in results.accuracies().cells] == ["Toy", "cc"]
    assert "Toy" in str(results.tests(Toy))
    stored = pllbench.load(tmp_path)  # where nobody knows the class
    assert [r.spec.method for r in stored.select(methods="Toy", datasets="birds").finished] == [
        "Toy"
    ]
    assert refused("run", "--methods", "Toy").startswith("--methods: unknown method 'Toy'")


def noisy(strength: float) -> type[Toy]:
    """A class that depends on more than its source."""

    class Noisy(Toy):
        def predict(self, x: Any) -> Any:
            return super().predict(x) * strength

    return Noisy


def test_another_source_is_another_run_and_a_row_of_its_own(tmp_path: Path) -> None:
    run_here(noisy(1.0), BIRDS, results=tmp_path)
    results = run_here(noisy(2.0), BIRDS, results=tmp_path)
    assert results.summary is not None
    assert results.summary.done == 1
    assert len(results.finished) == 1
    [selected] = pllbench.load(tmp_path).select(methods=noisy(1.0)).finished
    assert selected.spec.source != results.finished[0].spec.source
    everything = pllbench.load(tmp_path).accuracies()
    labels = [row.label for row, _ in everything.cells]
    assert len(set(labels)) == 2
    assert all(label.startswith("Noisy (epochs=2), source ") for label in labels)
    again = run_here(noisy(1.0), BIRDS, results=tmp_path)
    assert again.summary is not None
    assert again.summary.skipped == 1


def test_a_class_reaches_worker_processes(tmp_path: Path) -> None:
    here = run_here(noisy(1.0), BIRDS, results=tmp_path / "inline")
    there = run_here(noisy(1.0), BIRDS, results=tmp_path / "local", engine="local", jobs=1)
    assert here.failed == there.failed == []
    assert same(tmp_path / "inline", tmp_path / "local")


def test_a_class_that_cannot_be_sent_is_refused_in_one_line(tmp_path: Path) -> None:
    lock = threading.Lock()

    class Locked(Toy):
        def predict(self, x: Any) -> Any:
            with lock:
                return super().predict(x)

    with pytest.raises(FieldError, match=r"^methods Locked: cannot be sent to worker") as raised:
        run_here(Locked, BIRDS, results=tmp_path, engine="local")
    assert "engine='inline' needs not" in str(raised.value)
    assert run_here(Locked, BIRDS, results=tmp_path).failed == []


class Unlucky(Toy):
    def loss(self, batch: Any) -> Any:
        raise RuntimeError("out of luck")


def test_failed_runs_are_a_warning_and_the_others_are_done(tmp_path: Path) -> None:
    title = r"Unlucky \(epochs=2\) · birds q=0.3 · seed 0"
    with pytest.warns(
        UserWarning, match=f"^2 of 4 runs failed: {title}: RuntimeError: out of luck$"
    ):
        results = run_here([Unlucky, "cc"], BIRDS, seeds=2, results=tmp_path)
    assert [reason for _, reason in results.failed] == ["RuntimeError: out of luck"] * 2
    assert repr(results).endswith(": runs 2, methods 1, data sets 1, failed 2>")
    with pytest.warns(UserWarning, match="runs failed"):
        nothing = run_here(Unlucky, BIRDS, seeds=2, results=tmp_path / "other")
    assert nothing._repr_html_().startswith("&lt;Results of ")


class Told(Observer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begun(self, runs: Any) -> None:
        self.lines.append(f"begun {len(runs)}")

    def progressed(self, run: PlannedRun, progress: Any) -> None:
        self.lines.append(f"epoch {progress.epoch} of seed {run.spec.seed}")

    def finished(self, run: PlannedRun, accuracy: float | None, seconds: float) -> None:
        self.lines.append(f"finished seed {run.spec.seed}")

    def warned(self, line: str) -> None:
        self.lines.append(line)

    def ended(self) -> None:
        self.lines.append("ended")


def test_arrays_without_true_labels(tmp_path: Path) -> None:
    sets = np.eye(3, dtype=int)[np.arange(60) % 3]
    unlabelled = pllbench.Arrays("unlabelled", BIRDS.x, candidates=sets)
    results = pllbench.run(
        "cc", unlabelled, seeds=1, epochs=2, results=tmp_path, engine="inline", progress=False
    )
    assert results.failed == []
    assert set(results.curves()["quantity"]) >= {"covering_rate", "approximated_accuracy"}
    assert "accuracy" not in set(results.curves()["quantity"])
    [entry] = results.choose().entries
    assert (entry.method, entry.dataset) == ("cc", "unlabelled")
    with pytest.raises(
        ValueError, match=r"^datasets bare: no array `y` in it, and no `candidates`"
    ):
        run_here("cc", pllbench.Arrays("bare", BIRDS.x), results=tmp_path)


def test_an_observer_is_told(tmp_path: Path) -> None:
    told = Told()
    run_here("cc", BIRDS, results=tmp_path, progress=told)
    assert told.lines == ["begun 1", "epoch 0 of seed 0", "finished seed 0", "ended"]


def test_files_that_do_not_count_are_warnings(tmp_path: Path) -> None:
    [record] = run_here("cc", BIRDS, results=tmp_path).records
    path = record_path(tmp_path, record.spec)
    path.with_name("0123456789abcdef.json").write_text("{}")
    with pytest.warns(UserWarning, match=r"^not counted: .*0123456789abcdef\.json: schema None"):
        assert len(pllbench.load(tmp_path).records) == 1
    with pytest.raises(FieldError, match=r"^results .*gone: no such folder$"):
        pllbench.load(tmp_path / "gone")
    with pytest.raises(FieldError, match=r"^results: name a folder of records"):
        pllbench.load()


def test_an_open_engine_serves_several_grids(tmp_path: Path) -> None:
    engine = InlineEngine()
    for seed in (0, 1):
        run_here("cc", BIRDS, seeds=[seed], results=tmp_path, engine=engine)
    assert len(pllbench.load(tmp_path).records) == 2


def test_an_interrupted_grid_lets_go_of_its_runs(tmp_path: Path) -> None:
    interrupts = threading.Event()
    interrupts.set()

    class StoppedByHand(Toy):
        def loss(self, batch: Any) -> Any:
            if self.epoch and interrupts.is_set():
                raise KeyboardInterrupt
            return super().loss(batch)

    with pytest.raises(KeyboardInterrupt):
        run_here(StoppedByHand, BIRDS, results=tmp_path)
    interrupts.clear()
    results = run_here(StoppedByHand, BIRDS, results=tmp_path)  # it does not wait for itself
    assert results.summary is not None
    assert results.summary.done == 1


class Impatient(Observer):
    """Interrupts after some epochs."""

    def progressed(self, run: PlannedRun, progress: Any) -> None:
        if progress.epoch >= 5:
            raise KeyboardInterrupt


@pytest.mark.parametrize("engine", ["local", "inline"])
def test_an_interrupted_run_goes_on_from_its_checkpoint(
    engine: str, plugin_folder: Path, tmp_path: Path
) -> None:
    settings = {
        "epochs": 40,
        "train": {"batch_size": 16},
        "data_dir": plugin_folder,
        "results": tmp_path,
        "engine": engine,
        "checkpoint_every": 2,
    }
    with pytest.raises(KeyboardInterrupt):
        run_here("slow", "lost", q=None, progress=Impatient(), **settings)
    [record] = run_here("slow", "lost", q=None, **settings).finished
    [epoch] = record.provenance.resumed_from
    assert epoch >= 4


def test_threads_may_run_at_once(tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    for cls in (noisy(1.0), noisy(2.0)):
        run_here(cls, BIRDS, seeds=2, results=alone)

    def work(strength: float) -> None:
        run_here(noisy(strength), BIRDS, seeds=2, results=tmp_path / "both")

    threads = [threading.Thread(target=work, args=(s,)) for s in (1.0, 2.0, 1.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert same(alone, tmp_path / "both")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"methods": "ccc"}, "methods: unknown method 'ccc': did you mean cc?"),
    ({"methods": "cc", "datasets": "digit"}, "unknown data set 'digit': did you mean digits?"),
    ({}, "methods: name some, or a benchmark"),
    (
        {"methods": "cc", "hparams": {"rc": {"num_strong": 1}}},
        "hparams rc.num_strong=1: applies to",
    ),
    ({"methods": "cc", "engine": "remote"}, "engine remote: known: inline, local, ray"),
    ({"methods": "cc", "device": "gpu"}, "device gpu: "),
    (
        {"methods": "cc", "engine": "inline", "jobs": 2},
        "jobs: not with engine inline, which does one",
    ),
    ({"methods": "cc", "gpus_per_run": 1.0}, "gpus_per_run: only with engine ray"),
    ({"methods": "cc", "progress": "bar"}, "progress 'bar': must be True, False or an Observer"),
    ({"methods": "cc", "stale": "kep"}, "stale kep: did you mean keep?"),
    (
        {"methods": "cc", "checkpoint_every": 0},
        "checkpoint_every 0: must be a whole number",
    ),
    ({"methods": "cc", "checkpoint_every": "2"}, "checkpoint_every 2: must be a whole number"),
    ({"methods": "cc", "keep": "modle"}, "keep modle: did you mean model?"),
    ({"methods": "cc", "keep": [5]}, "keep 5: known: model, predictions"),
    ({"methods": "cc", "folds": 1}, "folds 1: "),
    ({"methods": "cc", "jobs": 0}, "jobs 0: must be a whole number, 1 or more"),
    ({"methods": "cc", "jobs": 1.5}, "jobs 1.5: must be a whole number, 1 or more"),
    ({"methods": "cc", "timeout": "1m"}, "timeout 1m: must be a number of seconds, more than 0"),
    (
        {"methods": "cc", "engine": "ray", "gpus_per_run": "half"},
        "gpus_per_run half: must be a number",
    ),
    ({"methods": "cc", "engine": 5}, "engine 5: known: inline, local, ray"),
    ({"methods": "cc", "device": 0}, "device 0: "),
    ({"methods": "cc", "stale": None}, "stale: known: keep, refuse, rerun"),
    ({"methods": "cc", "candidates": 5}, "candidates 5: must be the name of a process, or a dict"),
    ({"methods": "cc", "train": {"batch_size": 2.5}}, "train batch_size=2.5: batch_size: Input sh"),
    ({"methods": "cc", "holdout": 1}, "cc on digits: holdout: Input should be less than 1"),
    ({"methods": "cc", "benchmark": "gone.toml"}, "gone.toml: not readable"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=lambda value: str(value)[:50])
def test_a_wrong_request_is_one_line_and_writes_nothing(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - compared below
        pllbench.run(**options, results=tmp_path / "results", epochs=1)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "results").exists()
