"""The benchmark files: what they regenerate, and that they share runs."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from pllbench.grid.benchmark import benchmark_names, load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.reports.published import load_table, table_names
from pllbench.results.records import changed_settings, read_records
from pllbench.spec import CandidateSpec

RESULTS = Path(__file__).parents[1] / "results"
FIGURES = {"noise_rates", "tau"}


@cache
def planned(name: str) -> list[PlannedRun]:
    return plan(Selection(benchmark=load_benchmark(name)))


def run_ids(name: str, row: str) -> set[str]:
    return {run.spec.run_id for run in planned(name) if run.name == row}


@pytest.mark.parametrize("name", table_names())
def test_every_published_number_is_in_the_grid_of_its_table(name: str) -> None:
    columns = set()
    for run in planned(name):
        spec = run.spec
        process = spec.candidates.process if spec.candidates else "real"
        columns.add((run.name, spec.dataset, None if spec.labels == "true" else process, spec.q))
    for entry in load_table(name):
        assert any(entry.matches(*column) for column in columns), entry


def test_every_table_and_figure_has_a_benchmark() -> None:
    assert {*table_names(), *FIGURES} <= set(benchmark_names())


@pytest.mark.parametrize("name", benchmark_names())
def test_every_benchmark_resolves(name: str) -> None:
    assert planned(name)
    assert load_benchmark(name).title


def test_tables_share_their_runs() -> None:
    main = run_ids("uniform_images", "asyco")
    for name in ("ablation_auxiliary", "ablation_syco", "ablation_correction", "noise_rates"):
        assert run_ids(name, "asyco") <= main
    assert run_ids("ablation_augmentation", "asyco-2-strong") == run_ids("ablation_syco", "asyco")
    assert run_ids("backbone", "dpll") <= run_ids("uniform_images", "dpll")


def test_the_reduced_grids_are_of_reduced_data_alone() -> None:
    images, processes = planned("reduced_images"), planned("reduced_processes")
    # 7 methods on 2 rates of 2 data sets, and supervised once each
    assert len(images) == (7 * 2 + 1) * 2
    assert Counter(run.spec.dataset for run in processes) == {
        "cifar10-5k": 2 * 3,  # two processes, three methods
        "cifar10n-5k": 3,
        "cifar10h": 3,
    }
    for run in (*images, *processes):
        assert (run.spec.train.network, run.spec.train.epochs) == ("small_cnn", 20)
        assert run.spec.dataset.endswith("-5k") or run.spec.dataset == "cifar10h"
    generated = {run.spec.candidates for run in processes} - {None}
    assert generated == {
        CandidateSpec(process="uniform-set"),
        CandidateSpec(
            process="instance", rule="max", annotator_network="small_cnn", annotator_epochs=10
        ),
    }


def test_every_committed_record_is_a_run_of_a_benchmark_with_the_settings_of_now() -> None:
    specs = {run.spec.run_id: run.spec for name in benchmark_names() for run in planned(name)}
    found, unreadable = read_records(RESULTS)
    assert (len(found) > 600, unreadable) == (True, [])
    for record in found:
        assert record.run_id in specs, f"{record.spec.method} on {record.spec.dataset}"
        assert changed_settings(record.spec, specs[record.run_id]) == {}


def test_the_grids_have_the_papers_size() -> None:
    sizes = {name: len({run.spec.run_id for run in planned(name)}) for name in table_names()}
    # 8 methods on 4 rates of 3 data sets, but supervised once each; 3 seeds
    assert sizes["uniform_images"] == (7 * 4 + 1) * 3 * 3
    assert sizes["cnae9"] == (7 * 4 + 1) * 5
    assert sizes["ablation_augmentation"] == 4 * 3 * 3
