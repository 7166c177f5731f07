"""Prototypes and contrastive losses: worked examples of docs/methods/pico.md, and slow twins."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench_methods.shared.contrastive import (
    instance_contrast,
    members,
    supervised_contrast,
    updated_prototypes,
)
from tests.methods.fakes import normal


def test_first_update_of_a_prototype() -> None:
    query = torch.tensor([[0.6, 0.8]])
    result = updated_prototypes(torch.zeros(1, 2), query, torch.tensor([0]), 0.99)
    torch.testing.assert_close(result, query, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("each", "expected"), [(False, [0.999794, 0.020300]), (True, [0.999796, 0.020198])]
)
def test_two_updates_of_a_prototype(each: bool, expected: list[float]) -> None:
    start, queries = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    result = updated_prototypes(start, queries, torch.tensor([0, 0]), 0.99, each)
    torch.testing.assert_close(result, torch.tensor([expected]), atol=1e-6, rtol=0)


@pytest.mark.parametrize("each", [False, True])
def test_prototypes_equal_a_slow_twin_in_batch_order(each: bool) -> None:
    prototypes = F.normalize(normal(4, 3), dim=1)
    prototypes[3] = 0  # a class that is not seen stays zero
    queries, pseudo = (
        F.normalize(normal(9, 3, seed=1), dim=1),
        torch.tensor([0, 1, 0, 2, 2, 0, 1, 2, 0]),
    )
    pseudo[4] = -1  # moves no prototype
    twin = prototypes.double().numpy().copy()
    for label, query in zip(pseudo.tolist(), queries.double().numpy(), strict=True):
        if label < 0:
            continue
        twin[label] = 0.9 * twin[label] + 0.1 * query
        if each:
            twin[label] /= np.linalg.norm(twin[label])
    twin[:3] /= np.linalg.norm(twin[:3], axis=1, keepdims=True)
    result = updated_prototypes(prototypes, queries, pseudo, 0.9, each)
    np.testing.assert_allclose(result.numpy(), twin, rtol=1e-5, atol=1e-6)


def test_supervised_contrast() -> None:
    query = torch.tensor([[1.0, 0.0]])
    keys = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    member, key_member = members(torch.tensor([1]), 3), members(torch.tensor([1, 1, 0]), 3)
    loss = supervised_contrast(query, keys, member, key_member, temperature=1.0)
    assert loss.item() == pytest.approx(0.907606, abs=1e-6)
    assert loss.item() == pytest.approx(math.log(math.e + 1 + 1 / math.e) - 0.5, abs=1e-6)


def test_instance_contrast() -> None:
    query = torch.tensor([[1.0, 0.0]])
    queue = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    loss = instance_contrast(query, query, queue, temperature=1.0)
    assert loss.item() == pytest.approx(0.407606, abs=1e-6)


def test_gradient_flows_through_queries_in_the_pool() -> None:
    query = F.normalize(normal(3, 4), dim=1).double().requires_grad_()
    key = F.normalize(normal(3, 4, seed=1), dim=1).double()
    member = members(torch.tensor([0, 0, 1]), 2).double()

    def loss(anchors: Tensor) -> Tensor:
        return supervised_contrast(anchors, key, member, member, 0.5)

    assert torch.autograd.gradcheck(loss, query)


def test_supervised_contrast_equals_its_slow_twin_and_leaves_the_keys_alone() -> None:
    query = F.normalize(normal(5, 4), dim=1)
    keys = F.normalize(normal(12, 4, seed=1), dim=1).requires_grad_()
    labels, key_labels = [0, 2, 2, 0, 1], [0, 2, 2, 0, 1, -1, 1, 1, 0, -1, 2, 1]
    pool = np.concatenate([query.double().numpy(), keys.detach().double().numpy()])
    twin = []
    for i in range(5):
        similarity = pool @ pool[i] / 0.3
        others = [a for a in range(len(pool)) if a != i]
        total = np.log(sum(np.exp(similarity[a]) for a in others))
        positives = [a for a in others if [*labels, *key_labels][a] == labels[i]]
        twin.append(np.mean([total - similarity[a] for a in positives]))
    query.requires_grad_()
    sets = members(torch.tensor(labels), 3), members(torch.tensor(key_labels), 3)
    loss = supervised_contrast(query, keys, *sets, 0.3)
    loss.backward()
    assert loss.item() == pytest.approx(np.mean(twin), rel=1e-6)
    assert keys.grad is None


def test_members_of_no_class_are_zero() -> None:
    expected = [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert members(torch.tensor([2, -1, 0]), 3).tolist() == expected
