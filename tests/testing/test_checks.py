"""The conformance suite can fail: each check has methods that are wrong in its one respect."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by

from pllbench.method import Method
from pllbench.spec import RunSpec
from pllbench.testing import Check, checks, method_checks
from pllbench.training.isolation import ProcessState
from pllbench.training.task import Task
from pllbench.training.trainer import Outcome, train
from tests.testing import (
    broken_effects,
    broken_numbers,
    broken_state,
    broken_steps,
    fitted_methods,
)
from tests.testing.correct_methods import Full, Minimal, Supervised
from tests.testing.fitted_methods import Centroids, Reference

DECLARED = "declares itself properly"
STEP = "returns a proper step"
LEARNS = "learns a toy problem"
PREDICTS = "predicts each row by itself"
STATE = "keeps all state in state_dict"
RESUMES = "resumes bit-exactly from a checkpoint"
EXTREMES = "is finite at extreme logits"
SETS = "takes singleton and full candidate sets"
LAST = "takes a last batch of one row"
LARGE = "takes a batch larger than the data set"
SINGLE = "runs for a single epoch"
COMPILED = "trains alike when compiled"
CPU = "asks nothing of the CPU in a step"
LABELS = "never sees true labels"
INPUTS = "writes to none of its inputs"
PROCESS = "leaves its process as it was"
TRAINS = {LEARNS, RESUMES, SETS, LAST, LARGE, SINGLE, LABELS, INPUTS, PROCESS}
"""Those that train in the real trainer."""

ALL = {
    *(DECLARED, STEP, LEARNS, PREDICTS, STATE, RESUMES),
    *(EXTREMES, SETS, LAST, LARGE, SINGLE, COMPILED, CPU),
    *(INPUTS, PROCESS, LABELS),
}

PSEUDO = "returns proper pseudo labels"
REPEATS = "repeats a run bit for bit"
BATCHES = "fits the same from batches of any size"
ROWS = "takes equal, constant and all-zero rows"
ALL_FITTED = {
    *(DECLARED, PSEUDO, LEARNS, PREDICTS, STATE, REPEATS, BATCHES, SETS, ROWS, LABELS),
    *(INPUTS, PROCESS),
}


def failures(cls: type[Method[Any]]) -> dict[str, str]:
    """Reasons by name of the checks that a method fails."""
    reasons = {}
    for check in method_checks(cls):
        try:
            check.run()
        except AssertionError as error:
            reasons[check.name] = str(error)
    return reasons


@pytest.mark.parametrize(
    "cls",
    [
        Minimal,
        Supervised,
        Full,
        Centroids,
        Reference,
        fitted_methods.Silent,
    ],
)
def test_correct_methods_pass(cls: type[Method[Any]]) -> None:
    assert failures(cls) == {}


def test_all_checks_apply_but_that_of_labels_to_supervised_references() -> None:
    assert {check.name for check in method_checks(Minimal)} == ALL
    assert {check.name for check in method_checks(Supervised)} == ALL - {LABELS}
    assert {check.name for check in method_checks(Centroids)} == ALL_FITTED
    assert {check.name for check in method_checks(Reference)} == ALL_FITTED - {LABELS}


BROKEN: dict[type[Method[Any]], set[str]] = {
    broken_steps.VersionZero: {DECLARED},
    broken_steps.UnknownLabels: {DECLARED},
    broken_steps.UnknownFamily: {DECLARED},
    broken_steps.Undocumented: {DECLARED},
    broken_steps.NotFrozen: {DECLARED},
    broken_steps.Required: ALL,  # nothing can be made with default hyperparameters
    broken_steps.UnknownView: ALL,
    broken_steps.RestartsByTensor: {DECLARED},
    broken_steps.ConfidentOfOneRow: {DECLARED},
    broken_steps.NegativelyConfident: {DECLARED},
    broken_steps.PseudoOutside: {STEP},
    broken_steps.PseudoNoClass: TRAINS | {STEP},
    broken_steps.PseudoColumn: TRAINS | {STEP},
    broken_steps.OtherwiseCompiled: {COMPILED},
    broken_steps.AsksForItsLoss: {CPU},
    broken_steps.DrawsOnTheCPU: {CPU},
    broken_steps.InfiniteSchedule: {DECLARED},
    broken_steps.LogWithGradient: {STEP},
    broken_steps.LossOfOneElement: {STEP},
    broken_steps.NoGradient: ALL - {DECLARED},
    broken_steps.Majority: {LEARNS},
    broken_steps.WrongWay: {LEARNS},
    broken_steps.OneColumnMore: TRAINS | {PREDICTS},  # evaluation refuses it
    broken_steps.BatchCentred: {PREDICTS},
    broken_steps.Squeezed: {PREDICTS},
    broken_steps.RandomScores: {PREDICTS, STATE},
    broken_steps.CountsPredictions: {PREDICTS},
    broken_steps.ShortExtra: TRAINS | {PREDICTS},
    broken_steps.OtherPredictions: {PREDICTS},
    broken_state.PlainConfidence: {STATE, RESUMES, CPU},
    broken_state.PlainConstant: {STATE},
    broken_state.UnsavedBuffer: {STATE},
    broken_state.StepCounter: {STATE, RESUMES},
    broken_state.IdleCounter: {STATE},
    broken_state.History: {STATE, RESUMES, CPU},
    broken_state.PlainModules: {STATE, RESUMES, CPU},
    broken_state.NumpyGenerator: {STATE, RESUMES},
    broken_state.NumpyGlobal: {STATE, RESUMES, COMPILED, LABELS},
    broken_state.RestartsOnce: {RESUMES},
    broken_state.LateBuffer: {STATE, RESUMES},
    broken_state.ForeignState: {RESUMES},
    broken_numbers.NaiveLog: {EXTREMES},
    broken_numbers.NaNGradient: {EXTREMES},
    broken_numbers.Complementary: {SETS},
    broken_numbers.Standardised: {LAST},
    broken_numbers.SmallQueue: {LARGE},
    broken_numbers.LastEpochIsOne: {SINGLE},
    broken_numbers.FrameReader: {LABELS},
    fitted_methods.StateInFit: {STATE},
    fitted_methods.PlainState: {STATE},
    fitted_methods.PlainNumber: {STATE},
    fitted_methods.ForeignState: {STATE},
    fitted_methods.PseudoOutside: {PSEUDO},
    fitted_methods.PseudoColumn: ALL_FITTED - {DECLARED, PREDICTS, STATE, BATCHES},
    fitted_methods.Majority: {LEARNS},
    fitted_methods.BatchCentred: {PREDICTS},
    fitted_methods.NumpyGlobal: {REPEATS, BATCHES, LABELS},
    fitted_methods.FirstBatch: {BATCHES},
    fitted_methods.SmallSets: {SETS},
    fitted_methods.Cosine: {ROWS},
    fitted_methods.FrameReader: {LABELS},
    broken_effects.ScalesTraining: {INPUTS},
    broken_effects.GrowsSetsAtStart: {INPUTS},
    broken_effects.ScalesBatch: {INPUTS},
    broken_effects.GrowsSets: {INPUTS},
    broken_effects.ScalesRows: {INPUTS},
    broken_effects.ScalesRowsOfHeads: {INPUTS, PREDICTS},
    broken_effects.LeavesDtype: {PROCESS, RESUMES, LABELS, SETS},
    broken_effects.LeavesDevice: ALL - {DECLARED, STEP, STATE, EXTREMES, SINGLE, COMPILED, CPU},
    broken_effects.LeavesGradMode: ALL - {DECLARED},
    broken_effects.LeavesThreads: {PROCESS},
    broken_effects.LeavesDeterminism: {PROCESS},
    broken_effects.LeavesHook: {PROCESS},
    broken_effects.LeavesPatch: {PROCESS},
    broken_effects.LeavesDirectory: {PROCESS},
    broken_effects.LeavesEnvironment: {PROCESS},
    broken_effects.Exits: ALL - {DECLARED, STEP, COMPILED, CPU},
    broken_effects.Forks: ALL - {DECLARED, STEP, COMPILED, CPU},
    broken_effects.ExitsAtOnce: ALL - {DECLARED, STEP, COMPILED, CPU},
}
"""The checks that each method must fail; it must pass all others."""


@pytest.mark.parametrize("cls", BROKEN)
def test_a_broken_method_fails_the_checks_that_it_should(cls: type[Method[Any]]) -> None:
    reasons = failures(cls)
    assert reasons.keys() == BROKEN[cls], reasons


EFFECTS: dict[type[Method[Any]], str] = {
    broken_effects.ScalesBatch: "loss writes to view 0 of its batch",
    broken_effects.GrowsSets: "after_step writes to batch.candidates",
    broken_effects.ScalesTraining: "fit writes to view 0 of its batch",
    broken_effects.GrowsSetsAtStart: "on_epoch_start writes to batch.candidates",
    broken_effects.ScalesRows: "predict writes to x",
    broken_effects.ScalesRowsOfHeads: "extra_predictions writes to x",
    broken_effects.LeavesDtype: "the default dtype",
    broken_effects.LeavesDevice: "the default device",
    broken_effects.LeavesGradMode: "the grad mode",
    broken_effects.LeavesThreads: "the number of threads",
    broken_effects.LeavesDeterminism: "deterministic algorithms",
    broken_effects.LeavesHook: "hooks of torch (forward_pre_hooks): ",
    broken_effects.LeavesPatch: "torch.nn.functional.softmax",
    broken_effects.LeavesDirectory: "the working directory",
    broken_effects.LeavesEnvironment: "the environment: BROKEN_EFFECTS",
}
"""What the check says that each method does."""


@pytest.mark.parametrize("cls", EFFECTS)
def test_a_side_effect_is_named_and_no_check_leaves_it(cls: type[Method[Any]]) -> None:
    before = ProcessState.capture()
    reasons = failures(cls)
    assert EFFECTS[cls] in reasons.get(INPUTS, "") + reasons.get(PROCESS, "")
    assert before.restore() == []


def as_candidates(task: Task) -> Task:
    return replace(task, candidates=F.one_hot(task.y, task.candidates.shape[1]).bool())


def as_feature(task: Task) -> Task:
    return replace(task, x=torch.cat([task.x[:, :-1], task.y[:, None]], 1))


def as_order(task: Task) -> Task:
    order = task.y.argsort(stable=True)
    return replace(
        task, x=task.x[order], candidates=task.candidates[order], true_labels=task.y[order]
    )


@pytest.mark.parametrize("leak", [as_candidates, as_feature, as_order])
def test_a_trainer_that_leaks_true_labels_fails_the_check_of_labels(
    leak: Callable[[Task], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The method is right, and yet it comes to know the true labels."""

    def leaking(spec: RunSpec, cls: type[Method[Any]], task: Task) -> Outcome:
        return train(spec, cls, leak(task))

    monkeypatch.setattr(checks, "train", leaking)
    (check,) = (check for check in method_checks(Minimal) if check.name == LABELS)
    with pytest.raises(AssertionError, match="changes with the true labels"):
        check.run()


@pytest.mark.parametrize(
    ("needed", "rates", "learns"),
    [(0.1, [0.1], True), (0.01, [0.1, 0.01], True), (0.001, [0.1, 0.01], False)],
)
def test_a_method_may_need_a_tenth_of_the_learning_rate(
    needed: float, rates: list[float], learns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []

    def training(spec: RunSpec, cls: type[Method[Any]], task: Task) -> Outcome:
        tried.append(spec.train.lr)
        return train(spec, Minimal if spec.train.lr <= needed else broken_steps.Majority, task)

    monkeypatch.setattr(checks, "train", training)
    (check,) = (check for check in method_checks(Minimal) if check.name == LEARNS)
    if learns:
        check.run()
    else:
        with pytest.raises(AssertionError, match="accuracy on separable blobs is 0"):
            check.run()
    assert tried == rates


def raising(error: BaseException) -> Check:
    def verify() -> None:
        raise error

    return Check("fails", verify)


def test_whatever_a_method_raises_is_a_failure_with_one_line() -> None:
    with pytest.raises(AssertionError) as caught:
        raising(OSError("no\n  disk")).run()
    assert str(caught.value) == "it raises OSError: no disk"
    with pytest.raises(AssertionError, match=r"^it raises AssertionError: shapes differ$"):
        raising(AssertionError("shapes\n  differ")).run()
    with pytest.raises(KeyboardInterrupt):
        raising(KeyboardInterrupt()).run()


def test_a_check_reads_as_its_name() -> None:
    assert str(Check("learns", lambda: None)) == "learns"


def test_a_check_neither_reads_nor_moves_the_global_generator() -> None:
    drawn: list[float] = []
    check = Check("draws", lambda: drawn.append(torch.rand(()).item()))
    before = torch.get_rng_state()
    check.run()
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(())
    check.run()
    assert drawn[0] == drawn[1]
