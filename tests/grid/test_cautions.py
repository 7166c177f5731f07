"""Cautions: what to know of planned runs before they start."""

from typing import Any

import pytest

from pllbench.grid.cautions import cautions
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting, default_protocol
from pllbench.registry import load_method

PROTOCOL = default_protocol()


def cautioned(*methods: str, dataset: str = "cifar10-5k", **settings: Any) -> list[str]:
    flag = (Setting(reason="small", **settings),)
    return cautions(plan(Selection(methods=methods, datasets=(dataset,), flags=flag)), PROTOCOL)


@pytest.mark.parametrize("network", ["small_cnn", "lenet", "mlp"])
def test_the_temperature_of_resnet18_on_another_network_has_one_line(network: str) -> None:
    rows = f"AsyCo (network={network}), SyCo (network={network})"
    [line] = cautioned("asyco", "cc", "syco", train={"network": network})
    assert line.startswith(f"{rows}: tau = 20 belongs to ResNet-18")
    [line] = cautioned("asyco-tau-20", dataset="mnist-5k", train={"network": network})
    assert line.startswith(f"AsyCo w/o auxiliary, tau = 20 (network={network}): ")


def test_no_line_where_the_network_or_the_temperature_is_another() -> None:
    assert cautioned("asyco", "syco", train={"network": "resnet18"}) == []
    assert cautioned("asyco-tau-1", train={"network": "small_cnn"}) == []
    assert cautioned("asyco", train={"network": "small_cnn"}, hparams={"tau": 2.0}) == []
    assert cautioned("cc", train={"network": "small_cnn"}) == []
    assert cautioned("asyco", dataset="digits", train={"network": "mlp"}) == []


def test_cautions_name_hyperparameters_that_their_methods_have() -> None:
    for caution in PROTOCOL.caution:
        assert caution.text.isprintable()
        for method in caution.when.method:
            load_method(method).hparams_type.parse(caution.hparams)
