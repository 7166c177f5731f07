"""The contract of a method: what a problem holds, and what `Network` promises every method."""

from dataclasses import fields

import pytest
import torch
from torch import nn

from pllbench.method import Network, Problem
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
