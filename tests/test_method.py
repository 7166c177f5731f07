"""The contract of a method: what a problem holds, and what `Network` promises every method."""

import copy
from collections.abc import Mapping
from dataclasses import fields

import pytest
import torch
from torch import Tensor, nn

from pllbench.method import Batch, Hparams, Method, Network, Problem, Schedule, Step
from pllbench.networks import make_network
from pllbench.spec import TrainSpec


def mlp(**settings: object) -> Network:
    """A network on 6 features and 4 classes, the same at every call."""
    torch.manual_seed(0)
    return make_network(TrainSpec.parse({"network": "mlp"} | settings), (6,), 4)


def test_a_problem_holds_no_labels_and_no_rows() -> None:
    names = [field.name for field in fields(Problem)]
    assert names == ["candidates", "epochs", "make_network", "shape"]


def test_views_have_one_output_each_in_their_order() -> None:
    found = mlp()
    xs = [torch.randn(5, 6) for _ in range(3)]
    logits, features = found.views(xs)
    assert logits.shape == (3, 5, 4)
    assert features.shape == (3, 5, 500)
    for x, z, h in zip(xs, logits, features, strict=True):
        torch.testing.assert_close((z, h), found(x))


def test_together_and_one_by_one_agree_without_batchnorm() -> None:
    xs = [torch.randn(5, 6) for _ in range(3)]
    networks = [mlp(forward=mode) for mode in ("separate", "concat")]
    assert [found.forward_mode for found in networks] == ["separate", "concat"]
    apart, together = (found.views(xs) for found in networks)
    torch.testing.assert_close(apart, together)


def test_batchnorm_sees_each_view_by_itself_or_all_together() -> None:
    xs = [torch.full((4, 2), 1.0), torch.full((4, 2), 3.0)]
    means = []
    for mode in ("separate", "concat"):
        norm = nn.BatchNorm1d(2, momentum=None)
        found = Network(norm, 2, 2, forward_mode=mode)
        _, features = found.views(xs)
        means.append(features.mean((1, 2)).tolist())
        assert norm.running_mean is not None
        assert norm.running_mean.tolist() == [2.0, 2.0]
        assert norm.num_batches_tracked == {"separate": 2, "concat": 1}[mode]
    assert means[0] == pytest.approx([0.0, 0.0], abs=1e-4)
    assert means[1] == pytest.approx([-1.0, 1.0], abs=1e-4)


def convolutions(mode: str) -> Network:
    """A network with BatchNorm layers, the same at every call."""
    torch.manual_seed(0)
    return make_network(TrainSpec.parse({"network": "small_cnn", "forward": mode}), (3, 16, 16), 4)


def test_grouped_views_are_those_of_one_by_one_and_so_are_running_statistics() -> None:
    xs = [3 * i + torch.randn(5, 3, 16, 16) for i in range(3)]
    apart, grouped, together = (convolutions(mode) for mode in ("separate", "grouped", "concat"))
    for _ in range(2):
        expected, found = apart.views(xs), grouped.views(xs)
        torch.testing.assert_close(found, expected)
        for logits, _ in (expected, found):
            logits.square().mean().backward()
    torch.testing.assert_close(dict(grouped.state_dict()), dict(apart.state_dict()))
    for p, q in zip(grouped.parameters(), apart.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)
    assert not torch.allclose(together.views(xs)[0], expected[0], rtol=0.01, atol=0.01)
    numbers = [n for name, n in grouped.state_dict().items() if name.endswith("tracked")]
    assert [int(n) for n in numbers] == [6, 6, 6]  # three views, two steps


def test_grouping_ends_with_the_views() -> None:
    found = convolutions("grouped")
    x = torch.randn(6, 3, 16, 16)
    found.views([x[:3], x[3:]])
    other = convolutions("grouped")
    other.load_state_dict(found.state_dict())
    other.forward_mode = "separate"
    torch.testing.assert_close(found(x), other(x), rtol=0, atol=0)
    copied = copy.deepcopy(found)
    torch.testing.assert_close(copied.views([x[:3], x[3:]]), found.views([x[:3], x[3:]]))


def test_bf16_runs_inside_and_leaves_as_float32() -> None:
    x = torch.randn(5, 6)
    exact, _ = mlp()(x)
    seen: list[torch.dtype] = []
    found = mlp(precision="bf16")
    found.classifier.register_forward_hook(lambda _m, _i, output: seen.append(output.dtype))
    logits, features = found(x)
    assert seen == [torch.bfloat16]
    assert logits.dtype == features.dtype == torch.float32
    torch.testing.assert_close(logits, exact, rtol=0.02, atol=0.02)
    assert not torch.equal(logits, exact)
    assert all(p.dtype == torch.float32 for p in found.parameters())


def test_channels_last_changes_no_output() -> None:
    encoder = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten())
    x = torch.randn(2, 3, 5, 5)
    found = Network(encoder, 36, 2)
    plain, _ = found(x)
    found.channels_last = True
    torch.testing.assert_close(found(x)[0], plain)
    assert found.views([x, x])[0].shape == (2, 2, 2)


class RampHparams(Hparams):
    """Hyperparameters of Scheduled."""

    slope: float = 0.5
    """Rise a reference epoch."""


class Scheduled(Method[RampHparams]):
    """A number and a switch that depend on the epoch."""

    hparams_type = RampHparams
    reference_epochs = 100
    rise: Tensor
    late: bool

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        return {"rise": lambda epoch: self.hparams.slope * epoch, "late": lambda epoch: epoch >= 20}

    def loss(self, batch: Batch) -> Step:
        raise NotImplementedError

    def predict(self, x: Tensor) -> Tensor:
        raise NotImplementedError


def scheduled(**hparams: object) -> Scheduled:
    """A method in a run of 50 epochs, where one is two reference epochs."""
    problem = Problem(torch.ones(3, 2, dtype=torch.bool), 50, mlp)
    return Scheduled(problem, RampHparams.parse(hparams))


def test_setting_the_epoch_sets_the_schedules() -> None:
    method = scheduled()
    seen = []
    for epoch in (0, 9, 10, 49, 3):
        method.epoch = epoch
        assert method.epoch == epoch
        assert method.scheduled() == {"rise": method.rise.item(), "late": method.late}
        seen.append((method.rise.item(), method.late))
    assert seen == [(0, False), (9, False), (10, True), (49, True), (3, False)]
    assert (method.rise.shape, method.rise.dtype) == ((), torch.float32)


def test_schedules_have_their_first_values_at_once() -> None:
    class Falling(Scheduled):
        @property
        def schedules(self) -> Mapping[str, Schedule]:
            return {"rise": lambda epoch: 1 - epoch}

    problem = Problem(torch.ones(3, 2, dtype=torch.bool), 50, mlp)
    assert Falling(problem, RampHparams()).rise == 1


def test_schedules_are_no_state() -> None:
    """So a checkpoint from before a method had schedules is complete."""
    method, other = scheduled(), scheduled()
    assert list(method.state_dict()) == []
    method.epoch = 10
    other.load_state_dict(copy.deepcopy(method.state_dict()))
    assert other.rise == 0


def test_schedules_follow_the_method_to_a_device() -> None:
    method = scheduled().to("meta")
    method.epoch = 7
    assert (method.rise.device.type, method.late) == ("meta", False)


def test_a_schedule_may_not_take_the_name_of_something_else() -> None:
    class Clashing(Scheduled):
        @property
        def schedules(self) -> Mapping[str, Schedule]:
            return {"predict": lambda epoch: epoch}

    problem = Problem(torch.ones(3, 2, dtype=torch.bool), 50, mlp)
    with pytest.raises(KeyError, match="attribute 'predict' already exists"):
        Clashing(problem, RampHparams())
