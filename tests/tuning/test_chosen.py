"""What is chosen, and the benchmark that compares it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pllbench.budget import TuningRequest
from pllbench.grid.benchmark import Benchmark, Grid, load_benchmark
from pllbench.grid.labels import row_label
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, default_protocol
from pllbench.runner.job import RunOptions
from pllbench.tuning.chosen import comparing_benchmark
from pllbench.tuning.tune import Tuned, TuningPlan
from tests.tuning.helpers import on_lost, run

WORDS = "tuned: 3 trials, covering_rate, seeds 100, space"


def rows(tuned: Tuned, **selection: object) -> dict[str, list[PlannedRun]]:
    """The runs of the written benchmark, by label."""
    wanted = Selection(benchmark=load_benchmark(str(tuned.path)), **selection)  # type: ignore[arg-type]
    found: dict[str, list[PlannedRun]] = {}
    for planned in plan(wanted):
        found.setdefault(planned.label, []).append(planned)
    return found


def test_the_best_complete_trial_is_chosen(options: RunOptions) -> None:
    tuned = run(on_lost("cc", trials=5, halving=1), options)
    [trials] = tuned.trials.values()
    [choice] = tuned.choices
    best = max(trials, key=lambda t: (t.value or 0, t.tie or 0, -t.number))
    assert choice.trial == best
    frame = tuned.frame()
    assert list(frame["chosen"]) == [t.number == best.number for t in trials]
    assert list(frame["value"]) == [t.value for t in trials]
    assert {"train.lr", "outcome", "score", "method", "dataset", "q"} <= {*frame.columns}
    assert not [name for name in frame.columns if "accuracy" in name]


def test_the_benchmark_has_each_row_with_default_and_with_tuned_settings(
    options: RunOptions,
) -> None:
    tuned = run(on_lost("cc", "lws", trials=3), options)
    assert load_benchmark(str(tuned.path)) == tuned.benchmark
    found = rows(tuned)
    [space] = {choice.budget.space for choice in tuned.choices}
    own = {choice.cell.base.name: choice.cell.own.digest for choice in tuned.choices}
    assert list(found) == [
        "CC (epochs=9)",
        "LWS (epochs=9)",
        f"CC (epochs=9) ({WORDS} {space}/{own['cc']})",
        f"LWS (epochs=9) ({WORDS} {space}/{own['lws']})",
    ]
    for choice in tuned.choices:
        name = choice.cell.base.name
        [runs] = (r for label, r in found.items() if "tuned" in label and r[0].name == name)
        assert [planned.spec.seed for planned in runs] == [0, 1, 2]
        spec, values = runs[0].spec, choice.trial.settings
        assert spec.train.lr == values["train.lr"]
        assert spec.holdout == 0, "all training rows"
        assert spec.tuning is not None
        assert spec.tuning.budget == choice.budget
        assert spec.tuning.budget.trials == (3,)
        assert spec.tuning.train == ("batch_size", "lr", "schedule", "weight_decay")
        assert row_label(spec, default_protocol()).label == runs[0].label
    assert found["CC (epochs=9)"][0].spec.tuning is None


def test_parameters_for_a_classifier_are_the_whole_choice(options: RunOptions) -> None:
    tuned = run(on_lost("asyco", trials=2), options)
    [choice] = tuned.choices
    found = choice.parameters
    assert found.keys() == {"method", "hparams", "train"}
    assert found["method"] == "asyco"
    assert found["hparams"]["tau"] == choice.trial.settings["hparams.tau"]
    assert found["hparams"]["mu_max"] == 0.9, "what was not searched is the protocol's"
    assert found["train"]["lr"] == choice.trial.settings["train.lr"]
    assert found["train"]["epochs"] == 9, "stated by a flag"


def test_tuned_settings_are_another_run_than_the_same_ones_by_hand(options: RunOptions) -> None:
    tuned = run(on_lost("cc", trials=1), options)
    by_label = rows(tuned)
    [label] = (label for label in by_label if "tuned" in label)
    default, found = by_label["CC (epochs=9)"][0].spec, by_label[label][0].spec
    assert tuned.choices[0].trial.number == 0, "the default settings"
    assert found.train == default.train
    assert found.run_id != default.run_id


def test_what_is_changed_on_top_is_no_longer_the_studys(options: RunOptions) -> None:
    tuned = run(on_lost("lws", trials=1), options)
    higher = Setting(reason="--train lr=0.5", train={"lr": 0.5})
    labels = list(rows(tuned, flags=(higher,)))
    assert labels == ["LWS (epochs=9, lr=0.5)"]
    other = Setting(reason="--epochs 4", train={"epochs": 4})
    assert [label.partition(" (tuned")[0] for label in rows(tuned, flags=(other,))] == [
        "LWS (epochs=4)",
        "LWS (epochs=4)",
    ], "epochs were not searched"


def test_settings_that_a_variant_states_are_not_searched(options: RunOptions) -> None:
    wanted = on_lost("asyco", "asyco-tau-1", trials=2)
    tuned = run(wanted, options)
    asyco, variant = tuned.cells
    assert "hparams.tau" in asyco.ranges
    assert "hparams.tau" not in variant.ranges
    assert {k for k in asyco.ranges if k.startswith("train")} == {
        k for k in variant.ranges if k.startswith("train")
    }
    # whatever is chosen for the method, the variant's row has what the variant states
    hot = replace(tuned.choices[0].trial, settings=asyco.settings(1) | {"hparams.tau": 30.0})
    choices = [replace(tuned.choices[0], trial=hot), tuned.choices[1]]
    benchmark = comparing_benchmark(wanted.selection, choices, "t")
    taus = {
        (planned.name, planned.spec.tuning is not None): planned.spec.hparams["tau"]
        for planned in plan(Selection(benchmark=benchmark))
    }
    assert taus == {
        ("asyco", False): 1.0,
        ("asyco", True): 30.0,
        ("asyco-tau-1", False): 1.0,
        ("asyco-tau-1", True): 1.0,
    }


def test_two_grids_of_one_cell_are_refused(tmp_path: Path) -> None:
    twice = Benchmark(grid=(Grid(methods=("cc",), datasets=("lost",)),) * 2)
    other = twice.grid[1].model_copy(
        update={"setting": (Setting(reason="r", views={"scaling": "none"}),)}
    )
    both = twice.model_copy(update={"grid": (twice.grid[0], other)})
    wanted = TuningPlan(Selection(benchmark=both), TuningRequest())
    with pytest.raises(ValueError, match="2 grids have cc on lost: tune one of them"):
        wanted.file()


def test_what_a_benchmark_states_is_not_searched() -> None:
    stated = Setting(reason="short", train={"epochs": 7, "network": "linear"})
    benchmark = Benchmark(grid=(Grid(methods=("cc",), datasets=("lost",)),), setting=(stated,))
    file = TuningPlan(Selection(benchmark=benchmark), TuningRequest()).file()
    assert file.shared.train.keys() == {"lr", "weight_decay", "batch_size", "schedule"}


def test_references_are_compared_and_not_tuned(options: RunOptions) -> None:
    tuned = run(on_lost("supervised", "cc", trials=1), options)
    assert [cell.base.name for cell in tuned.cells] == ["cc"]
    assert [label.partition(" (")[0] for label in rows(tuned)] == ["Fully supervised", "CC", "CC"]
    with pytest.raises(ValueError, match="methods: none here learns from candidate sets"):
        on_lost("supervised").file()


def test_custom_data_and_rates(options: RunOptions, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    np.savez(tmp_path / "own.npz", x=rng.normal(size=(90, 4)) + y[:, None], y=y)
    short = Setting(reason="--epochs", train={"epochs": 3, "network": "linear"})
    data = str(tmp_path / "own.npz")
    selection = Selection(methods=("cc",), datasets=(data,), q=(0.3, 0.5), flags=(short,))
    wanted = TuningPlan(selection, TuningRequest(trials=2), study="own")
    tuned = run(wanted, options)
    assert [choice.cell.base.spec.q for choice in tuned.choices] == [0.3, 0.5]
    by_label = rows(tuned)
    assert len(by_label) == 2
    assert [len(runs) for runs in by_label.values()] == [6, 6]
    moved = tmp_path / "elsewhere.toml"
    moved.write_text(tuned.path.read_text())
    assert plan(Selection(benchmark=load_benchmark(str(moved))))


def test_a_part_of_a_benchmark_is_tuned(options: RunOptions) -> None:
    grid = Grid(methods=("cc", "rc"), datasets=("lost", "digits"), q=(0.1, 0.3), seeds=(0, 1))
    short = Setting(reason="short", train={"epochs": 3, "network": "linear"})
    benchmark = Benchmark(title="Of two", grid=(grid,), setting=(short,))
    selection = Selection(benchmark=benchmark, methods=("rc",), datasets=("lost",))
    tuned = run(TuningPlan(selection, TuningRequest(trials=1), study="part"), options)
    assert [(c.base.name, c.base.spec.dataset) for c in tuned.cells] == [("rc", "lost")]
    assert {(r.name, r.spec.dataset) for runs in rows(tuned).values() for r in runs} == {
        ("rc", "lost")
    }
    assert tuned.benchmark.grid[0].seeds == (0, 1)
