"""IRNet: the examples of docs/methods/irnet.md, when and how sets grow, the twin, PiCO in it."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.method import Batch
from pllbench.training.step import take_step
from pllbench_methods.irnet import IRNet, stops_rising, symmetric_cross_entropy
from pllbench_methods.pico import PiCO
from pllbench_methods.shared.prototypes import PrototypeContrast
from tests.methods.fakes import (
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
)


def test_symmetric_cross_entropy() -> None:
    """Example 1."""
    target = torch.tensor([[0.5, 0, 0.5]])
    log_probs = log([0.5, 0.3, 0.2])
    losses = [symmetric_cross_entropy(log_probs, target, *w).item() for w in ((1, 0), (0, 1))]
    assert losses == pytest.approx([1.151413, 3.248305], abs=1e-6)
    both = symmetric_cross_entropy(log_probs, target, 6, 1).item()
    assert both == pytest.approx(10.156783, abs=1e-5)
    views = log([0.5, 0.3, 0.2]).expand(3, 1, 3)
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views, epochs=1000)
    method = make(IRNet, problem, cont_weight=0.0, proto_start=1.0)
    method.loss(batch).loss.backward()
    expected = torch.tensor([-1.277279, 3.588191, -2.310912])
    gradient = logit_gradient(method.query.network, 3)[0, 0]
    torch.testing.assert_close(gradient, expected, atol=1e-5, rtol=0)


def grown(
    first: Tensor,
    second: Tensor,
    candidates: Tensor,
    target: Tensor,
    theta: float,
    oracle_theta: float | None = None,
) -> tuple[list[list[bool]], Tensor]:
    """Sets and confidence after the correction of these scores."""
    problem = random_problem(candidates)
    method = make(IRNet, problem, theta=theta, oracle_theta=oracle_theta)
    method.confidence.copy_(target)
    method.correcting.fill_(True)
    method.correct(torch.arange(len(candidates)), first, second)
    return method.sets.tolist(), method.confidence


@pytest.mark.parametrize(
    ("num_classes", "largest", "reached"), [(10, 0.450853, 0.3898), (100, 0.069453, 0.0600)]
)
def test_the_largest_margin(num_classes: int, largest: float, reached: float) -> None:
    """Example 2."""
    cosines = torch.full((1, num_classes), -1.0)
    cosines[0, 0] = 1.0
    scores = cosines.softmax(1)
    assert scores[0, 0].item() == pytest.approx(largest, abs=1e-6)
    others = sets(set(range(1, num_classes)), num_classes=num_classes)
    target = others / others.sum(1, keepdim=True)
    for theta, added in ((reached, True), (reached + 2e-4, False)):
        assert grown(scores, scores, others, target, theta)[0][0][0] is added


def test_the_confidence_of_a_new_candidate() -> None:
    """Example 3."""
    scores = torch.tensor([[0.33, 0.31, 0.36]])
    target = torch.tensor([[0.7, 0.3, 0]])
    found, weights = grown(scores, scores, sets({0, 1}, num_classes=3), target, 0.01)
    assert found == [[True, True, True]]
    expected = torch.tensor([[0.514706, 0.220588, 0.264706]])
    torch.testing.assert_close(weights, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("theta", "added"), [(0.016, True), (0.020, False), (1.0, False)])
def test_margin(theta: float, added: bool) -> None:
    """Example 4."""
    scores = torch.tensor([[0.9, 0.5, 0.95]]).softmax(1)
    expected = torch.tensor([[0.367432, 0.246297, 0.386271]])
    torch.testing.assert_close(scores, expected, atol=1e-6, rtol=0)
    target = torch.tensor([[0.5, 0.5, 0]])
    found, weights = grown(scores, scores, sets({0, 1}, num_classes=3), target, theta)
    assert found == [[True, True, added]]
    assert torch.equal(weights, target) is not added
    for other in (0.0, 1.0):  # a margin from the true rates takes its place
        again, _ = grown(scores, scores, sets({0, 1}, num_classes=3), target, other, theta)
        assert again == found


def test_both_views_must_prefer_the_same_class_by_the_margin() -> None:
    candidates = sets({0, 1}, num_classes=4)
    target = torch.tensor([[0.5, 0.5, 0, 0]])
    clear = torch.tensor([[0.2, 0.2, 0.35, 0.25]])
    for second, added in (
        (torch.tensor([[0.1, 0.2, 0.4, 0.3]]), True),
        (torch.tensor([[0.2, 0.2, 0.25, 0.35]]), False),  # another class
        (torch.tensor([[0.1, 0.395, 0.4, 0.105]]), False),  # within the margin
    ):
        for scores in ((clear, second), (second, clear)):
            found, _ = grown(*scores, candidates, target, 0.01)
            assert found == [[True, True, added, False]]


def test_a_full_set_stays_as_it_is() -> None:
    scores, target = normal(1, 3).softmax(1), torch.tensor([[0.2, 0.3, 0.5]])
    found, weights = grown(scores, scores, sets({0, 1, 2}, num_classes=3), target, 0.0)
    assert found == [[True, True, True]]
    assert torch.equal(weights, target)


def fires(curve: Callable[[int], float], epochs: int = 1000) -> int:
    """The number of epochs after which the rule first holds."""
    values = torch.tensor([curve(e) for e in range(1, epochs + 1)], dtype=torch.float64)
    return next(n for n in range(1, epochs + 1) if stops_rising(values[:n], epochs))


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (lambda _: 0.7, 100),
        (lambda e: 0.9 * (1 - math.exp(-e / 30)), 329),
        (lambda e: 0.9 * (1 - math.exp(-e / 100)), 880),
    ],
)
def test_start(curve: Callable[[int], float], expected: int) -> None:
    """Example 5."""
    assert fires(curve) == expected


def released_rule(results: list[float]) -> bool:
    """The rule as the authors state it, in our words: slope of a smoothed curve."""
    if len(results) < 100:
        return False
    last = len(results) - 1
    smooth = [np.mean(results[max(0, j - 50) : min(last, j + 50)]) for j in range(len(results))]
    return bool(np.mean(np.diff(smooth)[-10:]) < 1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.003])
def test_the_rule_is_that_of_the_smoothed_curve(noise: float) -> None:
    generator = np.random.default_rng(0)
    curve = [0.9 * (1 - math.exp(-e / 30)) for e in range(1, 500)]
    values = np.array(curve) + noise * generator.standard_normal(len(curve))
    verdicts = []
    for length in range(90, 500, 7):
        verdict = stops_rising(torch.tensor(values[:length]), 1000)
        assert verdict == released_rule(values[:length].tolist()), length
        verdicts.append(verdict)
    assert set(verdicts) == {False, True}


def test_windows_keep_their_share_of_a_short_run() -> None:
    signal = torch.cat([torch.linspace(0, 1, 15), torch.ones(12)])
    assert [n for n in range(1, 28) if stops_rising(signal[:n], 200)] == [
        n for n in range(20, 28) if signal[n - 11 : n - 1].mean() <= signal[n - 13 : n - 11].mean()
    ]
    assert stops_rising(torch.full((20,), 0.5), 200)
    assert not stops_rising(torch.full((19,), 0.5), 200)
    assert stops_rising(torch.full((3,), 0.5), 6)
    assert not stops_rising(torch.full((2,), 0.5), 6)


def test_the_signal_is_the_share_of_best_classes_among_the_candidates_given() -> None:
    candidates = random_candidates()
    method = make(IRNet, random_problem(candidates, epochs=50))
    start_epoch(method, 3)
    hits = 0
    for batch in random_batches(method, candidates):
        method.sets.fill_(True)  # what was added does not count
        with torch.no_grad():
            best = method.query.network(batch.x[0])[0].argmax(1)
        hits += int(batch.candidates.gather(1, best[:, None]).sum())
        method.loss(batch)
    assert method.signal[3].item() == pytest.approx(hits / 24)
    assert method.signal.count_nonzero() == 1


@pytest.mark.parametrize(("epoch", "starts"), [(499, False), (500, True)])
def test_a_scheduled_start(epoch: int, starts: bool) -> None:
    candidates = random_candidates()
    method = make(IRNet, random_problem(candidates, epochs=1000), correct_start=500.0)
    start_epoch(method, epoch)
    assert bool(method.correcting) is starts


def test_a_start_by_the_signal() -> None:
    method = make(IRNet, random_problem(random_candidates(), epochs=200))
    method.signal.copy_(torch.linspace(0.2, 0.8, 200))
    start_epoch(method, 60)
    assert not method.correcting
    method.signal[30:] = 0.5
    start_epoch(method, 61)
    assert method.correcting
    method.signal.copy_(torch.linspace(0.2, 0.8, 200))
    start_epoch(method, 62)
    assert method.correcting  # once and for all


def test_sets_only_grow_and_their_mean_size_is_logged() -> None:
    candidates = random_candidates()
    method = make(IRNet, random_problem(candidates, epochs=10), theta=0.0, correct_start=200.0)
    sizes = [int(method.sets.sum())]
    for epoch in range(5):
        start_epoch(method, epoch)
        for batch in random_batches(method, candidates, seed=epoch):
            before = method.sets.clone()
            logged = method.loss(batch).logs["set_size"]
            assert (method.sets >= before).all()
            assert logged == method.sets[batch.index].sum(1).float().mean()
            take_step(method, batch, sgd(method))
        sizes.append(int(method.sets.sum()))
    assert sizes[2] == sizes[0]  # two epochs without correction
    assert sizes[5] > sizes[2]
    assert (method.confidence[~method.sets] == 0).all()
    torch.testing.assert_close(method.confidence.sum(1), torch.ones(24))


def bare(views: Tensor, candidates: Tensor, **hparams: object) -> tuple[IRNet, Batch]:
    """IRNet with lookup networks and no head: the embedding of a row is its one-hot code."""
    problem, batch = lookup_problem(candidates, views, epochs=1000)
    size = 3 * views.shape[1]
    method = make(IRNet, problem, embedding_size=size, queue_size=4, **hparams)
    method.query.head, method.key.head = nn.Sequential(), nn.Sequential()
    return method, batch


@pytest.mark.parametrize("cls_loss", ["sce", "ce"])
def test_twin(cls_loss: str) -> None:
    num = 6
    given, views = random_candidates(num), normal(3, num, 5)
    options = {"cls_loss": cls_loss, "ce_weight": 2.0, "rce_weight": 0.5, "cont_weight": 0.4}
    method, batch = bare(views, given, **options, theta=0.02, correct_start=0.0)
    start_epoch(method, 500)
    assert method.correcting
    grown_sets = given.clone()
    grown_sets[:, 2] = True  # as they stand after earlier corrections
    method.sets.copy_(grown_sets)
    method.queue_labels.copy_(torch.tensor([0, 3, -1, 2]))
    method.prototypes.copy_(F.normalize(normal(5, 3 * num, seed=2), dim=1))
    queue, prototypes = method.queue.double().numpy().copy(), method.prototypes.double().numpy()
    mask, probs = grown_sets.numpy(), softmax(views[0])
    pseudo = (probs * mask).argmax(1)
    first = softmax(torch.tensor(prototypes[:, :num].T.copy()))
    start = given.numpy() / given.numpy().sum(1, keepdims=True)
    target = 0.875 * start + 0.125 * np.eye(5)[np.where(mask, first, -np.inf).argmax(1)]
    if cls_loss == "sce":
        floored = np.maximum(target, 1e-4)
        twin = -2 * (floored * np.log(probs)).sum(1).mean()
        twin -= 0.5 * (probs * np.log(floored)).sum(1).mean()
    else:
        twin = -(target * np.log(probs)).sum(1).mean()
    codes = np.eye(3 * num)
    pool = np.concatenate([codes[: 2 * num], queue])
    labels = np.array([*pseudo, *pseudo, 0, 3, -1, 2])
    for i in range(num):
        similarity = pool @ pool[i] / 0.07
        others = [a for a in range(len(pool)) if a != i]
        total = np.log(sum(np.exp(similarity[a]) for a in others))
        alike = [total - similarity[a] for a in others if labels[a] == pseudo[i]]
        twin += 0.4 * np.mean(alike) / num
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == target.argmax(1).tolist()
    second = softmax(method.prototypes[:, 2 * num :].T)  # of the renewed prototypes
    for i in range(num):
        out, new = np.flatnonzero(~mask[i]), None
        if len(out):
            best = [out[c[i][out].argmax()] for c in (first, second)]
            margins = [c[i][out].max() - c[i][mask[i]].max() for c in (first, second)]
            if best[0] == best[1] and min(margins) > 0.02:
                new = best[0]
        expected, weights = mask[i].copy(), target[i].copy()
        if new is not None:
            expected[new], weights[new] = True, first[i][new]
            weights /= weights.sum()
        assert method.sets[i].tolist() == expected.tolist()
        np.testing.assert_allclose(method.confidence[i].numpy(), weights, rtol=1e-4, atol=1e-7)


def test_the_third_view_is_passed_only_where_sets_may_grow() -> None:
    candidates = random_candidates()
    for epoch, passes in ((499, 1), (500, 2)):
        method = make(IRNet, random_problem(candidates, epochs=1000), correct_start=500.0)
        start_epoch(method, epoch)
        method.loss(next(random_batches(method, candidates)))
        norm = next(m for m in method.query.modules() if isinstance(m, nn.BatchNorm1d))
        assert norm.num_batches_tracked == passes


def test_without_corrections_and_with_cross_entropy_it_is_pico_without_a_warm_up() -> None:
    candidates = random_candidates()
    states = []
    for cls, options in (
        (IRNet, {"cls_loss": "ce", "theta": 1.0}),
        (PiCO, {"proto_start": 0.0}),
    ):
        torch.manual_seed(0)  # head and queue
        method = make(cls, random_problem(candidates, epochs=8), **options)
        assert isinstance(method, PrototypeContrast)
        views = make(IRNet, random_problem(candidates))
        for epoch in range(5):
            start_epoch(method, epoch)
            for batch in random_batches(views, candidates, seed=epoch):
                x = batch.x[: len(method.views)]
                take_step(method, Batch(x, batch.index, batch.candidates), sgd(method))
        states.append(
            dict(method.query.named_parameters())
            | {"confidence": method.confidence, "prototypes": method.prototypes}
        )
    torch.testing.assert_close(states[0], states[1], atol=1e-5, rtol=1e-4)
