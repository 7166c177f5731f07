"""The imbalance of training rows as an axis of grids: which runs, their identity, refusals."""

import pytest

from pllbench.data.catalogue import dataset_info
from pllbench.grid.benchmark import Benchmark, Grid
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.grid.resolve import annotator_run
from pllbench.validation import FieldError


def runs(*methods: str, **parts: object) -> list[PlannedRun]:
    return plan(Selection(methods=methods, seeds=(0,), q=(0.3,), **parts))  # type: ignore[arg-type]


def grid_of(*imbalance: float) -> Benchmark:
    grid = Grid(methods=("cc",), datasets=("digits",), q=(0.3,), imbalance=imbalance, seeds=(0,))
    return Benchmark(grid=(grid,))


def test_the_axis_multiplies_runs_on_generated_sets_alone() -> None:
    found = runs("supervised", "cc", datasets=("digits", "lost"), imbalance=(10.0, 20.0))
    keys = [(run.spec.method, run.spec.dataset, run.spec.imbalance) for run in found]
    assert keys == [
        ("supervised", "digits", 10),
        ("supervised", "digits", 20),
        ("cc", "digits", 10),
        ("cc", "digits", 20),
        ("supervised", "lost", 1),
        ("cc", "lost", 1),
    ]
    assert found[2].title == "CC · digits uniform:imbalance=10 q=0.3 · seed 0"


def test_rows_as_they_are_have_the_ids_of_runs_without_the_axis() -> None:
    plain, (as_is, tailed) = runs("cc"), runs("cc", imbalance=(1.0, 10.0))
    assert plain[0].spec.run_id == as_is.spec.run_id != tailed.spec.run_id
    assert "imbalance" not in plain[0].spec.identity
    assert tailed.spec.identity["imbalance"] == 10
    assert plain[0].label == tailed.label == "CC", "it belongs to the column, not to the row"


def test_a_benchmark_has_the_axis_and_a_flag_keeps_a_part_of_it() -> None:
    found = plan(Selection(benchmark=grid_of(10, 20)))
    assert [run.spec.imbalance for run in found] == [10, 20]
    kept = plan(Selection(benchmark=grid_of(10, 20), imbalance=(20.0,)))
    assert [run.spec.imbalance for run in kept] == [20]
    with pytest.raises(FieldError, match="imbalance 30: not in this benchmark"):
        plan(Selection(benchmark=grid_of(10, 20), imbalance=(20.0, 30.0)))
    with pytest.raises(FieldError, match="imbalance 10: not in this benchmark"):
        plan(Selection(benchmark=grid_of(), imbalance=(1.0, 10.0)))


def test_real_candidate_sets_have_no_axis() -> None:
    with pytest.raises(FieldError, match="imbalance 10: no run here is on a data set whose"):
        plan(Selection(methods=("cc",), datasets=("lost",), imbalance=(10.0,)))


@pytest.mark.parametrize("imbalance", [0.5, -1.0, 2e9])
def test_impossible_ratios_in_a_file_are_refused(imbalance: float) -> None:
    with pytest.raises(ValueError, match="imbalance"):
        grid_of(imbalance)


def test_an_annotator_learns_from_the_same_rows() -> None:
    settings = {"process": "instance", "annotator_network": "mlp", "annotator_epochs": 2}
    flag = Setting.parse({"reason": "--candidates", "candidates": settings})
    plain, tailed = (runs("cc", imbalance=(ratio,), flags=(flag,))[0].spec for ratio in (1.0, 10.0))
    annotators = [annotator_run(spec, dataset_info("digits")) for spec in (plain, tailed)]
    assert [one.imbalance for one in annotators] == [1, 10]
    assert [one.run_id for one in annotators] == [plain.annotator, tailed.annotator]
