"""DIRK: the examples of docs/methods/dirk.md, the teacher, DIRK-REF's contrast and its twin."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pllbench.method import Batch
from pllbench.testing import Check, method_checks
from pllbench.training.step import take_step
from pllbench_methods.dirk import DIRK, DIRKHparams, rectify
from tests.methods.fakes import (
    log,
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

P = [0.5, 0.3, 0.2]


class RefHparams(DIRKHparams):
    ref_weight: float = 1.0
    """As in DIRK-REF."""


class DIRKREF(DIRK):
    hparams_type = RefHparams


@pytest.mark.parametrize("check", method_checks(DIRKREF), ids=str)
def test_dirk_ref_conforms(check: Check) -> None:
    check.run()


@pytest.mark.parametrize(
    ("candidate_set", "expected"),
    [
        ({0, 2}, [0.595238, 0.166667, 0.238095]),
        ({0}, [0.545455, 0.272727, 0.181818]),
        ({0, 1, 2}, P),
    ],
)
def test_examples_1_to_3_rectified_distribution(
    candidate_set: set[int], expected: list[float]
) -> None:
    target = rectify(log(P), sets(candidate_set, num_classes=3))
    torch.testing.assert_close(target, torch.tensor([expected]), atol=1e-6, rtol=0)


def test_loss() -> None:
    """Example 4."""
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(DIRK, problem)
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(0.996449, abs=1e-6)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == [0]


def test_rectified_distribution_twin() -> None:
    """By the formula as published, with p(Y) in a denominator."""
    candidates, logits = random_candidates(), normal(24, 5)
    twin = np.zeros((24, 5))
    for row, (p, mask) in enumerate(zip(softmax(logits), candidates.numpy(), strict=True)):
        inside = p * mask / p[mask].sum()
        if mask.all():
            twin[row] = inside
            continue
        outside = p * ~mask / p[~mask].sum()
        factor = 1 / p[mask].sum()
        share = factor * outside.max() / (factor * outside.max() + inside[mask].min())
        twin[row] = share * inside + (1 - share) * outside
        assert twin[row][mask].min() == pytest.approx(factor * twin[row][~mask].max())
    target = rectify(logits, candidates)
    np.testing.assert_allclose(target.numpy(), twin, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(target.sum(1), torch.ones(24))


def test_candidates_without_probability_are_rectified_too() -> None:
    """p(Y) is 0 in float32, where the published formula is inf / inf."""
    logits = torch.tensor([[-300.0, 0, -400, 1]])
    target = rectify(logits, sets({0, 2}, num_classes=4))
    torch.testing.assert_close(target, torch.tensor([[1.0, 0, 0, 0]]))
    assert rectify(10 * logits, sets({0, 1, 2, 3}, num_classes=4)).isfinite().all()


def test_where_p_of_the_set_rounds_to_one_the_pseudo_label_is_still_a_candidate() -> None:
    logits = torch.tensor([[[0.0, 200.0]]])
    problem, batch = lookup_problem(sets({1}, num_classes=2), logits)
    target = rectify(logits[0], batch.candidates)
    assert target.argmax(1).tolist() == [0]  # both weigh one half
    pseudo = make(DIRK, problem).loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [1]


def test_the_teacher_follows_the_student_after_the_step_and_gets_no_gradient() -> None:
    candidates = random_candidates()
    method = make(DIRK, random_problem(candidates))
    before = [parameter.detach().clone() for parameter in method.key.parameters()]
    torch.testing.assert_close(before, [p.detach() for p in method.query.parameters()])
    take_step(method, next(random_batches(method, candidates)), sgd(method))
    expected = [
        0.99 * old + 0.01 * new for old, new in zip(before, method.query.parameters(), strict=True)
    ]
    torch.testing.assert_close(list(method.key.parameters()), expected)
    assert not torch.equal(before[0], next(iter(method.query.parameters())))
    assert all(parameter.grad is None for parameter in method.key.parameters())


def test_the_teacher_has_batchnorm_statistics_of_its_own() -> None:
    candidates = random_candidates()
    method = make(DIRK, random_problem(candidates))
    method.loss(next(random_batches(method, candidates)))
    for encoder in (method.query, method.key):
        norm = next(m for m in encoder.modules() if isinstance(m, nn.BatchNorm1d))
        assert norm.num_batches_tracked == 1


def test_the_released_teacher_starts_anew() -> None:
    logits, others = normal(1, 6, 5), normal(1, 6, 5, seed=1)
    problem, batch = lookup_problem(random_candidates(6), logits, others)
    method = make(DIRK, problem, teacher_init="random")
    assert torch.equal(method.query.network(batch.x[0])[0], logits[0])
    assert torch.equal(method.key.network(batch.x[0])[0], others[0])
    assert not any(parameter.requires_grad for parameter in method.key.parameters())


def test_views() -> None:
    problem = random_problem(random_candidates())
    assert make(DIRK, problem).views == ("strong",)
    assert make(DIRK, problem, ref_weight=1.0).views == ("query", "key", "strong")


def bare(logits: Tensor, candidates: Tensor, **hparams: object) -> tuple[DIRK, Batch]:
    """DIRK-REF with lookup networks and no head: an embedding is a row's one-hot code.

    Args:
        logits: [3, B, C], of the teacher's, the student's and the taught view.
        candidates: [B, C].
        hparams: changed hyperparameters.
    """
    problem, batch = lookup_problem(candidates, logits, epochs=500)
    size = 3 * logits.shape[1]
    method = make(DIRK, problem, ref_weight=0.5, embedding_size=size, queue_size=4, **hparams)
    method.query.head, method.key.head = nn.Sequential(), nn.Sequential()
    return method, batch


def test_before_its_start_the_contrast_is_without_labels() -> None:
    candidates, logits = random_candidates(4), normal(3, 4, 5)
    method, batch = bare(logits, candidates)
    queue = method.queue.double().numpy().copy()
    target = rectify(logits[2], candidates).double().numpy()
    twin = -(target * np.log(softmax(logits[2]))).sum(1).mean()
    for i in range(4):  # the student's code 4 + i is orthogonal to the teacher's i
        twin += 0.5 * np.log(1 + np.exp(queue[:, 4 + i] / 0.07).sum()) / 4
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)


def test_twin_of_the_refined_contrast() -> None:
    num = 6
    candidates, logits = random_candidates(num), normal(3, num, 5)
    method, batch = bare(logits, candidates, target_temperature=0.6)
    method.epoch = 1
    labels_before = [0, 3, -1, 2]
    stored = softmax(normal(4, 5, seed=3))
    method.queue_labels.copy_(torch.tensor(labels_before))
    method.queue_targets.copy_(torch.tensor(stored))
    queue = method.queue.double().numpy().copy()
    target = rectify(logits[2], candidates).double().numpy()
    pseudo = target.argmax(1).tolist()
    codes = np.eye(3 * num)
    pool = np.concatenate([codes[num : 2 * num], codes[:num], queue])
    labels, targets = [*pseudo, *pseudo, *labels_before], np.concatenate([target, target, stored])
    twin = -(target * np.log(softmax(logits[2]))).sum(1).mean()
    for i in range(num):
        similarity = pool @ codes[num + i] / 0.07
        others = [a for a in range(len(pool)) if a != i]
        total = np.log(sum(np.exp(similarity[a]) for a in others))
        positives = [a for a in others if labels[a] == pseudo[i]]
        cosine = [
            targets[a] @ target[i] / np.linalg.norm(targets[a]) / np.linalg.norm(target[i])
            for a in positives
        ]
        weights = np.exp(np.array(cosine) / 0.6)
        weights /= weights.sum()
        twin += (
            0.5
            * sum(w * (total - similarity[a]) for w, a in zip(weights, positives, strict=True))
            / num
        )
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    # The last four of the six entries replace the queue, oldest first.
    assert method.queue_labels.tolist() == [pseudo[4], pseudo[5], pseudo[2], pseudo[3]]
    np.testing.assert_allclose(method.queue_targets.numpy(), target[[4, 5, 2, 3]], rtol=1e-5)
    np.testing.assert_array_equal(method.queue.numpy(), codes[[4, 5, 2, 3]])


def test_equal_pseudo_labels_imply_a_common_candidate() -> None:
    candidates, logits = random_candidates(200, 6), 3 * normal(200, 6)
    pseudo = rectify(logits, candidates).argmax(1)
    assert candidates.gather(1, pseudo[:, None]).all()
    common = (candidates.float() @ candidates.float().T) > 0
    assert common[pseudo[:, None] == pseudo].all()
    assert not common.all()


def test_gradient_of_the_contrast_reaches_the_student_alone() -> None:
    candidates = random_candidates()
    problem = random_problem(candidates)
    method = make(DIRK, problem, ref_weight=1.0, queue_size=8)
    method.epoch = 5
    method.loss(next(random_batches(method, candidates))).loss.backward()
    assert all(parameter.grad is not None for parameter in method.query.parameters())
    assert all(parameter.grad is None for parameter in method.key.parameters())
