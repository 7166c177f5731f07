"""Passes over the whole training set, and the nearest of its rows."""

import math

import pytest
import torch

from pllbench_methods.shared.training_set import nearest_neighbours, plain_outputs
from tests.methods.fakes import normal, random_candidates, random_instances, random_problem


def test_the_pass_over_plain_instances_leaves_batchnorm_as_it_was() -> None:
    candidates = random_candidates()
    network = random_problem(candidates).make_network()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with torch.no_grad():
        logits, features, found = plain_outputs(network, random_instances(candidates))
    assert logits.shape == (24, 5)
    assert features.shape == (24, 8)
    assert torch.equal(found, candidates)
    torch.testing.assert_close(dict(network.state_dict()), before, rtol=0, atol=0)
    assert network.training


def test_neighbours_in_parts_and_of_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    features = normal(30, 4)
    whole = nearest_neighbours(features, 3)
    distance = torch.linalg.vector_norm(features[:, None] - features, dim=2)
    distance.fill_diagonal_(math.inf)
    assert torch.equal(whole, distance.argsort(1)[:, :3])
    monkeypatch.setattr("pllbench_methods.shared.training_set.DISTANCES", 100)
    assert torch.equal(nearest_neighbours(features, 3), whole)
    assert nearest_neighbours(features[:3], 7).tolist() == [
        row[row != i].tolist() for i, row in enumerate(nearest_neighbours(features[:3], 2))
    ]
    assert nearest_neighbours(features[:1], 3).tolist() == [[0]]
