"""Benchmarks of other papers' tables: every number has its runs, and all run on small files."""

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.reports.published import load_source, published_sources
from pllbench.results.records import read_records
from pllbench.runner.job import RunOptions
from tests.data.test_readers_torchvision import write_cifar
from tests.inline_engine import InlineEngine, run_inline

TABLES = [(source, name) for source in published_sources() for name in load_source(source)]

REDUCED = ["reduced_pico_uniform", "reduced_solar_lt", "reduced_wsc_clean", "reduced_wsc_noisy"]


@cache
def planned(name: str) -> list[PlannedRun]:
    return plan(Selection(benchmark=load_benchmark(name)))


@pytest.mark.parametrize(("source", "name"), TABLES)
def test_every_published_number_is_in_the_grid_of_its_table(source: str, name: str) -> None:
    columns = set()
    for run in planned(name):
        spec = run.spec
        sets = replace(SetsSpec.of(spec), imbalance=1.0).text
        candidates = None if spec.labels == "true" else sets or "real"
        columns.add((run.name, spec.dataset, candidates, spec.q, spec.imbalance))
    for entry in load_source(source)[name]:
        assert any(entry.matches(*column) for column in columns), entry


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("noisy_cifar100", 10 * 3 * 3 * 3),
        ("pico_uniform", (6 * 3 + 1) * 2 * 3),
        ("solar_lt", 8 * 2 * 3 * 2 * 3),
        ("valen_real", 9 * 3 * 5),
        ("wsc_clean", 8 * 4 * 2 * 3),
        ("wsc_noisy", (7 * 2 * 2 * 2 + 6) * 3),
        ("reduced_pico_uniform", 6 * 3 + 1),
        ("reduced_solar_lt", 8 * 2 * 3),
        ("reduced_wsc_clean", 8 * 4),
        ("reduced_wsc_noisy", 7 * 2 * 2),
    ],
)
def test_sizes_of_the_grids(name: str, runs: int) -> None:
    assert len({run.spec.run_id for run in planned(name)}) == runs


@pytest.mark.parametrize("name", REDUCED)
def test_reduced_grids_are_of_5000_images_and_say_so(name: str) -> None:
    for run in planned(name):
        assert run.spec.dataset == "cifar10-5k"
        assert (run.spec.train.network, run.spec.train.epochs) == ("small_cnn", 20)
    benchmark = load_benchmark(name)
    assert "reduced" in benchmark.title
    assert "no number here is comparable with the paper's" in benchmark.note


def test_noisy_benchmarks_leave_out_true_labels_by_the_process_of_their_paper() -> None:
    processes = {
        name: {
            (run.spec.candidates.process, run.spec.candidates.eta)
            for run in planned(name)
            if run.spec.candidates
        }
        for name in ("noisy_cifar100", "wsc_noisy")
    }
    assert processes["noisy_cifar100"] == {("noisy_swap", eta) for eta in (0.1, 0.2, 0.3)}
    assert processes["wsc_noisy"] == {
        ("noisy_flip", 0.1),
        ("noisy_flip", 0.2),
        ("hierarchical", 0.2),
    }


def test_solars_stages_are_those_of_its_authors() -> None:
    """100 or 20 epochs of estimation, then 1,000 with drops at 700, 800 and 900 of them."""
    for run in planned("solar_lt"):
        if run.spec.method != "solar":
            continue
        train, first = run.spec.train, 100 if run.spec.dataset == "cifar10" else 20
        assert train.epochs == first + 1000
        drops = [share * train.epochs for share in train.milestones]
        assert drops == pytest.approx([first + epoch for epoch in (700, 800, 900)], abs=0.01)
        estimation = run.spec.hparams["estimation_epochs"]
        assert isinstance(estimation, float)
        assert estimation * train.epochs / 1100 == pytest.approx(first, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("noisy_cifar100", (0.05,)),
        ("pico_uniform", (0.1,)),
        ("solar_lt", (0.3, 0.05)),
        ("wsc_clean", (0.8, 0.2)),
        ("wsc_noisy", (0.5, 0.1)),
    ],
)
def test_every_benchmark_runs_on_small_files_in_the_exact_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, q: tuple[float, ...]
) -> None:
    """One epoch of a small network at one rate a data set; long tails need 2,500 images."""
    num_train = 2500 if name == "solar_lt" else 100
    for dataset in ("cifar10", "cifar100"):
        write_cifar(tmp_path, dataset, monkeypatch, (2 * num_train, 100))
    flag = Setting(reason="small", train={"network": "small_cnn", "epochs": 1, "batch_size": 250})
    runs = plan(Selection(benchmark=load_benchmark(name), q=q, seeds=(0,), flags=(flag,)))
    options = RunOptions(tmp_path / "results", tmp_path, "cpu")
    summary, _ = run_inline(runs, InlineEngine(), options)
    assert not summary.failed
    found, _ = read_records(tmp_path / "results")
    assert Counter(record.run_id for record in found) == Counter(run.spec.run_id for run in runs)
    for record in found:
        noisy = record.spec.candidates is not None and record.spec.candidates.noisy
        assert ((record.provenance.audit.without_true or 0) > 0) is noisy
        assert bool(record.result.class_accuracy) == (record.spec.imbalance > 1)
