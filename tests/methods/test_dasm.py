"""The examples of docs/methods/dasm.md, DASM's options and its twin."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench.testing.support import toy_spec, toy_task, train_in_pieces
from pllbench.training.step import take_step
from pllbench.training.trainer import train
from pllbench_methods.cc import CC
from pllbench_methods.dasm import DASM
from pllbench_methods.proden import PRODEN
from tests.methods.fakes import (
    assert_equal_states,
    log,
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_batches,
    random_candidates,
    random_problem,
    sets,
    sgd,
    softmax,
)

WEAK, STRONG = [0.5, 0.3, 0.2], [0.6, 0.1, 0.3]
CANDIDATES = random_candidates()


def made(*views: list[float], **hparams: object) -> tuple[DASM, Batch]:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(*views)[:, None])
    return make(DASM, problem, **hparams), batch


def test_each_view_learns_from_the_other() -> None:
    """Example 1."""
    method, batch = made(WEAK, STRONG)
    step = method.loss(batch)
    step.loss.backward()
    assert step.loss.item() == pytest.approx(0.853723, abs=1e-6)
    assert step.loss.item() == pytest.approx((0.708868 + 0.998577) / 2, abs=2e-6)
    gradient = logit_gradient(method.network, 2)[0, 0]
    expected = torch.tensor([-0.083333, 0.15, -0.066667])
    torch.testing.assert_close(gradient, expected, atol=1e-6, rtol=0)


def test_two_equal_views_have_the_gradient_of_cc() -> None:
    """Example 2: learning from its own current confidence, a view is CC: crossing differs."""
    method, batch = made(WEAK, WEAK)
    step = method.loss(batch)
    step.loss.backward()
    assert step.loss.item() == pytest.approx(0.954945, abs=1e-6)
    gradient = 2 * logit_gradient(method.network, 2)[0, 0]
    expected = torch.tensor([-0.214286, 0.3, -0.085714])
    torch.testing.assert_close(gradient, expected, atol=1e-6, rtol=0)
    problem, single = lookup_problem(sets({0, 2}, num_classes=3), log(WEAK)[None])
    cc = make(CC, problem, num_strong=0)
    cc.loss(single).loss.backward()
    torch.testing.assert_close(gradient, logit_gradient(cc.network)[0, 0])


def test_uniform_targets_during_the_warmup() -> None:
    """Example 3."""
    method, batch = made(WEAK, STRONG, warmup=10)
    uniform = -(np.log(0.5 * 0.2) + np.log(0.6 * 0.3)) / 4
    for epoch, expected in ((0, uniform), (9, uniform), (10, 0.853723)):
        method.epoch = epoch
        assert method.loss(batch).loss.item() == pytest.approx(expected, abs=1e-6)


def test_stored_confidence_is_that_of_the_last_visit_and_crosses_too() -> None:
    method, batch = made(WEAK, STRONG, store=True)
    uniform = -(np.log(0.5 * 0.2) + np.log(0.6 * 0.3)) / 4
    assert method.loss(batch).loss.item() == pytest.approx(uniform, abs=1e-6)
    assert method.stored is not None
    expected = torch.tensor([[[0.714286, 0, 0.285714]], [[0.666667, 0, 0.333333]]])
    torch.testing.assert_close(method.stored, expected, atol=1e-6, rtol=0)
    assert method.loss(batch).loss.item() == pytest.approx(0.853723, abs=1e-6)


def test_with_a_store_and_two_equal_views_dasm_is_proden() -> None:
    """Example 4."""
    dasm = make(DASM, random_problem(CANDIDATES), store=True)
    proden = make(PRODEN, random_problem(CANDIDATES), num_strong=0)
    optimizers = sgd(dasm), sgd(proden)
    for epoch in range(3):
        for batch in random_batches(dasm, CANDIDATES, seed=epoch):
            weak = batch.x[0]
            take_step(dasm, Batch((weak, weak), batch.index, batch.candidates), optimizers[0])
            take_step(proden, Batch((weak,), batch.index, batch.candidates), optimizers[1])
    torch.testing.assert_close(
        dict(dasm.network.named_parameters()), dict(proden.network.named_parameters())
    )
    assert dasm.stored is not None
    torch.testing.assert_close(dasm.stored, torch.stack([proden.confidence] * 2))


def test_without_a_store_there_is_no_state_but_the_network() -> None:
    method, _ = made(WEAK, STRONG)
    assert all(name.startswith("network.") for name in method.state_dict())


def test_pseudo_label_is_the_weak_views_best_candidate() -> None:
    method, batch = made([0.1, 0.7, 0.2], STRONG)
    pseudo = method.loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]


def test_views_and_prediction() -> None:
    method, batch = made(WEAK, STRONG)
    assert method.views == ("weak", "strong")
    torch.testing.assert_close(method.predict(batch.x[1]), log(STRONG))


def test_it_stands_for_no_publication() -> None:
    assert (DASM.year, DASM.venue) == (None, "")


@pytest.mark.parametrize("store", [False, True])
def test_twin(store: bool) -> None:
    candidates, logits = random_candidates(8), normal(2, 8, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(DASM, problem, store=store)
    target = softmax(logits) * candidates.numpy()
    target /= target.sum(-1, keepdims=True)
    if store:
        inside: Tensor = normal(2, 8, 5, seed=4).masked_fill(~candidates, -torch.inf).softmax(-1)
        assert method.stored is not None
        method.stored.copy_(inside)
        target = inside.double().numpy()
    twin = 0.0
    for v in range(2):
        for i in range(8):
            twin -= target[1 - v, i] @ np.log(softmax(logits)[v, i]) / 16
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)


def test_a_run_with_a_store_resumes_exactly() -> None:
    task, spec = toy_task(48), toy_spec(DASM).model_copy(update={"hparams": {"store": True}})
    whole, pieces = train(spec, DASM, task), train_in_pieces(DASM, spec, task)
    assert_equal_states(whole.method, pieces.method)
