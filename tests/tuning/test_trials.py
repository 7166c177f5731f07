"""Trials: their settings follow from their numbers, and shared ones from nothing else."""

import math
from collections import Counter

import pytest

from pllbench.budget import Judging
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.tuning.space import Range, Space, own_space, shared_space
from pllbench.tuning.trials import TunedCell, draw, part


def cell(method: str, *, seeds: tuple[int, ...] = (100,), dataset: str = "cnae9") -> TunedCell:
    flag = Setting(reason="--holdout 0.1", holdout=0.1)
    rate = (0.7,) if dataset == "cnae9" else ()
    selection = Selection(
        methods=(method,), datasets=(dataset,), q=rate, seeds=seeds[:1], flags=(flag,)
    )
    [base] = plan(selection)
    return TunedCell(base, shared_space(), own_space(method), Judging(seeds=seeds))


def test_trial_0_has_the_defaults_which_are_the_same_for_all_where_they_are_shared() -> None:
    shared = {
        "train.lr": 0.1,
        "train.weight_decay": 1e-4,
        "train.batch_size": 64,
        "train.epochs": 200,
        "train.schedule": "multistep",
        "train.network": "linear",
    }
    assert cell("cc").settings(0) == shared
    assert cell("pico").settings(0) == shared | {
        "hparams.cont_weight": 0.5,
        "hparams.key_momentum": 0.999,
        "hparams.proto_momentum": 0.99,
        "hparams.embedding_size": 128,
    }
    # the protocol's: tau = 1 on text
    assert cell("asyco").settings(0)["hparams.tau"] == 1.0


def test_a_trial_of_every_method_has_the_same_shared_settings() -> None:
    drawn = cell("cc").settings(7)
    assert drawn.keys() == {f"train.{key}" for key in shared_space().train}
    for method in ("asyco", "pico", "lws"):
        for dataset in ("cnae9", "birdsong"):
            own = cell(method, dataset=dataset).settings(7)
            assert part(own, "train") == part(drawn, "train")
    assert cell("asyco").settings(7)["hparams.tau"] == cell("syco").settings(7)["hparams.tau"]


def test_settings_are_the_same_on_every_call_and_other_ones_at_another_seed() -> None:
    assert cell("cc").settings(1) == {
        "train.lr": 0.07335,
        "train.weight_decay": 0.0004761,
        "train.batch_size": 64,
        "train.epochs": 200,
        "train.schedule": "cosine",
        "train.network": "linear",
    }
    assert cell("cc", seeds=(101,)).settings(1) != cell("cc").settings(1)


def test_a_trial_has_a_run_a_seed_which_differ_in_the_seed_alone() -> None:
    runs = cell("asyco", seeds=(100, 101)).runs(3)
    assert [run.spec.seed for run in runs] == [100, 101]
    assert runs[0].spec.cell == runs[1].spec.cell
    drawn = cell("asyco").settings(3)
    spec = runs[0].spec
    assert {f"train.{key}": getattr(spec.train, key) for key in part(drawn, "train")} | {
        f"hparams.{key}": spec.hparams[key] for key in part(drawn, "hparams")
    } == drawn
    assert spec.holdout == 0.1
    assert (spec.dataset, spec.q) == ("cnae9", 0.7)
    assert spec.train.forward == "concat", "what is not searched is the protocol's"


def test_the_run_of_a_trial_is_that_of_the_same_settings_by_hand() -> None:
    [run] = cell("asyco").runs(3)
    values = cell("asyco").settings(3)
    by_hand = Setting(
        reason="by hand",
        holdout=0.1,
        train=part(values, "train"),
        hparams=part(values, "hparams"),
    )
    selection = Selection(
        methods=("asyco",), datasets=("cnae9",), q=(0.7,), seeds=(100,), flags=(by_hand,)
    )
    assert plan(selection)[0].spec == run.spec


def test_methods_without_gradient_have_their_own_space_alone() -> None:
    flag = Setting(reason="--holdout 0.1", holdout=0.1)
    [base] = plan(Selection(methods=("pl_knn",), datasets=("lost",), seeds=(100,), flags=(flag,)))
    own = Space(hparams={"num_neighbours": Range(low=5, high=20, source="s")})
    tuned = TunedCell(base, shared_space(), own, Judging())
    assert tuned.settings(0) == {"hparams.num_neighbours": 10}
    assert tuned.runs(1)[0].spec.hparams["num_neighbours"] in range(5, 21)


def test_a_default_outside_of_its_range_is_refused() -> None:
    narrow = Space(hparams={"rho": Range(values=(0.5,), source="s")})
    base = cell("asyco").base
    with pytest.raises(ValueError, match=r"asyco on cnae9: rho = 0\.02 is outside of its range"):
        TunedCell(base, shared_space(), narrow, Judging()).require_defaults()


def test_numbers_are_spread_evenly_or_by_orders_of_magnitude() -> None:
    spread = Range(low=0.001, high=1.0, log=True, source="s")
    drawn = [draw(spread, 100, number, "x") for number in range(600)]
    values = [value for value in drawn if isinstance(value, float)]
    assert all(0.001 <= value <= 1 and float(f"{value:.4g}") == value for value in values)
    decades = Counter(min(math.floor(math.log10(value)), -1) for value in values)
    assert set(decades) == {-3, -2, -1}
    assert all(150 < count < 250 for count in decades.values())
    even = Range(low=3, high=7, source="s")
    counts = Counter(draw(even, 100, number, "x") for number in range(500))
    assert set(counts) == {3, 4, 5, 6, 7}
    assert all(60 < count < 140 for count in counts.values())
    words = Range(values=("a", "b"), source="s")
    assert {draw(words, 100, number, "x") for number in range(20)} == {"a", "b"}
