"""Identities between methods (a) to (g): what each published difference amounts to."""

from dataclasses import fields
from typing import Any

import pytest
import torch

from pllbench.method import Batch, Method, Problem
from pllbench_methods.asyco import AsyCo
from pllbench_methods.cc import CC
from pllbench_methods.ncpd import NCPD
from pllbench_methods.proden import PRODEN
from pllbench_methods.rc import RC
from pllbench_methods.shared.confidence import confidence
from pllbench_methods.shared.losses import log_candidate_prob, soft_cross_entropy
from pllbench_methods.supervised import Supervised
from tests.methods.fakes import (
    BUILTIN,
    assert_equal_states,
    lookup_problem,
    make,
    normal,
    random_candidates,
    random_problem,
    sgd,
    train_step,
    trained,
)

CANDIDATES = random_candidates()


def test_a_rc_with_refresh_before_the_step_is_proden() -> None:
    rc = make(RC, random_problem(CANDIDATES), refresh="pre_step")
    proden = make(PRODEN, random_problem(CANDIDATES))
    assert_equal_states(trained(rc, CANDIDATES, range(3)), trained(proden, CANDIDATES, range(3)))


def test_a_rc_by_default_is_not_proden() -> None:
    rc = trained(make(RC, random_problem(CANDIDATES)), CANDIDATES, range(3))
    proden = trained(make(PRODEN, random_problem(CANDIDATES)), CANDIDATES, range(3))
    assert not torch.allclose(rc.confidence, proden.confidence, atol=1e-3)


def test_b_with_the_current_confidence_cross_entropy_has_the_gradient_of_cc() -> None:
    logits = normal(1, len(CANDIDATES), 5).requires_grad_()
    target = confidence(logits, CANDIDATES)
    (cc,) = torch.autograd.grad(-log_candidate_prob(logits, CANDIDATES).sum(), logits)
    (rc,) = torch.autograd.grad(soft_cross_entropy(logits.log_softmax(-1), target).sum(), logits)
    torch.testing.assert_close(cc, rc)
    torch.testing.assert_close(cc, logits.detach().softmax(-1) - target)


def test_c_asyco_without_auxiliary_is_asyco_before_the_hand_over() -> None:
    whole = trained(make(AsyCo, random_problem(CANDIDATES)), CANDIDATES, [0, 1, 18, 19])
    alone = make(AsyCo, random_problem(CANDIDATES), auxiliary=False)
    trained(alone, CANDIDATES, [0, 1, 18, 19])
    assert_equal_states(alone.network, whole.network)
    assert torch.equal(alone.confidence, whole.confidence)
    trained(whole, CANDIDATES, [120, 121])
    trained(alone, CANDIDATES, [120, 121])
    assert not torch.allclose(alone.confidence, whole.confidence, atol=1e-4)


def test_d_asyco_without_lambda_and_refinement_trains_by_cc() -> None:
    epochs = [0, 1, 20, 120]
    asyco = make(AsyCo, random_problem(CANDIDATES), tau=1.0, lambda_max=0, mu_max=0)
    cc = make(CC, random_problem(CANDIDATES))
    trained(asyco, CANDIDATES, epochs)
    assert_equal_states(asyco.network, trained(cc, CANDIDATES, epochs).network, tolerance=1e-5)


def test_e_ncpd_with_equal_networks_that_predict_candidates_is_cc() -> None:
    logits = normal(1, len(CANDIDATES), 5)
    candidates = CANDIDATES.scatter(1, logits[0].argmax(1, keepdim=True), True)
    problem, batch = lookup_problem(candidates, logits, logits, logits)
    ncpd, cc = make(NCPD, problem, num_strong=0), make(CC, problem, num_strong=0)
    ncpd.epoch = 199
    for method in (ncpd, cc):
        for _ in range(3):
            train_step(method, batch, sgd(method, lr=5.0))
    assert_equal_states(ncpd.network, cc.network, tolerance=1e-5)
    assert_equal_states(ncpd.peer, cc.network, tolerance=1e-5)
    assert not torch.allclose(cc.network.classifier.weight, logits[0].T, atol=1e-2)


@pytest.mark.parametrize("cls", [CC, RC, PRODEN, NCPD])
def test_f_with_singletons_everything_is_supervised(cls: type[Method[Any]]) -> None:
    singletons = torch.eye(5, dtype=torch.bool)[torch.arange(24) % 5]
    method = trained(make(cls, random_problem(singletons)), singletons, range(2))
    supervised = make(Supervised, random_problem(singletons))
    trained(supervised, singletons, range(2))
    network = method.get_submodule("network")
    if cls is RC:  # whose second pass moves BatchNorm statistics once more
        torch.testing.assert_close(
            dict(network.named_parameters()),
            dict(supervised.network.named_parameters()),
            atol=1e-5,
            rtol=1e-5,
        )
    else:
        assert_equal_states(network, supervised.network, tolerance=1e-5)


def test_g_no_method_can_see_a_true_label() -> None:
    """What a method is given holds no labels, so permuting them cannot change a parameter."""
    known = {"candidates", "epochs", "make_network", "input_shape"}
    assert {field.name for field in fields(Problem)} == known
    assert {field.name for field in fields(Batch)} == {"x", "index", "candidates"}
    assert [cls for cls in BUILTIN if cls.labels == "true"] == [Supervised]
