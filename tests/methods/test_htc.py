"""The examples of docs/methods/htc.md, HTC's parts and its twin."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench_methods.htc import HTC, HTCHparams, adjusted
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.selection import mix_chosen, smallest_by_class
from tests.methods.fakes import (
    Array,
    log,
    lookup_problem,
    make,
    normal,
    random_batches,
    random_candidates,
    random_problem,
    sets,
    softmax,
    start_epoch,
)

PRIOR = torch.tensor([0.6, 0.3, 0.1])
CANDIDATES = random_candidates()


def even(method: HTC) -> HTC:
    """An attention that weighs both classifiers alike."""
    with torch.no_grad():
        method.attention.weight.zero_()
        method.attention.bias.zero_()
    return method


def small() -> HTC:
    return even(make(HTC, random_problem(sets({0, 1, 2}, num_classes=3))))


def test_target_of_the_tail() -> None:
    """Example 1."""
    target = adjusted(torch.tensor([[1.0, 0.0, 0.0]]), PRIOR, 2.0).softmax(1)
    expected = torch.tensor([[0.063633, 0.093637, 0.842731]])
    torch.testing.assert_close(target, expected, atol=1e-6, rtol=0)


def test_fusion_with_equal_attention() -> None:
    """Example 2."""
    head = adjusted(torch.tensor([[1.0, 0.0, 0.0]]), PRIOR, 1.0)
    expected = torch.tensor([[0.253612, 0.186597, 0.559791]])
    torch.testing.assert_close(head.softmax(1), expected, atol=1e-6, rtol=0)
    scores = small().fused(torch.tensor([[1.0, 0.0, 0.0]]), log([0.5, 0.3, 0.2]), PRIOR)
    expected = torch.tensor([[0.353067, 0.292320, 0.354613]])
    torch.testing.assert_close(scores.softmax(1), expected, atol=1e-6, rtol=0)


def test_weights_have_norm_one() -> None:
    # Equal priors leave the head as it is: p1 = [.2, .7, .1], p2 = [.5, .3, .2].
    """Example 2."""
    scores = small().fused(log([0.2, 0.7, 0.1]), log([0.5, 0.3, 0.2]), torch.full((3,), 1 / 3))
    expected = torch.tensor([[0.707107 * 0.7, 0.707107 * 1.0, 0.707107 * 0.3]])
    torch.testing.assert_close(scores, expected, atol=1e-6, rtol=0)
    fusion = torch.tensor([[0.334454, 0.413489, 0.252057]])
    torch.testing.assert_close(scores.softmax(1), fusion, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("num_classes", "ceiling", "floor"), [(10, 0.3137, 1.159), (100, 0.0399, 3.222)]
)
def test_the_fusion_is_never_sure(num_classes: int, ceiling: float, floor: float) -> None:
    """Example 3."""
    candidates = torch.ones(4, num_classes).bool()
    method = even(make(HTC, random_problem(candidates)))
    sure = 1000 * torch.nn.functional.one_hot(torch.tensor([0]), num_classes).float()
    scores = method.fused(sure, sure, torch.full((num_classes,), 1 / num_classes))
    assert scores.softmax(1)[0, 0].item() == pytest.approx(ceiling, abs=1e-4)
    assert -scores.log_softmax(1)[0, 0].item() == pytest.approx(floor, abs=1e-3)


def test_confidence_moves_to_the_tail() -> None:
    """Example 4."""
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), normal(2, 1, 3))
    method = make(HTC, problem)
    with torch.no_grad():
        method.tail.weight.copy_(log([0.5, 0.3, 0.2]).expand(2, 3).T)
        method.tail.bias.zero_()
    method.loss(batch)
    expected = torch.tensor([[0.628571, 0, 0.371429]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("epoch", "eta", "alpha"), [(0, 0, 0.2), (25, 0.45, 0.4), (50, 0.9, 0.6), (400, 0.9, 0.6)]
)
def test_schedules(epoch: int, eta: float, alpha: float) -> None:
    """Example 5."""
    assert HTCHparams().alpha(min(epoch / 50, 1)) == pytest.approx(alpha)

    def weighed(epoch: int, eta: float) -> float:
        """What the chosen instances add to the loss, at a constant alpha."""
        losses = []
        for weight in (0.0, eta):
            options = {"alpha_start": 0.6, "fusion_weight": 0.0, "eta": weight}
            torch.manual_seed(0)  # tail and attention
            method = make(HTC, random_problem(CANDIDATES, epochs=800), **options)
            start_epoch(method, epoch)
            torch.manual_seed(1)
            losses.append(method.loss(next(random_batches(method, CANDIDATES))).loss.item())
        return losses[1] - losses[0]

    assert weighed(epoch, 0.9) == pytest.approx(eta * weighed(50, 1.0), abs=1e-5)
    assert weighed(50, 1.0) > 1


@pytest.mark.parametrize(("share", "number"), [(0.5, 26), (0.01, 1)])
def test_rows_that_are_chosen_of_a_class(share: float, number: int) -> None:
    """Example 6."""
    labels = torch.tensor([1] * 60 + [0] * 196)
    counts = 256 * 0.2 * torch.tensor([1 - share, share])
    assert smallest_by_class(normal(256), labels, counts)[:60].sum() == number


def test_a_class_that_no_row_may_have_is_never_predicted() -> None:
    """The released adjustment is NaN for it in the target, and prefers it in the prediction."""
    candidates = sets({0, 1}, {1}, {0, 1}, num_classes=3)
    method = make(HTC, random_problem(candidates))
    start_epoch(method, 1)
    assert method.prior[2] == 0
    for batch in random_batches(method, candidates, batch_size=3):
        assert method.loss(batch).loss.isfinite()
    # Alike for both classifiers, but for the prior.
    scores = method.fused(torch.zeros(3, 3), torch.zeros(3, 3), method.prior)
    assert (scores.argmax(1) != 2).all()
    assert adjusted(torch.zeros(1, 3), method.prior, 2.0).softmax(1)[0, 2] == 0


def test_fusion_trains_the_attention_and_nothing_else() -> None:
    """In one re-implementation it has no gradient at all."""
    grads = []
    for fusion_weight in (0.0, 5.0):
        torch.manual_seed(0)  # tail and attention
        method = make(HTC, random_problem(CANDIDATES), fusion_weight=fusion_weight)
        start_epoch(method, 100)
        torch.manual_seed(1)
        method.loss(next(random_batches(method, CANDIDATES))).loss.backward()
        assert method.attention.weight.grad is not None
        assert (method.attention.weight.grad.abs().sum() > 0) == (fusion_weight > 0)
        others = [p.grad for p in (*method.network.parameters(), *method.tail.parameters())]
        grads.append([g for g in others if g is not None])
    assert len(grads[0]) == 8
    torch.testing.assert_close(grads[0], grads[1], rtol=0, atol=0)


def test_prior_is_that_of_the_epochs_beginning_and_predictions_see_the_present_one() -> None:
    method = make(HTC, random_problem(CANDIDATES))
    start_epoch(method, 0)
    prior = method.prior.clone()
    torch.testing.assert_close(prior, method.confidence.mean(0))
    for batch in random_batches(method, CANDIDATES):
        method.loss(batch)
        assert torch.equal(method.prior, prior)
    x = normal(5, 6)
    method.eval()
    with torch.no_grad():
        head, features = method.network(x)
        tail = method.tail(features)
        torch.testing.assert_close(
            method.predict(x), method.fused(head, tail, method.confidence.mean(0))
        )
        extra = method.predictions(x)
    assert not torch.allclose(method.confidence.mean(0), prior, atol=1e-4)
    assert torch.equal(extra["head"], head)
    assert torch.equal(extra["tail"], tail)
    start_epoch(method, 1)
    torch.testing.assert_close(method.prior, method.confidence.mean(0))


def cross_entropy(target: Array, probs: Array) -> Array:
    return np.asarray(-(target * np.log(probs)).sum(-1))


def chosen_twin(losses: Array, labels: Array, shares: Array, alpha: float) -> list[int]:
    chosen: set[int] = set()
    for label, share in enumerate(shares):
        rows = [i for i in range(len(losses)) if labels[i].argmax() == label]
        number = max(math.ceil(len(losses) * share * alpha), 1)
        chosen |= set(sorted(rows, key=lambda i: losses[i])[:number])
    return sorted(chosen)


@pytest.mark.parametrize("epoch", [0, 20, 100])
def test_twin_of_loss_and_confidence(epoch: int) -> None:
    num = 12
    candidates, logits = random_candidates(num), normal(2, num, 5)
    problem, batch = lookup_problem(candidates, logits, epochs=800)
    method = make(HTC, problem)
    method.confidence.copy_(normal(num, 5, seed=2).masked_fill(~candidates, -torch.inf).softmax(1))
    target = method.confidence.double().numpy().copy()
    start_epoch(method, epoch)
    torch.manual_seed(3)
    loss = method.loss(batch).loss.item()

    weight, bias = (p.detach().double().numpy() for p in method.tail.parameters())
    tail = torch.tensor(np.stack([weight.T[:num], weight.T[num:]]) + bias)  # of one-hot features
    prior, mask = target.mean(0), candidates.numpy()
    rare = softmax(logits[0].double() - 2 * torch.tensor(prior).log())
    twin = cross_entropy(target, softmax(logits[0])).mean()
    twin += cross_entropy(target, softmax(tail[0])).mean()
    progress = min(epoch / 50, 1)
    torch.manual_seed(3)
    if epoch:
        for z, labels, shares in (
            (logits.double(), target, prior),
            (tail, rare, np.full(5, 0.2)),
        ):
            losses = cross_entropy(labels, softmax(z[0]))
            chosen = chosen_twin(losses, labels, shares, 0.2 + 0.4 * progress)
            flags = torch.zeros(num).bool().index_fill(0, torch.tensor(chosen), True)
            mixing = mix_chosen(torch.eye(num), torch.eye(num), flags, 4.0)[0].double()
            part = cross_entropy(labels, softmax(z[1]))[chosen].mean()
            part += cross_entropy(mixing.numpy() @ labels, softmax(mixing @ z[0])).mean()
            twin += 0.9 * progress * part
    first = softmax(logits[0].double() - torch.tensor(prior).log())
    second = softmax(tail[0])
    weight, bias = (p.detach().double().numpy() for p in method.attention.parameters())
    attended = np.concatenate([first, second], 1) @ weight.T + bias
    weights = softmax(torch.tensor(np.where(attended > 0, attended, 0.01 * attended)))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    fusion = softmax(torch.tensor(weights[:, :1] * first + weights[:, 1:] * second))
    twin += 0.5 * epoch / 800 * cross_entropy(target, fusion).mean()
    assert loss == pytest.approx(twin, rel=1e-5)
    fresh = softmax(tail[0]) * mask
    fresh /= fresh.sum(1, keepdims=True)
    np.testing.assert_allclose(method.confidence.numpy(), 0.4 * target + 0.6 * fresh, rtol=1e-5)


def test_first_epoch_trains_both_classifiers_on_the_confidence_alone() -> None:
    problem, batch = lookup_problem(CANDIDATES, normal(2, 24, 5))
    method = make(HTC, problem)
    with torch.no_grad():
        head, features = method.network.views(batch.x)
        tail: Tensor = method.tail(features)
    expected = sum(
        soft_cross_entropy(z[0].log_softmax(1), method.confidence).mean().item()
        for z in (head, tail)
    )
    assert method.loss(batch).loss.item() == pytest.approx(expected, rel=1e-6)


def test_views_and_pseudo_label() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), normal(2, 1, 3))
    method = make(HTC, problem)
    assert method.views == ("weak", "strong")
    method.confidence.copy_(torch.tensor([[0.2, 0.0, 0.8]]))
    pseudo = method.loss(Batch(batch.x, batch.index, batch.candidates)).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]
