"""Facts AC-1 to AC-10, CE-1, CE-2, DA-1, DA-2, the options of AsyCo and its twin."""

import math

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from pllbench.method import Batch
from pllbench_methods.asyco import AsyCo, AsyCoHparams, similarity_loss
from pllbench_methods.shared.confidence import confidence
from tests.methods.fakes import (
    Array,
    assert_equal_states,
    geometric_mean,
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
    start_epoch,
    train_step,
    trained,
)

LATER = 120  # an epoch of co-training in which gamma is 1


def co_training(
    main: Tensor, auxiliary: Tensor, candidates: Tensor, **hparams: object
) -> tuple[AsyCo, Batch]:
    """AsyCo after the hand-over, whose networks have the given logits [V, B, C] at tau = 1."""
    problem, batch = lookup_problem(candidates, main, auxiliary)
    method = make(AsyCo, problem, **{"tau": 1.0, "num_strong": len(main) - 1, **hparams})
    method.handed_over.fill_(True)
    method.epoch = LATER
    return method, batch


def auxiliary_part(
    auxiliary: Tensor, candidates: Tensor, pseudo: Tensor, gamma: float, **hparams: object
) -> float:
    """L_aux of auxiliary logits [V, B, C]."""
    method, _ = co_training(torch.zeros_like(auxiliary), auxiliary, candidates, **hparams)
    return method.auxiliary_loss(auxiliary, pseudo, candidates, gamma).item()


def test_ac1_temperature_flattens_probabilities() -> None:
    problem, batch = lookup_problem(
        sets({0, 1}, num_classes=2), torch.tensor([[[20.0, 0.0]]]), torch.zeros(1, 1, 2)
    )
    method = make(AsyCo, problem, num_strong=0)
    expected = torch.tensor([[0.731059, 0.268941]])
    torch.testing.assert_close(method.predict(batch.x[0]).softmax(-1), expected, atol=1e-6, rtol=0)
    method.loss(batch)
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("epoch", "gamma", "capped"),
    [(0, 0.0, 0.0), (20, 0.2, 0.2), (50, 0.5, 0.5), (100, 1.0, 0.5), (150, 1.0, 0.5)],
)
def test_ac2_gamma(epoch: int, gamma: float, capped: float) -> None:
    assert AsyCoHparams().gamma(epoch) == pytest.approx(gamma)
    assert AsyCoHparams(gamma_cap=0.5).gamma(epoch) == pytest.approx(capped)
    assert AsyCoHparams(lambda_max=0).gamma(epoch) == 0


@pytest.mark.parametrize(
    ("epoch", "mu"), [(70, 0), (71, 0.02), (100, 0.6), (114, 0.88), (115, 0.9), (199, 0.9)]
)
def test_ac3_mu(epoch: int, mu: float) -> None:
    assert AsyCoHparams().mu(epoch) == pytest.approx(mu)
    assert AsyCoHparams(mu_max=0).mu(epoch) == 0
    assert AsyCoHparams(warmup=50).mu(epoch + 30) == pytest.approx(mu)


def test_ac4_refined_confidence_is_the_convex_combination() -> None:
    candidates = sets({0, 1}, num_classes=3)
    main, auxiliary = log([0.3, 0.2, 0.5])[None], log([0.1, 0.4, 0.5])[None]
    method, batch = co_training(main, auxiliary, candidates)
    method.epoch = 95  # mu = .5
    method.loss(batch)
    expected = torch.tensor([[0.4, 0.6, 0.0]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("sim_diag", "expected"), [(True, 0.471615), (False, 0.478036)])
def test_ac5_similarity_loss(sim_diag: bool, expected: float) -> None:
    loss = similarity_loss(log([0.8, 0.2], [0.3, 0.7])[None], torch.tensor([0, 1]), sim_diag)
    assert loss.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.693806),
        ({"ssl_target": "renorm"}, 0.770895),
        ({"ssl_target": "renorm", "ssl_views": "all", "view_reduction": "sum"}, 2.283666),
    ],
)
def test_ac6_self_supervised_loss(options: dict[str, object], expected: float) -> None:
    views = log([0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.7, 0.2, 0.1])[:, None]
    candidates = sets({0, 1}, num_classes=3)
    loss = auxiliary_part(views, candidates, torch.tensor([0]), gamma=0.0, **options)
    assert loss == pytest.approx(expected, abs=1e-6)


def test_ac6_no_gradient_to_the_target() -> None:
    logits = log([0.6, 0.3, 0.1], [0.5, 0.4, 0.1])[:, None].requires_grad_()
    candidates = sets({0, 1}, num_classes=3)
    method, _ = co_training(torch.zeros(2, 1, 3), torch.zeros(2, 1, 3), candidates)
    method.auxiliary_loss(logits, torch.tensor([0]), candidates, gamma=0.0).backward()
    assert logits.grad is not None
    assert (logits.grad[0] == 0).all()
    torch.testing.assert_close(logits.grad[1], torch.tensor([[-0.15, 0.06, 0.09]]))


def test_ac7_distillation_and_no_gradient_to_its_teacher() -> None:
    candidates = sets({0, 1}, num_classes=2)
    main, auxiliary = log([0.5, 0.5])[None], log([0.7, 0.3])[None]
    losses, gradients = [], []
    for distillation in (True, False):
        method, batch = co_training(main, auxiliary, candidates, distillation=distillation)
        loss = method.loss(batch).loss
        loss.backward()
        losses.append(loss.item())
        assert method.auxiliary is not None
        gradients.append(logit_gradient(method.auxiliary))
    assert losses[0] - losses[1] == pytest.approx(0.082283, abs=1e-6)
    assert torch.equal(gradients[0], gradients[1])


def test_ac8_after_the_hand_over_both_networks_agree() -> None:
    candidates = random_candidates()
    losses, gradients = [], []
    for distillation in (True, False):
        method = make(AsyCo, random_problem(candidates), distillation=distillation)
        trained(method, candidates, [0, 1])
        start_epoch(method, 20)
        batch = next(random_batches(method, candidates))
        loss = method.loss(batch).loss
        method.zero_grad()
        loss.backward()
        losses.append(loss.item())
        gradients.append(method.network.classifier.weight.grad)
        assert method.auxiliary is not None
        with torch.no_grad():
            own, _ = method.network.views(batch.x)
            other, _ = method.auxiliary.views(batch.x)
        torch.testing.assert_close(
            confidence(own, batch.candidates), confidence(other, batch.candidates)
        )
    assert losses[0] == pytest.approx(losses[1], abs=1e-7)
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-7, rtol=0)


def test_ac9_confidence_of_three_views() -> None:
    views = log([0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.2, 0.4, 0.4])[:, None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views, views)
    method = make(AsyCo, problem, tau=1.0)
    method.loss(batch)
    expected = torch.tensor([[0.661869, 0, 0.338131]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_ac10_equal_pseudo_labels_leave_only_the_similar_term() -> None:
    probs = torch.tensor([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])
    loss = similarity_loss(probs.log()[None], torch.tensor([1, 1, 1]))
    assert loss.item() == pytest.approx(-(probs @ probs.T).log().mean().item(), abs=1e-6)


def test_ce1_cross_entropy_auxiliary() -> None:
    loss = auxiliary_part(
        log([0.5, 0.3, 0.2])[None],
        sets({0, 1}, num_classes=3),
        torch.tensor([1]),
        gamma=1.0,
        aux_loss="ce",
    )
    assert loss == pytest.approx(1.203973, abs=1e-6)


def test_ce2_pseudo_label_is_that_of_the_stored_confidence() -> None:
    candidates = sets({0, 1}, num_classes=3)
    main, auxiliary = log([0.9, 0.05, 0.05])[None], log([0.5, 0.3, 0.2])[None]
    method, batch = co_training(main, auxiliary, candidates, aux_loss="ce", distillation=False)
    method.confidence.copy_(torch.tensor([[0.4, 0.6, 0.0]]))
    step = method.loss(batch)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == [1]
    disambiguation = -math.log(0.95) - 0.4 * math.log(0.9) - 0.6 * math.log(0.05)
    assert step.loss.item() == pytest.approx(disambiguation + 1.203973, abs=1e-5)


def test_da1_exponent_is_one_over_the_number_of_views() -> None:
    views = log([0.5, 0.3, 0.2], [0.6, 0.3, 0.1])[:, None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views, views)
    method = make(AsyCo, problem, tau=1.0, num_strong=1)
    method.loss(batch)
    expected = torch.tensor([[0.794787, 0, 0.205213]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_da2_without_strong_views_the_confidence_is_c_and_the_ssl_loss_empty() -> None:
    candidates, logits = sets({0, 2}, num_classes=3), log([0.5, 0.3, 0.2])[None]
    method, batch = co_training(logits, logits, candidates)
    assert method.views == ("weak",)
    method.loss(batch)
    expected = torch.tensor([[0.714286, 0, 0.285714]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)
    assert auxiliary_part(logits, candidates, torch.tensor([0]), gamma=0.0) == 0
    self_training = auxiliary_part(
        logits, candidates, torch.tensor([0]), gamma=0.0, ssl_views="all"
    )
    assert self_training == pytest.approx(-0.5 * math.log(0.5) - 0.2 * math.log(0.2), abs=1e-6)


def test_hand_over_copies_everything_once_at_the_first_epoch_past_the_warmup() -> None:
    candidates = random_candidates()
    method = make(AsyCo, random_problem(candidates, epochs=20))  # epoch 2 is reference epoch 20
    assert method.auxiliary is not None
    before = {name: value.clone() for name, value in method.auxiliary.state_dict().items()}
    trained(method, candidates, [0, 1])
    torch.testing.assert_close(dict(method.auxiliary.state_dict()), before, rtol=0, atol=0)
    assert all(parameter.grad is None for parameter in method.auxiliary.parameters())
    start_epoch(method, 2)
    assert_equal_states(method.auxiliary, method.network)
    assert any(isinstance(module, nn.BatchNorm1d) for module in method.auxiliary.modules())
    train_step(method, next(random_batches(method, candidates)), sgd(method))
    own = [value.clone() for value in method.auxiliary.state_dict().values()]
    start_epoch(method, 3)
    torch.testing.assert_close(list(method.auxiliary.state_dict().values()), own, rtol=0, atol=0)


def test_hand_over_is_not_repeated_after_a_resume() -> None:
    candidates = random_candidates()
    method = trained(make(AsyCo, random_problem(candidates)), candidates, [19, 20])
    resumed = make(AsyCo, random_problem(candidates))
    resumed.load_state_dict(method.state_dict())
    start_epoch(resumed, 21)
    assert_equal_states(resumed, method)


def test_without_warmup_co_training_starts_at_once() -> None:
    candidates = random_candidates()
    method = make(AsyCo, random_problem(candidates), warmup=0)
    start_epoch(method, 0)
    assert method.auxiliary is not None
    assert_equal_states(method.auxiliary, method.network)


def test_independent_views_give_each_network_its_own() -> None:
    candidates, rows = sets({0, 1}, num_classes=2), log([0.5, 0.5], [0.9, 0.1])[:, None]
    # The lookup batch has two views: view 0 for the disambiguation, view 1 for the auxiliary net.
    problem, batch = lookup_problem(candidates, rows, rows)
    method = make(AsyCo, problem, tau=1.0, num_strong=0, aux_views="independent")
    assert method.views == ("weak", "weak")
    method.handed_over.fill_(True)
    method.epoch = LATER
    method.loss(batch).loss.backward()
    assert method.auxiliary is not None
    touched = [
        logit_gradient(network, 2).abs().sum((1, 2)) > 0
        for network in (method.network, method.auxiliary)
    ]
    assert [views.tolist() for views in touched] == [[True, False], [False, True]]


def test_without_auxiliary_there_is_one_network() -> None:
    problem, batch = lookup_problem(sets({0, 1}, num_classes=2), torch.zeros(1, 1, 2))
    method = make(AsyCo, problem, auxiliary=False, num_strong=0)
    assert method.auxiliary is None
    assert method.extra_predictions(batch.x[0]) == {}


@pytest.mark.parametrize("test_net", ["auxiliary", "ensemble"])
def test_a_test_network_that_is_switched_off_is_refused(test_net: str) -> None:
    with pytest.raises(ValidationError, match="needs the auxiliary network"):
        AsyCoHparams.parse({"auxiliary": False, "test_net": test_net})


@pytest.mark.parametrize(
    ("test_net", "expected"),
    [("disambiguation", [4, 0]), ("auxiliary", [0, 2]), ("ensemble", [2, 1])],
)
def test_test_network(test_net: str, expected: list[int]) -> None:
    main, auxiliary = torch.tensor([[[8.0, 0.0]]]), torch.tensor([[[0.0, 4.0]]])
    method, batch = co_training(
        main, auxiliary, sets({0, 1}, num_classes=2), tau=2.0, test_net=test_net
    )
    assert method.predict(batch.x[0]).tolist() == [expected]
    extra = {name: scores.tolist() for name, scores in method.extra_predictions(batch.x[0]).items()}
    assert extra == {"auxiliary": [[0, 2]], "ensemble": [[2, 1]]}


def total_twin(
    main: Tensor, auxiliary: Tensor, target: Array, candidates: Tensor, gamma: float
) -> float:
    """L_total of Eqs. 5 to 15, term by term in float64."""
    p, a, mask = softmax(main), softmax(auxiliary), candidates.numpy()
    num_views, num, num_classes = p.shape
    pseudo = target.argmax(-1)
    total = 0.0
    for i in range(num):
        for v in range(num_views):
            total -= np.log(sum(p[v, i, k] for k in range(num_classes) if mask[i, k])) / num_views
            for k in np.flatnonzero(mask[i]).tolist():
                total -= gamma * target[i, k] * np.log(p[v, i, k]) / num_views
                if v > 0:
                    total -= a[0, i, k] * np.log(a[v, i, k]) / (num_views - 1)
            for j in range(num):
                dot = float(a[v, i] @ a[v, j])
                likelihood = dot if pseudo[i] == pseudo[j] else 1 - dot
                total -= gamma * np.log(likelihood) / (num * num_views)
        for k in range(num_classes):
            total += gamma * a[0, i, k] * np.log(a[0, i, k] / p[0, i, k])
    return float(total / num)


def test_total_loss_and_confidence_twin() -> None:
    candidates = random_candidates(8)
    main, auxiliary = normal(3, 8, 5), normal(3, 8, 5, seed=1)
    method, batch = co_training(main, auxiliary, candidates)
    method.epoch = 80  # gamma = .8, mu = .2
    method.confidence.copy_(confidence(normal(1, 8, 5, seed=2), candidates))
    target = method.confidence.double().numpy().copy()
    loss = method.loss(batch).loss.item()
    assert loss == pytest.approx(total_twin(main, auxiliary, target, candidates, 0.8), rel=1e-5)
    refined = 0.8 * geometric_mean(softmax(main), candidates)
    refined += 0.2 * geometric_mean(softmax(auxiliary), candidates)
    np.testing.assert_allclose(method.confidence.numpy(), refined, rtol=1e-5, atol=1e-7)


def test_each_network_has_its_own_loss() -> None:
    """All cross terms are without gradient, so one optimizer over both is two optimizers."""
    candidates = random_candidates(8)
    main, auxiliary = normal(3, 8, 5), normal(3, 8, 5, seed=1)
    method, batch = co_training(main, auxiliary, candidates)
    method.confidence.copy_(confidence(normal(1, 8, 5, seed=2), candidates))
    target = method.confidence.clone()
    method.loss(batch).loss.backward()
    alone = auxiliary.clone().requires_grad_()
    pseudo = target.argmax(-1)
    method.auxiliary_loss(alone, pseudo, candidates, gamma=1.0).backward()
    assert method.auxiliary is not None
    torch.testing.assert_close(logit_gradient(method.auxiliary, 3), alone.grad)
