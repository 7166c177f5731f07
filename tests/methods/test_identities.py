"""The statements of docs/methods/identities.md: what each difference between methods amounts to."""

import math
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from pllbench.method import Batch, Method, Problem
from pllbench.training.step import take_step
from pllbench_methods.abs_gce import ABSGCE
from pllbench_methods.abs_mae import ABSMAE
from pllbench_methods.asyco import AsyCo
from pllbench_methods.cavl import CAVL
from pllbench_methods.cc import CC
from pllbench_methods.dpll import DPLL
from pllbench_methods.forward_correction import ForwardCorrection
from pllbench_methods.gfws import GFWS
from pllbench_methods.lws import LWS
from pllbench_methods.mcl_gce import MCLGCE
from pllbench_methods.mcl_log import MCLLOG
from pllbench_methods.mcl_mae import MCLMAE
from pllbench_methods.mcl_mse import MCLMSE
from pllbench_methods.ncpd import NCPD
from pllbench_methods.proden import PRODEN
from pllbench_methods.rc import RC
from pllbench_methods.scl_nl import SCLNL
from pllbench_methods.shared.confidence import confidence
from pllbench_methods.shared.losses import log_candidate_prob, soft_cross_entropy
from pllbench_methods.supervised import Supervised
from tests.methods.fakes import (
    BUILTIN,
    assert_equal_states,
    lookup_problem,
    loss_and_gradient,
    make,
    normal,
    random_candidates,
    random_problem,
    sgd,
    trained,
)


@pytest.fixture(scope="module")
def candidates() -> Tensor:
    """Sets of all sizes, [24, 5]."""
    return random_candidates()


def test_rc_with_refresh_before_the_step_is_proden(candidates: Tensor) -> None:
    rc = make(RC, random_problem(candidates), refresh="pre_step")
    proden = make(PRODEN, random_problem(candidates))
    assert_equal_states(trained(rc, candidates, range(3)), trained(proden, candidates, range(3)))


def test_rc_by_default_is_not_proden(candidates: Tensor) -> None:
    rc = trained(make(RC, random_problem(candidates)), candidates, range(3))
    proden = trained(make(PRODEN, random_problem(candidates)), candidates, range(3))
    assert not torch.allclose(rc.confidence, proden.confidence, atol=1e-3)


def test_with_the_current_confidence_cross_entropy_has_the_gradient_of_cc(
    candidates: Tensor,
) -> None:
    logits = normal(1, len(candidates), 5).requires_grad_()
    target = confidence(logits, candidates)
    (cc,) = torch.autograd.grad(-log_candidate_prob(logits, candidates).sum(), logits)
    (rc,) = torch.autograd.grad(soft_cross_entropy(logits.log_softmax(-1), target).sum(), logits)
    torch.testing.assert_close(cc, rc)
    torch.testing.assert_close(cc, logits.detach().softmax(-1) - target)


def test_asyco_without_auxiliary_is_asyco_before_the_hand_over(candidates: Tensor) -> None:
    whole = trained(make(AsyCo, random_problem(candidates)), candidates, [0, 1, 18, 19])
    alone = make(AsyCo, random_problem(candidates), auxiliary=False)
    trained(alone, candidates, [0, 1, 18, 19])
    assert_equal_states(alone.network, whole.network)
    assert torch.equal(alone.confidence, whole.confidence)
    trained(whole, candidates, [120, 121])
    trained(alone, candidates, [120, 121])
    assert not torch.allclose(alone.confidence, whole.confidence, atol=1e-4)


def test_asyco_without_lambda_and_refinement_trains_by_cc(candidates: Tensor) -> None:
    epochs = [0, 1, 20, 120]
    asyco = make(AsyCo, random_problem(candidates), tau=1.0, lambda_max=0, mu_max=0)
    cc = make(CC, random_problem(candidates))
    trained(asyco, candidates, epochs)
    assert_equal_states(asyco.network, trained(cc, candidates, epochs).network, tolerance=1e-5)


def test_ncpd_with_equal_networks_that_predict_candidates_is_cc(candidates: Tensor) -> None:
    logits = normal(1, len(candidates), 5)
    predicted = candidates.scatter(1, logits[0].argmax(1, keepdim=True), True)
    problem, batch = lookup_problem(predicted, logits, logits, logits)
    ncpd, cc = make(NCPD, problem, num_strong=0), make(CC, problem, num_strong=0)
    ncpd.epoch = 199
    for method in (ncpd, cc):
        for _ in range(3):
            take_step(method, batch, sgd(method, lr=5.0))
    assert_equal_states(ncpd.network, cc.network, tolerance=1e-5)
    assert_equal_states(ncpd.peer, cc.network, tolerance=1e-5)
    assert not torch.allclose(cc.network.classifier.weight, logits[0].T, atol=1e-2)


@pytest.mark.parametrize("cls", [CC, RC, PRODEN, NCPD, CAVL, MCLLOG])
def test_with_singletons_everything_is_supervised(cls: type[Method[Any]]) -> None:
    singletons = torch.eye(5, dtype=torch.bool)[torch.arange(24) % 5]
    method = trained(make(cls, random_problem(singletons)), singletons, range(2))
    supervised = make(Supervised, random_problem(singletons))
    trained(supervised, singletons, range(2))
    network = method.get_submodule("network")
    if cls in (RC, CAVL):  # whose second pass moves BatchNorm statistics once more
        torch.testing.assert_close(
            dict(network.named_parameters()),
            dict(supervised.network.named_parameters()),
            atol=1e-5,
            rtol=1e-5,
        )
    else:
        assert_equal_states(network, supervised.network, tolerance=1e-5)


def test_no_method_can_see_a_true_label() -> None:
    """What a method is given holds no labels, so permuting them cannot change a parameter."""
    known = {field.name for field in fields(Problem)}
    assert known == {"candidates", "epochs", "make_network", "shape"}
    assert {field.name for field in fields(Batch)} == {"x", "index", "candidates"}
    assert [cls for cls in BUILTIN if cls.labels == "true"] == [Supervised]


def test_lws_with_singletons_is_not_supervised() -> None:
    """Its sigmoid loss is bounded, and non-candidates are pushed down beside the label."""
    singletons = torch.eye(5, dtype=torch.bool)[torch.arange(24) % 5]
    method = trained(make(LWS, random_problem(singletons)), singletons, range(2))
    supervised = trained(make(Supervised, random_problem(singletons)), singletons, range(2))
    (found, *_), (other, *_) = method.network.parameters(), supervised.network.parameters()
    assert not torch.allclose(found, other, atol=1e-2)


def test_forward_correction_with_a_uniform_matrix_trains_as_scl_nl(candidates: Tensor) -> None:
    forward = trained(make(ForwardCorrection, random_problem(candidates)), candidates, range(2))
    scl_nl = trained(make(SCLNL, random_problem(candidates)), candidates, range(2))
    assert_equal_states(forward.network, scl_nl.network, tolerance=1e-4)
    logits = normal(1, len(candidates), 5)
    constant = loss_and_gradient(ForwardCorrection, logits, candidates)[0]
    constant -= loss_and_gradient(SCLNL, logits, candidates)[0]
    assert constant == pytest.approx(math.log(4), rel=1e-5)


def test_scl_nl_summed_over_instances_is_the_supervised_term_of_dpll(candidates: Tensor) -> None:
    logits = normal(1, len(candidates), 5)
    scl_nl = loss_and_gradient(SCLNL, logits, candidates, reduction="instances")
    dpll = loss_and_gradient(DPLL, logits, candidates)  # at epoch 0, without consistency
    torch.testing.assert_close(scl_nl, dpll)


def test_with_one_complementary_label_scl_nl_is_cc() -> None:
    candidates = ~torch.eye(5, dtype=torch.bool)[torch.arange(24) % 5]
    logits = normal(3, 24, 5)
    found = loss_and_gradient(SCLNL, logits, candidates)
    torch.testing.assert_close(found, loss_and_gradient(CC, logits, candidates))


def test_gfws_without_balance_is_that_term_and_the_gradient_of_cc(candidates: Tensor) -> None:
    logits = normal(1, len(candidates), 5)
    _, gfws = loss_and_gradient(GFWS, logits, candidates, balance=0.0)
    _, dpll = loss_and_gradient(DPLL, logits, candidates)
    _, cc = loss_and_gradient(CC, logits, candidates)
    torch.testing.assert_close(gfws, dpll + cc)


def test_abs_gce_with_exponent_1_is_half_of_abs_mae(candidates: Tensor) -> None:
    logits = normal(3, len(candidates), 5)
    gce = loss_and_gradient(ABSGCE, logits, candidates, exponent=1.0)
    loss, gradient = loss_and_gradient(ABSMAE, logits, candidates)
    torch.testing.assert_close(gce, (loss / 2, gradient / 2))


def test_the_gradient_of_abs_mae_is_that_of_cc_times_2_p_of_y_over_its_size(
    candidates: Tensor,
) -> None:
    logits = normal(1, len(candidates), 5)
    _, mae = loss_and_gradient(ABSMAE, logits, candidates)
    _, cc = loss_and_gradient(CC, logits, candidates)
    prob = (logits.softmax(-1) * candidates).sum(-1, keepdim=True)
    torch.testing.assert_close(mae, cc * 2 * prob / candidates.sum(-1, keepdim=True))


def test_mcl_log_with_sets_of_one_size_is_a_multiple_of_cc() -> None:
    order = torch.rand(24, 5, generator=torch.Generator().manual_seed(0)).argsort(1)
    candidates, logits = order < 3, normal(3, 24, 5)
    loss, gradient = loss_and_gradient(CC, logits, candidates)
    found = loss_and_gradient(MCLLOG, logits, candidates)
    torch.testing.assert_close(found, (2 * loss, 2 * gradient))  # (C - 1) / (C - |Y|)


@pytest.mark.parametrize(
    ("cls", "average"), [(MCLMAE, ABSMAE), (MCLGCE, ABSGCE)], ids=["MAE", "GCE"]
)
def test_with_singletons_unbiased_risks_are_ordinary_losses(
    cls: type[Method[Any]], average: type[Method[Any]]
) -> None:
    """As are averages of one candidate."""
    singletons = torch.eye(5, dtype=torch.bool)[torch.arange(24) % 5]
    logits = normal(3, 24, 5)
    found = loss_and_gradient(cls, logits, singletons)
    torch.testing.assert_close(found, loss_and_gradient(average, logits, singletons))


def test_with_singletons_mcl_mse_is_the_brier_score() -> None:
    labels, logits = torch.arange(24) % 5, normal(1, 24, 5)
    target = torch.eye(5)[labels]
    loss, _ = loss_and_gradient(MCLMSE, logits, target.bool())
    brier = (logits[0].softmax(-1) - target).square().sum(-1).mean().item()
    assert loss == pytest.approx(brier, rel=1e-5)
