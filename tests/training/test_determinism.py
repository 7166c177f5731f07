"""Determinism: the same spec gives the same bits, stopped or not, and no label leaks into it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pllbench.method import Problem, TrainView
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.task import Task
from pllbench.training.trainer import Interrupted, Outcome, Progress, train
from tests.factories import Toy, ToyHparams, make_small_task, make_toy_spec

SPEC = make_toy_spec(
    holdout=0.25, train={"epochs": 5, "network": "mlp"}, views={"scaling": "zscore"}
)


@pytest.fixture(scope="module")
def task() -> Task:
    """The tensors of `SPEC`."""
    return make_small_task(SPEC)


def assert_same_state(a: Outcome, b: Outcome) -> None:
    """Parameters and buffers, bit for bit."""
    left, right = (dict(outcome.method.state_dict()) for outcome in (a, b))
    torch.testing.assert_close(left, right, rtol=0, atol=0)


def assert_same(a: Outcome, b: Outcome) -> None:
    """Bit for bit."""
    assert a.result == b.result
    assert list(a.curves) == list(b.curves)
    for name, values in a.curves.items():
        np.testing.assert_array_equal(values, b.curves[name])
    assert_same_state(a, b)


@pytest.fixture(scope="module")
def outcome(task: Task) -> Outcome:
    """The uninterrupted run of `SPEC`."""
    return train(SPEC, Toy, task)


def test_a_run_is_repeatable_and_touches_no_generator_outside(task: Task, outcome: Outcome) -> None:
    torch.manual_seed(1234)
    np.random.seed(5)  # noqa: NPY002 - its state is what is looked at
    before = torch.get_rng_state()
    assert_same(train(SPEC, Toy, task), outcome)
    assert torch.equal(torch.get_rng_state(), before)
    drawn = np.random.random()  # noqa: NPY002 - the global one
    np.random.seed(5)  # noqa: NPY002 - the global one
    assert drawn == np.random.random()  # noqa: NPY002 - the global one


def test_another_seed_is_another_run(task: Task, outcome: Outcome) -> None:
    other = train(SPEC.model_copy(update={"seed": 1}), Toy, task)
    assert (other.curves["loss"] != outcome.curves["loss"]).all()


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_a_stopped_run_gives_the_numbers_of_an_uninterrupted_one(
    task: Task, outcome: Outcome, tmp_path: Path, stop: int
) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint.pt", SPEC.run_id, every=100)
    with pytest.raises(Interrupted):
        train(
            SPEC,
            Toy,
            task,
            checkpoints=checkpoints,
            on_epoch=lambda progress: progress.epoch + 1 < stop,
        )
    torch.manual_seed(99)
    seen: list[Progress] = []

    def note(progress: Progress) -> bool:
        seen.append(progress)
        return True

    resumed = train(SPEC, Toy, task, checkpoints=checkpoints, on_epoch=note)
    assert_same(resumed, outcome)
    assert resumed.resumed_from == (stop,)
    names = ("accuracy", "covering_rate", "approximated_accuracy")
    told = list(zip(*(outcome.curves[name].tolist() for name in names), strict=True))
    assert seen == [Progress(epoch, *told[epoch]) for epoch in range(stop, 5)]


def test_a_run_stopped_after_every_epoch_gives_the_same_numbers(
    task: Task, outcome: Outcome, tmp_path: Path
) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint.pt", SPEC.run_id, every=1)
    for _ in range(4):
        with pytest.raises(Interrupted):
            train(SPEC, Toy, task, checkpoints=checkpoints, on_epoch=lambda _: False)
    # After its last epoch a run is finished, whatever was asked.
    resumed = train(SPEC, Toy, task, checkpoints=checkpoints, on_epoch=lambda _: False)
    assert_same(resumed, outcome)
    assert resumed.resumed_from == (1, 2, 3, 4)


class Restarting(Toy):
    """Has a new network, and a new optimizer, from epoch 2 on."""

    def __init__(self, problem: Problem, hparams: ToyHparams) -> None:
        super().__init__(problem, hparams)
        self.make_network = problem.make_network

    def on_epoch_start(self, train: TrainView) -> None:
        if self.restarts():
            self.network.load_state_dict(self.make_network().state_dict())

    def restarts(self) -> bool:
        return self.epoch == 2


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_a_run_that_restarts_is_the_same_wherever_it_is_stopped(
    task: Task, outcome: Outcome, tmp_path: Path, stop: int
) -> None:
    whole = train(SPEC, Restarting, task)
    differs = whole.curves["loss"] != outcome.curves["loss"]
    assert differs.tolist() == [False, False, True, True, True]
    checkpoints = Checkpoints(tmp_path / "checkpoint.pt", SPEC.run_id, every=100)
    with pytest.raises(Interrupted):
        train(
            SPEC,
            Restarting,
            task,
            checkpoints=checkpoints,
            on_epoch=lambda progress: progress.epoch + 1 < stop,
        )
    resumed = train(SPEC, Restarting, task, checkpoints=checkpoints)
    assert resumed.resumed_from == (stop,)
    assert_same(resumed, whole)


@pytest.mark.parametrize(("every", "start"), [(1, 3), (2, 2), (10, 0)])
def test_a_killed_run_resumes_from_its_last_checkpoint(
    task: Task, outcome: Outcome, tmp_path: Path, every: int, start: int
) -> None:
    def kill(progress: Progress) -> bool:
        if progress.epoch == 3:
            raise KeyboardInterrupt
        return True

    checkpoints = Checkpoints(tmp_path / "checkpoint.pt", SPEC.run_id, every)
    with pytest.raises(KeyboardInterrupt):
        train(SPEC, Toy, task, checkpoints=checkpoints, on_epoch=kill)
    resumed = train(SPEC, Toy, task, checkpoints=checkpoints)
    assert_same(resumed, outcome)
    assert resumed.resumed_from == ((start,) if start else ())


def test_a_checkpoint_changes_no_number(task: Task, outcome: Outcome, tmp_path: Path) -> None:
    assert_same(
        train(SPEC, Toy, task, checkpoints=Checkpoints(tmp_path / "c.pt", SPEC.run_id, 1)), outcome
    )


def test_a_run_without_checkpoints_can_be_stopped(task: Task) -> None:
    with pytest.raises(Interrupted):
        train(SPEC, Toy, task, on_epoch=lambda _: False)


def test_permuting_true_labels_changes_no_parameter_and_no_chosen_epoch(
    task: Task, outcome: Outcome
) -> None:
    permuted = replace(
        task, true_labels=task.y[torch.randperm(len(task.y), generator=torch.Generator())]
    )
    other = train(SPEC, Toy, permuted)
    assert_same_state(other, outcome)
    assert other.result.epoch == outcome.result.epoch
    assert other.result.accuracy == outcome.result.accuracy
    for name in ("loss", "covering_rate", "approximated_accuracy"):
        np.testing.assert_array_equal(other.curves[name], outcome.curves[name])
    assert (other.curves["class_noise"] != outcome.curves["class_noise"]).any()


def test_permuting_test_labels_changes_no_epoch_chosen_by_the_hold_out(
    task: Task, outcome: Outcome
) -> None:
    other = train(SPEC, Toy, replace(task, test_y=task.test_y.roll(1)))
    for rule in ("covering_rate", "approximated_accuracy"):
        assert other.result.epoch[rule] == outcome.result.epoch[rule]
    assert other.result.accuracy["last"] != outcome.result.accuracy["last"]
