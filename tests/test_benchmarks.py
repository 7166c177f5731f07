"""The benchmark files: what they regenerate, what they share, and what treats methods equally."""

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


def test_small_images_have_the_papers_schedule_and_a_temperature_for_their_network() -> None:
    runs = planned("small_images")
    # 8 methods, supervised once for both rates, on two data sets; five sums on one of them
    assert len(runs) == (8 * 2 + 1) * 2 + 5 * 2
    assert {run.spec.dataset for run in runs} == {"cifar10-5k", "mnist-5k"}
    for run in runs:
        train = run.spec.train
        assert (train.network, train.epochs, train.milestones) == ("small_cnn", 200, (0.5, 0.75))
        assert (train.lr, train.batch_size) == ((0.01, 256) if run.name == "pico" else (0.1, 64))
        assert run.spec.hparams.get("tau", 2.0) == 2.0
    assert "no number here is comparable with the paper's" in load_benchmark("small_images").note


def test_the_reduced_processes_are_of_reduced_data_alone() -> None:
    processes = planned("reduced_processes")
    assert Counter(run.spec.dataset for run in processes) == {
        "cifar10-5k": 2 * 3,  # two processes, three methods
        "cifar10n-5k": 3,
        "cifar10h": 3,
    }
    for run in processes:
        assert (run.spec.train.network, run.spec.train.epochs) == ("small_cnn", 20)
        assert run.spec.dataset.endswith("-5k") or run.spec.dataset == "cifar10h"
        assert run.spec.hparams.get("tau", 2.0) == 2.0
    generated = {run.spec.candidates for run in processes} - {None}
    assert generated == {
        CandidateSpec(process="uniform-set"),
        CandidateSpec(
            process="instance", rule="max", annotator_network="small_cnn", annotator_epochs=10
        ),
    }


def test_instance_dependent_sets_are_those_of_the_papers_text_and_of_its_code() -> None:
    rules = Counter((run.grid, *rule_of(run)) for run in planned("instance_dependent"))
    assert rules == {("max", "max", None): 7 * 2 * 3, ("mean_rate", "mean_rate", 0.4): 7 * 2 * 3}


def rule_of(run: PlannedRun) -> tuple[str, float | None]:
    assert run.spec.candidates
    return run.spec.candidates.rule, run.spec.candidates.q


MEANS = ("supervised", "cc", "rc", "proden", "ncpd", "asyco", "syco")


@pytest.mark.parametrize("name", MEANS)
def test_every_method_that_averages_its_views_has_a_row_with_their_sum(name: str) -> None:
    """Nothing else differs, on any kind of data; and the protocol sums for none of them."""
    datasets = ("cnae9", "birdsong", "digits", "cifar10", "svhn", "cifar100")
    mean, total = (plan(Selection(methods=(n,), datasets=datasets)) for n in (name, f"{name}-sum"))
    assert len(mean) == len(total) > 0
    for one, other in zip(mean, total, strict=True):
        assert one.spec.hparams["view_reduction"] == "mean"
        hparams = one.spec.hparams | {"view_reduction": "sum"}
        changed = tuple(sorted({*one.spec.changed, "view_reduction"}))
        assert other.spec == one.spec.model_copy(update={"hparams": hparams, "changed": changed})
    assert {f"{n}-sum" for n in MEANS} <= {run.name for run in planned("tabular_variants")}


def test_no_setting_of_the_protocol_is_the_choice_of_the_search() -> None:
    searched = {"cnae9": ("ncpd-ramp-40", "pico-10x-lr"), "birdsong": ("ncpd-ramp-20",)}
    for dataset, variants in searched.items():
        for run in plan(Selection(methods=("ncpd", "pico"), datasets=(dataset,))):
            assert run.spec.hparams.get("ramp_epochs", 80.0) == 80.0
            assert run.spec.train.lr == (0.01 if run.name == "pico" else 0.1)
        chosen = {run.name for run in planned("tabular_variants") if run.spec.dataset == dataset}
        assert set(variants) <= chosen


def test_every_committed_record_is_a_run_of_a_benchmark_with_the_settings_of_now() -> None:
    specs = {run.spec.run_id: run.spec for name in benchmark_names() for run in planned(name)}
    found, unreadable = read_records(RESULTS)
    assert (len(found) > 700, unreadable) == (True, [])
    for record in found:
        assert record.run_id in specs, f"{record.spec.method} on {record.spec.dataset}"
        assert changed_settings(record.spec, specs[record.run_id]) == {}


def test_the_grids_have_the_papers_size() -> None:
    sizes = {name: len({run.spec.run_id for run in planned(name)}) for name in table_names()}
    # 8 methods on 4 rates of 3 data sets, but supervised once each; 3 seeds
    assert sizes["uniform_images"] == (7 * 4 + 1) * 3 * 3
    assert sizes["cnae9"] == (7 * 4 + 1) * 5
    assert sizes["ablation_augmentation"] == 4 * 3 * 3
