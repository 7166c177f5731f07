"""Which settings win in a resolved run: protocol, variant, benchmark, grid and flags."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pllbench.grid.benchmark import Benchmark, Grid
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Protocol, Setting, Variant, When
from pllbench.grid.resolve import annotator_run
from pllbench.spec import RunSpec

RC = When(method=("rc",))
MINE = Variant(base="rc", label="Mine", train={"lr": 0.4}, setting=(Setting(train={"lr": 0.5}),))
BARE = Protocol(q={"digits": (0.3,), "cnae9": (0.3,)}, labels={"rc": "RC"})

LAYERS: Mapping[str, Mapping[str, Any]] = {
    "protocol": {"protocol": (Setting(train={"lr": 0.2}),)},
    "its deviation": {
        "protocol": (Setting(train={"lr": 0.2}), Setting(when=RC, train={"lr": 0.3}))
    },
    "variant": {"variant": {"train": {"lr": 0.4}}},
    "its deviation for a data set": {"variant": {"setting": (Setting(train={"lr": 0.5}),)}},
    "benchmark": {"benchmark": (Setting(train={"lr": 0.6}),)},
    "grid": {"grid": (Setting(train={"lr": 0.7}),)},
    "flag": {"flags": (Setting(reason="--train lr=0.8", train={"lr": 0.8}),)},
}
"""Every layer of settings, weakest first; each sets its own learning rate."""


def with_layers(names: Sequence[str]) -> RunSpec:
    """The run of the variant `mine` of RC under some of the layers."""
    found: dict[str, Any] = {}
    variant: dict[str, Any] = {}
    for name in names:
        layer = dict(LAYERS[name])
        variant |= layer.pop("variant", {})
        found |= layer
    mine = Variant(base="rc", label="Mine", **variant)
    grid = Grid(methods=("mine",), datasets=("digits",), seeds=(0,), setting=found.get("grid", ()))
    benchmark = Benchmark(grid=(grid,), variants={"mine": mine}, setting=found.get("benchmark", ()))
    protocol = BARE.model_copy(update={"setting": found.get("protocol", ())})
    [run] = plan(Selection(benchmark, protocol=protocol, flags=found.get("flags", ())))
    return run.spec


def runs(**parts: Any) -> list[PlannedRun]:
    return plan(Selection(**parts))


@pytest.mark.parametrize("count", range(len(LAYERS) + 1))
def test_a_later_layer_wins(count: int) -> None:
    expected = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]  # declared default first
    assert with_layers(list(LAYERS)[:count]).train.lr == expected[count]


def test_a_flag_wins_over_every_single_layer() -> None:
    for layer in LAYERS:
        assert with_layers([layer, "flag"]).train.lr == 0.8


def test_a_variant_inherits_what_the_protocol_says_of_its_base() -> None:
    protocol = BARE.model_copy(
        update={
            "setting": (Setting(when=RC, hparams={"num_strong": 5}, views={"noise_std": 0.7}),),
            "variants": {"mine": MINE},
        }
    )
    base, mine, other = runs(methods=("rc", "mine", "cc"), seeds=(0,), protocol=protocol)
    assert base.spec.hparams["num_strong"] == mine.spec.hparams["num_strong"] == 5
    assert base.spec.views.noise_std == mine.spec.views.noise_std == 0.7
    assert (base.spec.train.lr, mine.spec.train.lr) == (0.1, 0.5)
    assert (mine.name, mine.label, mine.spec.method) == ("mine", "Mine", "rc")
    assert other.spec.hparams["num_strong"] == 2


def test_another_benchmarks_settings_stand_between_protocol_and_variant(tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text("[[setting]]\ntrain = { lr = 0.35, momentum = 0.35 }\n[[grid]]\n")
    protocol = BARE.model_copy(update={"setting": (Setting(train={"lr": 0.2}),)})
    grid = Grid(methods=("rc", "mine"), datasets=("digits",), seeds=(0,), protocol=str(file))
    both = Benchmark(
        grid=(grid, grid.model_copy(update={"protocol": ""})),
        variants={"mine": MINE},
        setting=(Setting(train={"momentum": 0.6}),),
    )
    found = [(run.name, run.spec.train.lr) for run in runs(benchmark=both, protocol=protocol)]
    assert found == [("rc", 0.35), ("mine", 0.5), ("rc", 0.2)]
    assert all(run.spec.train.momentum == 0.6 for run in runs(benchmark=both, protocol=protocol))


def test_a_flag_for_a_method_reaches_its_variants_and_one_for_a_variant_only_itself() -> None:
    protocol = BARE.model_copy(update={"variants": {"mine": MINE}})

    def strong(method: str) -> list[Any]:
        flag = Setting(reason="--set", when=When(method=(method,)), hparams={"num_strong": 7})
        found = runs(methods=("rc", "mine", "cc"), seeds=(0,), protocol=protocol, flags=(flag,))
        return [run.spec.hparams["num_strong"] for run in found]

    assert strong("rc") == [7, 7, 2]
    assert strong("mine") == [2, 7, 2]


@pytest.mark.parametrize(
    ("dataset", "named", "network"),
    [
        ("digits", {}, "mlp"),
        ("cnae9", {}, "mlp"),
        ("digits", {"annotator_network": "linear"}, "linear"),
        ("mnist", {}, "resnet18"),
    ],
)
def test_the_annotator_is_of_the_kind_of_the_data(
    dataset: str, named: dict[str, str], network: str
) -> None:
    flags = (Setting.parse({"candidates": {"process": "instance", **named}}),)
    selection = Selection(methods=("cc",), datasets=(dataset,), q=(0.3,), seeds=(0,), flags=flags)
    [run] = plan(selection)
    assert run.spec.candidates is not None
    assert run.spec.candidates.annotator_network == network
    assert annotator_run(run.spec, run.data).train.network == network
