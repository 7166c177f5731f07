"""VALEN: the examples of docs/methods/valen.md, both modes' losses against twins, the graph."""

from typing import Literal

import numpy as np
import pytest
import torch
from scipy.special import digamma, gammaln
from torch import Tensor

from pllbench.method import Batch
from pllbench.testing import Check, method_checks
from pllbench.training.step import take_step
from pllbench_methods.shared.training_set import plain_outputs
from pllbench_methods.valen import (
    VALEN,
    GraphNetwork,
    VALENHparams,
    dirichlet_divergence,
    sample_dirichlet,
)
from tests.methods.fakes import (
    Array,
    Instances,
    assert_equal_states,
    log,
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_batches,
    random_candidates,
    random_instances,
    random_problem,
    sets,
    sgd,
    softmax,
    start_epoch,
    trained,
)

LATE = 200
NEIGHBOURS = torch.tensor([[1, 2, 3], [0, 2, 5], [4, 5, 0], [0, 1, 2], [5, 3, 1], [0, 2, 3]])


class PaperHparams(VALENHparams):
    mode: Literal["code", "paper"] = "paper"
    """As in the paper."""


class PaperVALEN(VALEN):
    hparams_type = PaperHparams


@pytest.mark.parametrize("check", method_checks(PaperVALEN), ids=str)
def test_the_mode_of_the_paper_conforms(check: Check) -> None:
    check.run()


def test_divergence_to_the_uniform_dirichlet() -> None:
    """Example 1."""
    alpha = torch.tensor([[2.0, 1, 1], [1, 1, 1], [30, 0.01, 0.01]])
    expected = torch.tensor([0.265279, 0, 195.969])
    torch.testing.assert_close(dirichlet_divergence(alpha, 1.0), expected, rtol=1e-5, atol=1e-5)


def naive_divergence(alpha: Array, prior: float) -> Array:
    total, num_classes = alpha.sum(-1, keepdims=True), alpha.shape[-1]
    value = gammaln(total[..., 0]) - gammaln(alpha).sum(-1)
    value -= gammaln(num_classes * prior) - num_classes * gammaln(prior)
    return np.asarray(value + ((alpha - prior) * (digamma(alpha) - digamma(total))).sum(-1))


@pytest.mark.parametrize("prior", [1.0, 0.01])
def test_divergence_twin(prior: float) -> None:
    alpha = normal(7, 4).exp()
    twin = naive_divergence(alpha.double().numpy(), prior)
    np.testing.assert_allclose(dirichlet_divergence(alpha, prior).numpy(), twin, rtol=1e-4)


def test_draws_have_the_moments_of_the_dirichlet_and_pass_gradient_to_its_parameters() -> None:
    torch.manual_seed(0)
    concentration = torch.tensor([0.7, 1.3, 0.5], requires_grad=True)
    draws = sample_dirichlet(concentration.expand(200_000, 3)).exp()
    torch.testing.assert_close(draws.sum(1), torch.ones(len(draws)))
    mean = np.array([0.7, 1.3, 0.5]) / 2.5
    np.testing.assert_allclose(draws.mean(0).detach(), mean, atol=0.004)
    np.testing.assert_allclose(draws.var(0).detach(), mean * (1 - mean) / 3.5, atol=0.002)
    draws[:, 0].mean().backward()
    # The gradient of the mean a_0 / sum(a).
    expected = torch.tensor([1.8, -0.7, -0.7]) / 2.5**2
    assert concentration.grad is not None
    torch.testing.assert_close(concentration.grad, expected, atol=0.01, rtol=0)


def test_draws_are_nearly_one_hot() -> None:
    """Example 2: ten classes, two equal candidates: the mean of the largest entry."""
    torch.manual_seed(0)
    concentration = torch.full((20_000, 10), 0.01)
    concentration[:, :2] = 0.51
    assert sample_dirichlet(concentration).exp().amax(1).mean().item() == pytest.approx(
        0.78, abs=0.01
    )


def test_no_entry_of_a_draw_is_zero_to_the_log() -> None:
    torch.manual_seed(0)
    log_draws = sample_dirichlet(torch.full((2000, 5), 0.01))
    assert log_draws.isfinite().all()
    assert (log_draws.exp() == 0).any()  # what a draw without logs would hold


class Fixed:
    """Draws that are known, and what they were asked for."""

    def __init__(self, *draw: list[float]) -> None:
        self.draw = torch.tensor(draw)
        self.asked: list[Tensor] = []

    def __call__(self, concentration: Tensor) -> Tensor:
        self.asked.append(concentration.detach())
        return (self.draw.log() + 0 * concentration).log_softmax(-1)


def test_parameters_of_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Example 3."""
    fixed = Fixed([0.2, 0.3, 0.5])
    monkeypatch.setattr("pllbench_methods.valen.sample_dirichlet", fixed)
    logits = log([0.5, 0.3, 0.2])[None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), logits, logits)
    method = make(VALEN, problem)
    method.epoch = LATE
    method.loss(batch)
    expected = torch.tensor([[0.724286, 0.01, 0.295714]])
    torch.testing.assert_close(fixed.asked, [expected], atol=1e-6, rtol=0)
    # The draw, restricted to the candidates, becomes the target.
    torch.testing.assert_close(method.distribution, torch.tensor([[0.2, 0, 0.5]]) / 0.7)


def test_parameters_of_the_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Example 4."""
    asked: list[Tensor] = []

    def divergence(alpha: Tensor, prior: float) -> Tensor:
        asked.append(alpha.detach())
        assert prior == 1
        return alpha.sum(1)

    monkeypatch.setattr("pllbench_methods.valen.dirichlet_divergence", divergence)
    scores = torch.tensor([[[0.0, 4.0, 20.0, -20.0]]])
    problem, batch = lookup_problem(sets({0, 2}, num_classes=4), scores, scores)
    method = make(VALEN, problem)
    method.epoch = LATE
    method.loss(batch)
    expected = torch.tensor([[1, 2.718282, 30, 0.01]])
    torch.testing.assert_close(asked, [expected], atol=1e-5, rtol=0)


def test_affinity_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Example 5."""
    fixed = Fixed([0.7, 0.3], [0.2, 0.8])
    monkeypatch.setattr("pllbench_methods.valen.sample_dirichlet", fixed)
    problem, batch = lookup_problem(sets({0, 1}, {0, 1}, num_classes=2), *[normal(1, 2, 2)] * 2)
    weights = {"input_weight": 0.0, "kl_weight": 0.0, "encoder_weight": 0.0, "target_weight": 0.0}
    method = make(VALEN, problem, **weights)
    start_epoch(method, LATE, Instances(batch.x[0], batch.candidates))
    assert method.neighbours.tolist() == [[1], [0]]  # so each has a share of 1/2
    affinity = np.array([[0.511796, 0.488204], [0.482541, 0.517459]])
    expected = ((affinity - 0.5) ** 2).mean()
    expected += 0.01 * np.log(1 + np.exp(-np.array([0.7, 0.3, 0.2, 0.8]))).mean()
    assert method.loss(batch).loss.item() == pytest.approx(expected, abs=1e-7)


def test_twin_of_the_loss_as_released(monkeypatch: pytest.MonkeyPatch) -> None:
    num = 6
    candidates = random_candidates(num)
    logits, scores = normal(1, num, 5), 3 * normal(1, num, 5, seed=1)
    draws = softmax(normal(num, 5, seed=2))
    monkeypatch.setattr("pllbench_methods.valen.sample_dirichlet", Fixed(*draws.tolist()))
    problem, batch = lookup_problem(candidates, logits, scores)
    method = make(VALEN, problem, kl_weight=0.3, correction=0.2, input_weight=0.5)
    method.epoch = LATE
    old = softmax(normal(num, 5, seed=3)) * candidates.numpy()
    old /= old.sum(1, keepdims=True)
    target = np.eye(5)[candidates.int().argmax(1)]
    method.confidence.copy_(torch.tensor(old))
    method.distribution.copy_(torch.tensor(target))
    method.neighbours.copy_(NEIGHBOURS)
    x, mask = np.eye(num), candidates.numpy()
    weight, bias = (p.detach().double().numpy() for p in list(method.decoder.parameters())[:2])
    hidden = np.maximum(draws @ weight.T + bias, 0)
    weight, bias = (p.detach().double().numpy() for p in list(method.decoder.parameters())[2:])
    twin = 0.5 * ((hidden @ weight.T + bias - x) ** 2).mean()
    sigmoid = 1 / (1 + np.exp(-draws))
    twin += 0.01 * -np.where(mask, np.log(sigmoid), np.log(1 - sigmoid)).mean()
    powers = np.exp(1 / (1 + np.exp(-draws @ draws.T)))
    affinity = powers / powers.sum(1, keepdims=True)
    for i in range(num):
        linked = {i, *method.neighbours[i].tolist()}
        twin += sum((affinity[i, j] - (j in linked) / 4) ** 2 for j in range(num)) / num**2
    alpha = np.clip(np.exp(scores[0].double().numpy() / 4), 0.01, 30)
    twin += 0.3 * naive_divergence(alpha, 1.0).mean()
    twin += 10 * -(old * np.log(softmax(scores[0]))).sum(1).mean()
    twin += -(target * np.log(softmax(logits[0]))).sum(1).mean()
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-4)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == target.argmax(1).tolist()
    inside = draws * mask
    expected = 0.2 * inside / inside.sum(1, keepdims=True) + 0.8 * old
    np.testing.assert_allclose(method.distribution.numpy(), expected, rtol=1e-4, atol=1e-6)
    inside = softmax(logits[0]) * mask
    expected = inside / inside.sum(1, keepdims=True)
    np.testing.assert_allclose(method.confidence.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_the_warm_up_is_proden_on_the_network_alone() -> None:
    candidates = random_candidates()
    method = make(VALEN, random_problem(candidates, epochs=510))
    before = [p.detach().clone() for p in method.encoder.parameters()]
    start = method.confidence.clone()
    start_epoch(method, 9)  # and does not walk the training set
    batch = next(random_batches(method, candidates))
    logits = method.network(batch.x[0])[0].detach()
    expected = -(start[batch.index] * logits.log_softmax(1)).sum(1).mean()
    loss = take_step(method, batch, sgd(method)).loss.item()
    assert loss == pytest.approx(expected.item(), rel=1e-6)
    inside = softmax(logits) * batch.candidates.numpy()
    inside /= inside.sum(1, keepdims=True)
    np.testing.assert_allclose(method.confidence[batch.index].numpy(), inside, rtol=1e-4)
    torch.testing.assert_close(list(method.encoder.parameters()), before, rtol=0, atol=0)
    assert not method.ready


def test_without_weights_and_correction_the_encoder_learns_alone() -> None:
    logits, scores = normal(1, 6, 5), normal(1, 6, 5, seed=1)
    problem, batch = lookup_problem(random_candidates(6), logits, scores)
    method = make(VALEN, problem, rec_weight=0, kl_weight=0, target_weight=0, correction=0)
    method.epoch = LATE
    old = method.confidence.clone()
    take_step(method, batch, sgd(method))
    torch.testing.assert_close(method.distribution, old, rtol=0, atol=0)
    assert logit_gradient(method.network).abs().sum() == 0
    weights = (method.encoder.classifier.weight, method.network.classifier.weight)
    assert not torch.equal(weights[0], scores[0].T)
    assert torch.equal(weights[1], logits[0].T)


def test_a_candidate_whose_weight_was_zero_comes_back() -> None:
    """Released: candidates are where the old weights are above 0, so it is lost for ever."""
    problem, batch = lookup_problem(
        sets({0, 2}, num_classes=3), normal(1, 1, 3), normal(1, 1, 3, seed=1)
    )
    method = make(VALEN, problem)
    method.epoch = LATE
    method.confidence.copy_(torch.tensor([[1.0, 0, 0]]))
    method.distribution.copy_(torch.tensor([[1.0, 0, 0]]))
    method.loss(batch)
    assert method.confidence[0, 2] > 0
    assert method.distribution[0, 2] > 0
    assert method.confidence[0, 1] == method.distribution[0, 1] == 0


@pytest.mark.parametrize("copy_network", [False, True])
def test_hand_over_happens_once(copy_network: bool) -> None:
    candidates = random_candidates()
    problem = random_problem(candidates, epochs=510)
    method = trained(make(VALEN, problem, copy_network=copy_network), candidates, [0, 1])
    assert not torch.equal(method.distribution, method.confidence)
    train = random_instances(candidates)
    start_epoch(method, 10, train)
    assert method.ready
    assert torch.equal(method.distribution, method.confidence)
    with torch.no_grad():
        _, features, _ = plain_outputs(method.network, train)
    distance = np.linalg.norm(features[:, None] - features[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = np.sort(np.take_along_axis(distance, distance.argsort(1)[:, :3], 1), 1)
    found = np.take_along_axis(distance, method.neighbours.numpy(), 1)
    np.testing.assert_allclose(found, nearest, atol=1e-3)
    if copy_network:
        assert_equal_states(method.encoder, method.network)
    else:
        assert not torch.equal(method.encoder.classifier.weight, method.network.classifier.weight)
    start_epoch(method, 11)  # does not walk the training set


def paper_method(candidates: Tensor, **hparams: object) -> tuple[VALEN, Batch]:
    """Enhancing, on a lookup network: the features of row i are its one-hot code."""
    problem, batch = lookup_problem(candidates, normal(1, len(candidates), candidates.shape[1]))
    method = make(VALEN, problem, mode="paper", **hparams)
    start_epoch(method, LATE, Instances(batch.x[0], candidates))
    method.neighbours.copy_(NEIGHBOURS)
    return method, batch


def test_graph_convolution_twin() -> None:
    """The rows around a batch give what the whole graph does, with rows normalised to 1."""
    candidates = random_candidates(6)
    method, batch = paper_method(candidates)
    adjacency = np.eye(6)
    for i in range(6):
        adjacency[i, method.neighbours[i]] = 1
    adjacency /= adjacency.sum(1, keepdims=True)
    inputs = np.concatenate([np.eye(6), candidates.numpy()], 1)
    network = method.graph_network
    assert isinstance(network, GraphNetwork)
    first, second = (
        (layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy())
        for layer in (network.first, network.second)
    )
    hidden = np.maximum(adjacency @ inputs @ first[0].T + first[1], 0)
    twin = adjacency @ hidden @ second[0].T + second[1]
    part = batch.index[[4, 1]]
    np.testing.assert_allclose(
        network(method.surroundings(part)).detach(), twin[part], rtol=1e-4, atol=1e-6
    )


def test_twin_of_the_loss_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = random_candidates(6)
    method, batch = paper_method(candidates, num_samples=2, compatibility=0.7)
    draws = softmax(normal(2, 6, 5, seed=2))
    monkeypatch.setattr("pllbench_methods.valen.sample_dirichlet", Fixed(*draws.tolist()))
    mask = candidates.numpy()
    scores = method.graph_network(method.surroundings(batch.index)).detach().double().numpy()
    twin = naive_divergence(np.exp(scores), 0.01).mean()
    hidden = draws
    layers = [p.detach().double().numpy() for p in method.observation.parameters()]
    for weight, bias in zip(layers[::2], layers[1::2], strict=True):
        seen = hidden @ weight.T + bias
        hidden = np.maximum(seen, 0)
    sigmoid = 1 / (1 + np.exp(-seen))
    twin -= np.where(mask, np.log(sigmoid), np.log(1 - sigmoid)).sum(2).mean()
    for m in range(2):
        affinity = 1 / (1 + np.exp(-draws[m] @ draws[m].T))
        for i in range(6):
            linked = {i, *method.neighbours[i].tolist()}
            twin += sum((affinity[i, j] - (j in linked)) ** 2 for j in range(6)) / 72
    weights = mask / mask.sum(1, keepdims=True)
    twin += 0.7 * -(weights * np.log(draws)).sum(2).mean()
    target = draws.mean(0) * mask
    target /= target.sum(1, keepdims=True)
    logits = method.network(batch.x[0])[0].detach()
    twin += -(target * np.log(softmax(logits))).sum(1).mean()
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-4)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == target.argmax(1).tolist()


def test_in_the_paper_the_graph_is_made_before_every_epoch() -> None:
    candidates = random_candidates()
    method = make(VALEN, random_problem(candidates, epochs=510), mode="paper")
    start_epoch(method, 9)  # the warm-up does not walk the training set
    seen = []
    for epoch in (10, 11):
        start_epoch(method, epoch, random_instances(candidates))
        with torch.no_grad():
            _, features, _ = plain_outputs(method.network, random_instances(candidates))
        torch.testing.assert_close(method.features, features)
        seen.append(method.features.clone())
        for batch in random_batches(method, candidates, seed=epoch):
            take_step(method, batch, sgd(method))
    assert not torch.allclose(seen[0], seen[1])


@pytest.mark.parametrize("mode", ["code", "paper"])
def test_the_network_receives_no_gradient_through_the_draws(mode: str) -> None:
    candidates = random_candidates(6)
    logits = normal(1, 6, 5)
    problem, batch = lookup_problem(candidates, logits, normal(1, 6, 5, seed=1))
    method = make(VALEN, problem, mode=mode)
    start_epoch(method, LATE, Instances(batch.x[0], candidates))
    pseudo_target = method.distribution.clone() if mode == "code" else None
    torch.manual_seed(0)
    method.loss(batch).loss.backward()
    if pseudo_target is None:
        torch.manual_seed(0)
        _, pseudo_target = method.inference(batch)
    expected = (logits[0].softmax(1) - pseudo_target) / 6
    torch.testing.assert_close(logit_gradient(method.network)[0], expected, atol=1e-6, rtol=1e-4)
