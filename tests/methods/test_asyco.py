"""Worked examples of docs/methods/asyco.md, the hand-over, and AsyCo's slow float64 twin."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pllbench.training.step import take_step
from pllbench_methods.asyco import AsyCo, AsyCoHparams, similarity_loss
from pllbench_methods.shared.confidence import confidence
from tests.methods.fakes import (
    Array,
    assert_equal_states,
    co_training_asyco,
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
    trained,
)
from tests.methods.shared.helpers import B, C, V, random_logits


def test_temperature_flattens_probabilities() -> None:
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
def test_gamma_rises_to_its_cap(epoch: int, gamma: float, capped: float) -> None:
    assert AsyCoHparams().gamma(epoch) == pytest.approx(gamma)
    assert AsyCoHparams(gamma_cap=0.5).gamma(epoch) == pytest.approx(capped)
    assert AsyCoHparams(lambda_max=0).gamma(epoch) == 0


@pytest.mark.parametrize(
    ("epoch", "mu"), [(70, 0), (71, 0.02), (100, 0.6), (114, 0.88), (115, 0.9), (199, 0.9)]
)
def test_mu_rises_after_the_delay_to_its_bound(epoch: int, mu: float) -> None:
    assert AsyCoHparams().mu(epoch) == pytest.approx(mu)
    assert AsyCoHparams(mu_max=0).mu(epoch) == 0
    assert AsyCoHparams(warmup=50).mu(epoch + 30) == pytest.approx(mu)


def test_refined_confidence_is_the_convex_combination() -> None:
    candidates = sets({0, 1}, num_classes=3)
    main, auxiliary = log([0.3, 0.2, 0.5])[None], log([0.1, 0.4, 0.5])[None]
    method, batch = co_training_asyco(main, auxiliary, candidates)
    method.epoch = 95  # mu = .5
    method.loss(batch)
    expected = torch.tensor([[0.4, 0.6, 0.0]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("sim_diag", "expected"), [(True, 0.471615), (False, 0.478036)])
def test_similarity_loss_with_and_without_the_diagonal(sim_diag: bool, expected: float) -> None:
    loss = similarity_loss(log([0.8, 0.2], [0.3, 0.7])[None], torch.tensor([0, 1]), sim_diag)
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_no_gradient_to_the_target_of_the_self_supervised_loss() -> None:
    logits = log([0.6, 0.3, 0.1], [0.5, 0.4, 0.1])[:, None].requires_grad_()
    candidates = sets({0, 1}, num_classes=3)
    method, _ = co_training_asyco(torch.zeros(2, 1, 3), torch.zeros(2, 1, 3), candidates)
    method.gamma.zero_()
    method.auxiliary_loss(logits, torch.tensor([0]), candidates).backward()
    assert logits.grad is not None
    assert (logits.grad[0] == 0).all()
    torch.testing.assert_close(logits.grad[1], torch.tensor([[-0.15, 0.06, 0.09]]))


def test_distillation_and_no_gradient_to_its_teacher() -> None:
    candidates = sets({0, 1}, num_classes=2)
    main, auxiliary = log([0.5, 0.5])[None], log([0.7, 0.3])[None]
    losses, gradients = [], []
    for distillation in (True, False):
        method, batch = co_training_asyco(main, auxiliary, candidates, distillation=distillation)
        loss = method.loss(batch).loss
        loss.backward()
        losses.append(loss.item())
        assert method.auxiliary is not None
        gradients.append(logit_gradient(method.auxiliary))
    assert losses[0] - losses[1] == pytest.approx(0.082283, abs=1e-6)
    assert torch.equal(gradients[0], gradients[1])


def test_right_after_the_hand_over_both_networks_agree() -> None:
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


def test_confidence_of_three_views_is_their_geometric_mean() -> None:
    views = log([0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.2, 0.4, 0.4])[:, None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views, views)
    method = make(AsyCo, problem, tau=1.0)
    method.loss(batch)
    expected = torch.tensor([[0.661869, 0, 0.338131]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_equal_pseudo_labels_leave_only_the_similar_term() -> None:
    probs = torch.tensor([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])
    loss = similarity_loss(probs.log()[None], torch.tensor([1, 1, 1]))
    assert loss.item() == pytest.approx(-(probs @ probs.T).log().mean().item(), abs=1e-6)


def test_similarity_loss_equals_its_slow_twin() -> None:
    logits, pseudo = random_logits(), torch.arange(B) % C
    probs = softmax(logits)
    twin = np.zeros((V, B, B))
    for v, i, j in np.ndindex(V, B, B):
        dot = probs[v, i] @ probs[v, j]
        twin[v, i, j] = -np.log(dot if pseudo[i] == pseudo[j] else 1 - dot)
    assert similarity_loss(logits, pseudo).dtype == torch.float32
    assert similarity_loss(logits, pseudo).item() == pytest.approx(twin.mean(), rel=1e-6)
    others = twin[:, ~np.eye(B, dtype=bool)]
    assert similarity_loss(logits, pseudo, False).item() == pytest.approx(others.mean(), rel=1e-6)
    wide = logits[:2, :4].double().requires_grad_()
    for sim_diag in (True, False):
        assert torch.autograd.gradcheck(
            lambda z, diag=sim_diag: similarity_loss(z, pseudo[:4], diag), wide
        )


def test_similarity_loss_of_a_single_instance_without_the_diagonal_is_zero() -> None:
    assert similarity_loss(torch.randn(2, 1, 3), torch.tensor([0]), sim_diag=False).item() == 0


@pytest.mark.parametrize(
    ("size", "pseudo", "expected"),
    [
        (200.0, [0, 0], 199.653426),
        (200.0, [0, 1], 0.0),
        (2000.0, [0, 0], 349.653426),
        (2000.0, [0, 1], 0.0),
    ],
)
def test_similarity_loss_at_extreme_logits(size: float, pseudo: list[int], expected: float) -> None:
    logits = torch.tensor([[[size, -size], [-size, size]]], requires_grad=True)
    loss = similarity_loss(logits, torch.tensor(pseudo))
    loss.backward()
    assert loss.item() == pytest.approx(expected, abs=1e-4)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("size", [1, 20, 200])
def test_gradients_of_the_similarity_loss_are_right_to_the_last_bit(size: int) -> None:
    """That of logsumexps over all pairs and classes in float64, rounded to float32."""
    generator = torch.Generator().manual_seed(0)
    logits = size * (2 * torch.rand(V, B, C, generator=generator) - 1)
    pseudo = torch.arange(B) % C
    wide = logits.double().requires_grad_()
    log_probs = wide.log_softmax(-1)
    others = torch.eye(C, dtype=torch.bool).logical_not()  # [C, C]
    log_complements = torch.stack([log_probs[..., mask].logsumexp(-1) for mask in others], -1)
    right = torch.where(
        (pseudo[:, None] == pseudo)[..., None], log_probs[:, None], log_complements[:, None]
    )  # [V, B, B, C]
    (-(log_probs[:, :, None] + right).logsumexp(-1)).mean().backward()
    logits.requires_grad_()
    similarity_loss(logits, pseudo).backward()
    assert wide.grad is not None
    torch.testing.assert_close(logits.grad, wide.grad.float(), rtol=2e-7, atol=1e-12)


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
    take_step(method, next(random_batches(method, candidates)), sgd(method))
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


def test_total_loss_and_confidence_equal_their_slow_twin() -> None:
    candidates = random_candidates(8)
    main, auxiliary = normal(3, 8, 5), normal(3, 8, 5, seed=1)
    method, batch = co_training_asyco(main, auxiliary, candidates)
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
    method, batch = co_training_asyco(main, auxiliary, candidates)
    method.confidence.copy_(confidence(normal(1, 8, 5, seed=2), candidates))
    target = method.confidence.clone()
    method.loss(batch).loss.backward()
    alone = auxiliary.clone().requires_grad_()
    pseudo = target.argmax(-1)
    assert method.gamma == 1
    method.auxiliary_loss(alone, pseudo, candidates).backward()
    assert method.auxiliary is not None
    torch.testing.assert_close(logit_gradient(method.auxiliary, 3), alone.grad)
