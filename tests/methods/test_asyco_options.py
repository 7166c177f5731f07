"""AsyCo's options and ablations: the worked examples of docs/methods/asyco.md that need them."""

import math

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from pllbench_methods.asyco import AsyCo, AsyCoHparams
from tests.methods.fakes import (
    CO_TRAINING,
    assert_equal_states,
    co_training_asyco,
    log,
    logit_gradient,
    lookup_problem,
    make,
    random_candidates,
    random_problem,
    sets,
    start_epoch,
)


def auxiliary_part(
    auxiliary: Tensor, candidates: Tensor, pseudo: Tensor, gamma: float, **hparams: object
) -> float:
    """L_aux of auxiliary logits [V, B, C]."""
    method, _ = co_training_asyco(torch.zeros_like(auxiliary), auxiliary, candidates, **hparams)
    method.gamma.fill_(gamma)
    return method.auxiliary_loss(auxiliary, pseudo, candidates).item()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.693806),
        ({"ssl_target": "renorm"}, 0.770895),
        ({"ssl_target": "renorm", "ssl_views": "all", "view_reduction": "sum"}, 2.283666),
    ],
)
def test_self_supervised_loss_and_its_options(options: dict[str, object], expected: float) -> None:
    views = log([0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.7, 0.2, 0.1])[:, None]
    candidates = sets({0, 1}, num_classes=3)
    loss = auxiliary_part(views, candidates, torch.tensor([0]), gamma=0.0, **options)
    assert loss == pytest.approx(expected, abs=1e-6)


def test_cross_entropy_as_the_auxiliary_task() -> None:
    loss = auxiliary_part(
        log([0.5, 0.3, 0.2])[None],
        sets({0, 1}, num_classes=3),
        torch.tensor([1]),
        gamma=1.0,
        aux_loss="ce",
    )
    assert loss == pytest.approx(1.203973, abs=1e-6)


def test_pseudo_label_is_that_of_the_stored_confidence() -> None:
    candidates = sets({0, 1}, num_classes=3)
    main, auxiliary = log([0.9, 0.05, 0.05])[None], log([0.5, 0.3, 0.2])[None]
    method, batch = co_training_asyco(
        main, auxiliary, candidates, aux_loss="ce", distillation=False
    )
    method.confidence.copy_(torch.tensor([[0.4, 0.6, 0.0]]))
    step = method.loss(batch)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == [1]
    disambiguation = -math.log(0.95) - 0.4 * math.log(0.9) - 0.6 * math.log(0.05)
    assert step.loss.item() == pytest.approx(disambiguation + 1.203973, abs=1e-5)


def test_exponent_of_the_confidence_is_one_over_the_number_of_views() -> None:
    views = log([0.5, 0.3, 0.2], [0.6, 0.3, 0.1])[:, None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views, views)
    method = make(AsyCo, problem, tau=1.0, num_strong=1)
    method.loss(batch)
    expected = torch.tensor([[0.794787, 0, 0.205213]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_the_weak_view_alone_makes_the_confidence_and_no_self_supervised_loss() -> None:
    candidates, logits = sets({0, 2}, num_classes=3), log([0.5, 0.3, 0.2])[None]
    method, batch = co_training_asyco(logits, logits, candidates)
    assert method.views == ("weak",)
    method.loss(batch)
    expected = torch.tensor([[0.714286, 0, 0.285714]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)
    assert auxiliary_part(logits, candidates, torch.tensor([0]), gamma=0.0) == 0
    self_training = auxiliary_part(
        logits, candidates, torch.tensor([0]), gamma=0.0, ssl_views="all"
    )
    assert self_training == pytest.approx(-0.5 * math.log(0.5) - 0.2 * math.log(0.2), abs=1e-6)


def test_independent_views_give_each_network_its_own() -> None:
    candidates, rows = sets({0, 1}, num_classes=2), log([0.5, 0.5], [0.9, 0.1])[:, None]
    # The lookup batch has two views: view 0 for the disambiguation, view 1 for the auxiliary net.
    problem, batch = lookup_problem(candidates, rows, rows)
    method = make(AsyCo, problem, tau=1.0, num_strong=0, aux_views="independent")
    assert method.views == ("weak", "weak")
    method.handed_over.fill_(True)
    method.epoch = CO_TRAINING
    method.loss(batch).loss.backward()
    assert method.auxiliary is not None
    touched = [
        logit_gradient(network, 2).abs().sum((1, 2)) > 0
        for network in (method.network, method.auxiliary)
    ]
    assert [views.tolist() for views in touched] == [[True, False], [False, True]]


def test_without_warmup_co_training_starts_at_once() -> None:
    candidates = random_candidates()
    method = make(AsyCo, random_problem(candidates), warmup=0)
    start_epoch(method, 0)
    assert method.auxiliary is not None
    assert_equal_states(method.auxiliary, method.network)


def test_without_auxiliary_there_is_one_network() -> None:
    problem, batch = lookup_problem(sets({0, 1}, num_classes=2), torch.zeros(1, 1, 2))
    method = make(AsyCo, problem, auxiliary=False, num_strong=0)
    assert method.auxiliary is None
    assert list(method.predictions(batch.x[0])) == [""]


@pytest.mark.parametrize("test_net", ["auxiliary", "ensemble"])
def test_a_test_network_that_is_switched_off_is_refused(test_net: str) -> None:
    with pytest.raises(ValidationError, match="needs the auxiliary network"):
        AsyCoHparams.parse({"auxiliary": False, "test_net": test_net})


@pytest.mark.parametrize(
    ("test_net", "expected"),
    [("disambiguation", [4, 0]), ("auxiliary", [0, 2]), ("ensemble", [2, 1])],
)
def test_predictions_are_those_of_the_chosen_test_network(
    test_net: str, expected: list[int]
) -> None:
    main, auxiliary = torch.tensor([[[8.0, 0.0]]]), torch.tensor([[[0.0, 4.0]]])
    method, batch = co_training_asyco(
        main, auxiliary, sets({0, 1}, num_classes=2), tau=2.0, test_net=test_net
    )
    assert method.predict(batch.x[0]).tolist() == [expected]
    found = {name: scores.tolist() for name, scores in method.predictions(batch.x[0]).items()}
    assert found == {"": [expected], "auxiliary": [[0, 2]], "ensemble": [[2, 1]]}
