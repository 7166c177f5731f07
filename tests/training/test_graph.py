"""`train.graph = true`: what is captured and replayed, as far as that can be seen without a GPU."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from pllbench.method import Batch, Step
from pllbench.spec import TrainSpec
from pllbench.testing.support import toy_spec, toy_task
from pllbench.training import graph
from pllbench.training.graph import GraphedSteps, Take
from pllbench.training.loader import Loader
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench.training.trainer import build_method, train
from pllbench_methods.asyco import AsyCo
from pllbench_methods.pico import PiCO
from tests.methods.fakes import assert_equal_states


class FakeGraphs:
    """Graphs of the CPU: a replay runs the step again, into the tensors of the first result.

    Like the real ones they take no step while they are captured, read the batch that was there at
    the capture, and overwrite what the last replay gave.
    """

    def __init__(self) -> None:
        self.events: list[str] = []

    def warm_up(self, take: Take, batch: Batch) -> Step:
        self.events.append("warm-up")
        return take(batch)

    def capture(self, take: Take, batch: Batch) -> tuple[Callable[[], None], Step]:
        self.events.append("capture")
        logs = {"loss": torch.zeros(())}
        filled = Step(torch.zeros(()), torch.zeros(len(batch.index), dtype=torch.int64), logs)

        def replay() -> None:
            self.events.append("replay")
            step = take(batch)
            assert filled.pseudo is not None
            assert step.pseudo is not None
            filled.loss.copy_(step.loss.detach())
            filled.pseudo.copy_(step.pseudo)
            logs["loss"].copy_(step.loss.detach())

        return replay, filled


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> FakeGraphs:
    fake = FakeGraphs()
    monkeypatch.setattr(graph, "warm_up", fake.warm_up)
    monkeypatch.setattr(graph, "capture", fake.capture)
    return fake


@pytest.mark.parametrize("cls", [AsyCo, PiCO])
def test_replayed_steps_are_the_steps_themselves(
    cls: type[AsyCo | PiCO], graphs: FakeGraphs
) -> None:
    task, spec = toy_task(72), toy_spec(cls)
    results: list[list[tuple[Tensor, Tensor | None]]] = []
    methods = []
    for graphed in (False, True):
        torch.manual_seed(0)
        method = build_method(spec, cls, task)
        method.epoch = 3
        optimizer = SGD(method.parameters(), 0.1, 0.9)
        loader = Loader(task.x, task.candidates, task.views, method.views, 16, seed=0)

        take: Take = partial(take_step, method, optimizer=optimizer)
        steps: Take = GraphedSteps(take) if graphed else take
        found = [steps(batch) for batch in loader.epoch(0)]
        results.append([(step.loss.detach(), step.pseudo) for step in found])
        methods.append(method)
    # 4 batches of 16 rows and one of 8, which no graph takes
    assert graphs.events == ["warm-up", "capture", "replay", "replay", "replay"]
    for (loss, pseudo), (other, labels) in zip(*results, strict=True):
        assert torch.equal(loss, other)
        assert pseudo is not None
        assert labels is not None
        assert torch.equal(pseudo, labels)
    assert_equal_states(methods[0], methods[1])


def test_logs_of_a_replay_outlive_the_next_one(graphs: FakeGraphs) -> None:
    batches = [
        Batch((torch.full((2, 1), value),), torch.arange(2), torch.ones(2, 2, dtype=torch.bool))
        for value in (1.0, 2.0, 3.0)
    ]
    steps = GraphedSteps(lambda batch: Step(batch.x[0].sum(), batch.index))
    found = [steps(batch) for batch in batches]
    assert [step.loss.item() for step in found] == [2, 4, 6]
    assert [step.logs["loss"].item() for step in found[1:]] == [4, 6]


@pytest.mark.usefixtures("graphs")
def test_a_step_that_draws_on_the_cpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def capture(take: Take, batch: Batch) -> tuple[Callable[[], None], Step]:
        return lambda: None, take(batch)  # the real one runs the Python of a step, too

    monkeypatch.setattr(graph, "capture", capture)
    batch = Batch((torch.ones(2, 1),), torch.arange(2), torch.ones(2, 2, dtype=torch.bool))
    steps = GraphedSteps(lambda batch: Step(batch.x[0].sum() * torch.rand(()).item()))
    steps(batch)
    with pytest.raises(ValueError, match=r"^graph = true: a step of this method draws random"):
        steps(batch)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_it_is_refused_in_one_line() -> None:
    spec = toy_spec(PiCO)
    spec = spec.model_copy(update={"train": TrainSpec(graph=True)})
    with pytest.raises(ValueError, match=r"^graph = true needs a CUDA device, this run is on cpu$"):
        train(spec, PiCO, toy_task(20))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("cls", [AsyCo, PiCO])
def test_a_captured_run_trains_as_one_without_graphs(cls: type[AsyCo | PiCO]) -> None:
    device, task = torch.device("cuda"), toy_task(72)
    fields = {name: getattr(task, name) for name in task.__slots__}
    tensors: dict[str, Any] = {
        name: x.to(device) for name, x in fields.items() if isinstance(x, Tensor)
    }
    views = replace(task.views, stats=task.views.stats.to(device))
    moved = replace(task, **tensors, views=views)
    spec = toy_spec(cls)
    plain = train(spec, cls, moved)
    settings = spec.train.model_copy(update={"graph": True})
    captured = train(spec.model_copy(update={"train": settings}), cls, moved)
    torch.testing.assert_close(
        captured.method.state_dict(), plain.method.state_dict(), rtol=1e-3, atol=1e-4
    )
