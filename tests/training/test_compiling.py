"""`train.compile = "step"`: what is compiled, how often, and that nothing else changes."""

import pickle
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from pllbench.method import Batch, Step
from pllbench.spec import RunSpec, TrainSpec
from pllbench.testing.support import toy_spec, toy_task
from pllbench.training import trainer
from pllbench.training.compiling import compiled_loss
from pllbench.training.step import Loss
from pllbench.training.trainer import train
from pllbench_methods.asyco import AsyCo
from pllbench_methods.dpll import DPLL
from pllbench_methods.proden import PRODEN


def compiling(spec: RunSpec) -> RunSpec:
    return spec.model_copy(update={"train": spec.train.model_copy(update={"compile": "step"})})


@pytest.fixture
def no_machine_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Loss]]:
    """Graphs alone; gives the losses that were compiled."""
    made: list[Loss] = []

    def compiled(method: Any) -> Loss:
        made.append(compiled_loss(method, machine_code=False))
        return made[-1]

    monkeypatch.setattr(trainer, "compiled_loss", compiled)
    yield made
    torch.compiler.reset()


def num_graphs() -> int:
    from torch._dynamo.utils import counters

    return int(counters["stats"]["unique_graphs"])


# Batches of 16 and 8 rows; AsyCo has a warm-up and co-training.
@pytest.mark.parametrize(("cls", "expected"), [(DPLL, 2), (AsyCo, 4)])
def test_a_run_compiles_once_a_size_of_batch_and_phase(
    cls: type[Any], expected: int, no_machine_code: list[Loss]
) -> None:
    before = num_graphs()
    train(compiling(toy_spec(cls, epochs=10)), cls, toy_task(40))
    assert len(no_machine_code) == 1
    assert num_graphs() - before == expected


class Counting(DPLL):
    """Weighs its loss by the epoch itself instead of a schedule."""

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        return Step(step.loss * (1 + self.epoch), step.pseudo)


@pytest.mark.usefixtures("no_machine_code")
def test_a_method_that_reads_the_epoch_works_as_well() -> None:
    """It is compiled again every epoch, until the compiler leaves it to Python."""
    spec, task = toy_spec(Counting, epochs=12), toy_task(40)
    plain, compiled = train(spec, Counting, task), train(compiling(spec), Counting, task)
    np.testing.assert_allclose(compiled.curves["loss"], plain.curves["loss"], rtol=1e-4)


def test_the_compiler_can_take_the_partitioner_into_the_key_of_its_cache() -> None:
    """It reads the name of a class from the module."""
    from pllbench.training.partitioner import SaveAll

    assert pickle.loads(pickle.dumps(SaveAll())).uuid() == SaveAll().uuid()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_machine_code_trains_as_python_does() -> None:
    """PRODEN reads its confidence for the gradient and writes to it in the same step."""
    spec, task = toy_spec(PRODEN), toy_task(48)
    plain, compiled = train(spec, PRODEN, task), train(compiling(spec), PRODEN, task)
    torch.compiler.reset()
    assert plain.curves.keys() == compiled.curves.keys()
    for name, values in plain.curves.items():
        np.testing.assert_allclose(compiled.curves[name], values, rtol=1e-4, err_msg=name)
    torch.testing.assert_close(
        compiled.method.state_dict(), plain.method.state_dict(), rtol=1e-3, atol=1e-4
    )


def test_only_the_word_step_compiles_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """`true` compiles encoders, and the run ids of true and false are those of before."""
    made: list[Any] = []

    def note(method: Any) -> Loss:
        made.append(method)
        return method.loss  # type: ignore[no-any-return]

    monkeypatch.setattr(trainer, "compiled_loss", note)
    monkeypatch.setattr(trainer, "compile_encoders", lambda method: None)
    for value, expected in ((False, 0), (True, 0), ("step", 1)):
        spec = toy_spec(PRODEN, epochs=1)
        settings = TrainSpec.parse({"epochs": 1, "compile": value})
        train(spec.model_copy(update={"train": settings}), PRODEN, toy_task(20))
        assert len(made) == expected
