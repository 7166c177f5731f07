"""The optimizer: torch's SGD at its defaults, bit for bit."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pllbench.training.sgd import SGD

SETTINGS: list[dict[str, Any]] = [
    {"momentum": 0.9, "weight_decay": 1e-4},
    {"momentum": 0.9},
    {"weight_decay": 0.2},
    {},
]
settings = pytest.mark.parametrize("options", SETTINGS, ids=str)


class Two(nn.Module):
    """Two networks, of which the second learns late, and a parameter that never does."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, 3))
        self.second = nn.Linear(5, 3)
        self.unused = nn.Parameter(torch.ones(4))
        self.fixed = nn.Parameter(torch.ones(4), requires_grad=False)

    def loss(self, x: Tensor, late: bool) -> Tensor:
        loss: Tensor = self.first(x).logsumexp(1).square().mean()
        return loss + self.second(x).logsumexp(1).square().mean() if late else loss


def model() -> Two:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Two()


def gradients(module: Two, step: int) -> None:
    """Those of one step; the second network learns in every step from 3 on but step 5."""
    x = torch.randn(16, 5, generator=torch.Generator().manual_seed(step))
    module.loss(x, late=step >= 3 and step != 5).backward()


def steps(optimizer: Any, module: Two, numbers: range) -> None:
    for number in numbers:
        optimizer.zero_grad()
        gradients(module, number)
        optimizer.step()


def assert_same(ours: Two, theirs: Two) -> None:
    for name, value in ours.state_dict().items():
        assert torch.equal(value, theirs.state_dict()[name]), name


@settings
def test_it_is_torchs_bit_for_bit(options: dict[str, Any]) -> None:
    ours, theirs = model(), model()
    optimizer = SGD(ours.parameters(), 0.1, **options)
    reference = torch.optim.SGD(theirs.parameters(), 0.1, **options)
    for number in range(12):
        optimizer.lr = reference.param_groups[0]["lr"] = 0.1 / 10 ** (number // 6)
        before = ours.second.weight.clone()
        steps(optimizer, ours, range(number, number + 1))
        steps(reference, theirs, range(number, number + 1))
        assert_same(ours, theirs)
        moved = not torch.equal(ours.second.weight, before)
        assert moved == (number >= 3 and number != 5)
    assert torch.equal(ours.unused, torch.ones(4))
    stored = reference.state_dict()["state"]
    found = optimizer.state_dict()["state"]
    assert found.keys() == stored.keys()
    assert len(found) == (8 if "momentum" in options else 0)
    for place, entry in found.items():
        assert torch.equal(entry["momentum_buffer"], stored[place]["momentum_buffer"])


@settings
@pytest.mark.parametrize("at", [2, 4])
def test_a_run_goes_on_from_the_state_that_torch_wrote(
    options: dict[str, Any], at: int, tmp_path: Any
) -> None:
    theirs = model()
    reference = torch.optim.SGD(theirs.parameters(), 0.1, **options)
    steps(reference, theirs, range(at))
    torch.save([theirs.state_dict(), reference.state_dict()], tmp_path / "state")
    network, state = torch.load(tmp_path / "state", weights_only=True)
    ours = model()
    ours.load_state_dict(network)
    optimizer = SGD(ours.parameters(), 0.1, **options)
    optimizer.load_state_dict(state)
    steps(optimizer, ours, range(at, 8))
    steps(reference, theirs, range(at, 8))
    assert_same(ours, theirs)


def test_a_run_goes_on_from_its_own_state(tmp_path: Any) -> None:
    whole, before, after = model(), model(), model()
    steps(SGD(whole.parameters(), 0.1, 0.9, 1e-4), whole, range(8))
    first, second = (SGD(part.parameters(), 0.1, 0.9, 1e-4) for part in (before, after))
    steps(first, before, range(4))
    torch.save([before.state_dict(), first.state_dict()], tmp_path / "state")
    network, state = torch.load(tmp_path / "state", weights_only=True)
    after.load_state_dict(network)
    second.load_state_dict(state)
    steps(second, after, range(4, 8))
    assert_same(after, whole)
    assert len(second.state_dict()["state"]) == 8


def test_it_shares_no_memory_with_a_state_that_it_took() -> None:
    one, other = model(), model()
    first, second = (SGD(part.parameters(), 0.1, 0.9) for part in (one, other))
    steps(first, one, range(2))
    second.load_state_dict(first.state_dict())
    before = first.state_dict()["state"][2]["momentum_buffer"].clone()
    steps(second, other, range(2))
    assert torch.equal(first.state_dict()["state"][2]["momentum_buffer"], before)


def test_a_state_of_other_parameters_is_refused() -> None:
    state = SGD(nn.Linear(2, 2).parameters(), 0.1, 0.9).state_dict()
    with pytest.raises(ValueError, match=r"^optimizer state of 2 parameters, there are 10$"):
        SGD(model().parameters(), 0.1, 0.9).load_state_dict(state)


def test_gradients_are_none_after_zero_grad() -> None:
    module = model()
    gradients(module, 0)
    SGD(module.parameters(), 0.1).zero_grad()
    assert all(p.grad is None for p in module.parameters())


def test_no_step_without_gradients_moves_anything() -> None:
    module = model()
    SGD(module.parameters(), 0.1, 0.9, 0.1).step()
    assert_same(module, model())


def test_training_imports_no_compiler() -> None:
    """`torch._dynamo` takes over a second to import; `torch.optim` does it for an optimizer."""
    code = """
import sys
from pllbench.registry import load_method
from pllbench.testing.support import toy_spec, toy_task
from pllbench.training.trainer import train

for name in ("cc", "pico"):
    train(toy_spec(load_method(name), epochs=2), load_method(name), toy_task(48))
print("torch._dynamo" in sys.modules)
"""
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output == "False\n"
