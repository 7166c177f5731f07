"""Networks by name: shapes, sizes, initialisation, compilation."""

from typing import get_args

import pytest
import torch
from torch import nn

from pllbench.method import Network
from pllbench.networks import ENCODERS, compile_encoders, make_network, require_network
from pllbench.spec import NetworkName, TrainSpec

TABULAR: tuple[NetworkName, ...] = ("linear", "mlp")


def network(name: NetworkName = "mlp", **settings: object) -> Network:
    torch.manual_seed(0)
    spec = TrainSpec.parse({"network": name} | settings)
    return make_network(spec, (6,), 4)


def test_every_network_name_has_an_encoder() -> None:
    assert set(ENCODERS) == set(get_args(NetworkName))


@pytest.mark.parametrize("name", TABULAR)
@pytest.mark.parametrize("shape", [(6,), (1, 5, 7)])
def test_rows_of_any_shape_become_features_and_logits(
    name: NetworkName, shape: tuple[int, ...]
) -> None:
    found = make_network(TrainSpec(network=name), shape, 4)
    logits, features = found(torch.randn(3, *shape))
    assert logits.shape == (3, 4)
    assert features.shape == (3, found.num_features)
    torch.testing.assert_close(logits, found.classifier(features))


def test_sizes_of_the_linear_model_and_the_mlp() -> None:
    sizes = [sum(p.numel() for p in network(name).parameters()) for name in TABULAR]
    assert sizes == [6 * 4 + 4, 6 * 500 + 500 + 500 * 4 + 4]


@pytest.mark.parametrize(
    ("name", "num_parameters"),
    [("resnet18", 11_173_962), ("wide_resnet28_2", 1_467_610), ("wide_resnet34_10", 46_160_474)],
)
def test_sizes_of_the_residual_networks(name: NetworkName, num_parameters: int) -> None:
    found = make_network(TrainSpec(network=name), (3, 32, 32), 10)
    assert sum(p.numel() for p in found.parameters()) == num_parameters


ANY_SIZE: tuple[NetworkName, ...] = (
    "linear",
    "mlp",
    "small_cnn",
    "resnet18",
    "wide_resnet28_2",
    "wide_resnet34_10",
)


@pytest.mark.parametrize("name", ANY_SIZE)
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 64, 64), (3, 32, 48), (3, 33, 33)])
def test_images_of_any_size_get_one_row_of_logits_each(
    name: NetworkName, shape: tuple[int, ...]
) -> None:
    found = make_network(TrainSpec(network=name), shape, 7).eval()
    with torch.no_grad():
        logits, features = found(torch.randn(2, *shape))
    assert logits.shape == (2, 7)
    assert features.shape == (2, found.num_features)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32)])
def test_lenet_takes_its_two_sizes(shape: tuple[int, ...]) -> None:
    found = make_network(TrainSpec(network="lenet"), shape, 10)
    assert found(torch.randn(2, *shape))[0].shape == (2, 10)
    if shape[0] == 1:  # the published count of LeNet-5 with full connections
        assert sum(p.numel() for p in found.parameters()) == 61_706


@pytest.mark.parametrize("size", [(64, 64), (28, 32), (33, 33)])
def test_lenet_names_the_sizes_it_takes(size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=rf"28 x 28 or 32 x 32, these have {size[0]} x {size[1]}"):
        make_network(TrainSpec(network="lenet"), (3, *size), 10)


def test_channels_last_is_a_setting_that_changes_no_output() -> None:
    torch.manual_seed(0)
    plain = make_network(TrainSpec(network="small_cnn"), (3, 16, 16), 4)
    torch.manual_seed(0)
    last = make_network(TrainSpec(network="small_cnn", channels_last=True), (3, 16, 16), 4)
    x = torch.randn(4, 3, 16, 16)
    torch.testing.assert_close(last(x)[0], plain(x)[0])
    assert last.encoder.layers[0].weight.is_contiguous(memory_format=torch.channels_last)  # type: ignore[union-attr, index]


def test_the_encoder_of_every_network_is_compiled_and_no_parameter_renamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[nn.Module] = []
    monkeypatch.setattr(nn.Module, "compile", lambda self: compiled.append(self))  # noqa: PLW0108 - a list's method is never bound to a module
    method = nn.ModuleDict({"one": network(), "other": nn.Sequential(network())})
    names = list(method.state_dict())
    compile_encoders(method)
    assert compiled == [m.encoder for m in method.modules() if isinstance(m, Network)]
    assert len(compiled) == 2
    assert list(method.state_dict()) == names


def test_initial_weights_come_from_the_global_generator() -> None:
    first, again = network().state_dict(), network().state_dict()
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    torch.manual_seed(1)
    other = make_network(TrainSpec(network="mlp"), (6,), 4)
    assert not torch.equal(other.classifier.weight, first["classifier.weight"])


@pytest.mark.parametrize("name", [n for n in get_args(NetworkName) if n not in TABULAR])
def test_networks_for_images_refuse_other_rows(name: NetworkName) -> None:
    with pytest.raises(ValueError, match=rf"^network {name} needs images, these rows have the sh"):
        network(name)


def takes(train: TrainSpec, side: int, num_rows: int) -> bool:
    """Whether the last batch of an epoch trains, by a step of it."""
    torch.manual_seed(0)
    smallest = num_rows % train.batch_size or min(train.batch_size, num_rows)
    try:
        make_network(train, (3, side, side), 4).train()(torch.randn(smallest, 3, side, side))
    except ValueError as error:
        return "more than 1 value per channel" not in str(error)
    return True


@pytest.mark.parametrize("name", ["small_cnn", "resnet18"])
@pytest.mark.parametrize("side", [5, 8, 9, 16, 17])
@pytest.mark.parametrize(("num_rows", "batch_size"), [(9, 4), (8, 4), (10, 4), (1, 4), (3, 1)])
def test_a_batch_that_batchnorm_does_not_take_is_found_from_shapes_alone(
    name: NetworkName, side: int, num_rows: int, batch_size: int
) -> None:
    train = TrainSpec(network=name, batch_size=batch_size)
    if takes(train, side, num_rows):
        require_network(train, (3, side, side), num_rows)
        return
    message = rf"^{num_rows} training rows in batches of {batch_size} leave a batch of one row, "
    with pytest.raises(ValueError, match=message):
        require_network(train, (3, side, side), num_rows)


def test_a_batch_of_one_row_of_features_is_taken() -> None:
    for name in TABULAR:
        require_network(TrainSpec(network=name, batch_size=1), (6,), 9)
