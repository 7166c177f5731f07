"""What holds for every method that is a loss and keeps no state: views, batch, full sets."""

from typing import Any

import pytest
import torch

from pllbench.method import Method
from pllbench_methods.abs_gce import ABSGCE
from pllbench_methods.abs_mae import ABSMAE
from pllbench_methods.cc import CC
from pllbench_methods.shared.complementary import ClassRiskMethod
from pllbench_methods.shared.multiple_complementary import (
    MultipleComplementaryMethod,
    complementary_weights,
)
from pllbench_methods.shared.stateless import StatelessMethod
from tests.methods.fakes import (
    BUILTIN,
    log,
    lookup_problem,
    loss_and_gradient,
    make,
    normal,
    random_candidates,
    sets,
)

STATELESS = [CC, *(cls for cls in BUILTIN if issubclass(cls, (StatelessMethod, ClassRiskMethod)))]
every_loss = pytest.mark.parametrize("cls", STATELESS, ids=lambda cls: cls.__name__)
silent_at_full_sets = pytest.mark.parametrize(
    "cls", [cls for cls in STATELESS if cls not in (ABSMAE, ABSGCE)], ids=lambda cls: cls.__name__
)


def test_no_loss_is_forgotten() -> None:
    assert len(STATELESS) >= 16


@every_loss
def test_nothing_passes_from_step_to_step(cls: type[Method[Any]]) -> None:
    problem, batch = lookup_problem(random_candidates(8), normal(3, 8, 5))
    method = make(cls, problem)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    assert torch.equal(method.loss(batch).loss, method.loss(batch).loss)
    torch.testing.assert_close(dict(method.state_dict()), before, rtol=0, atol=0)


@every_loss
def test_pseudo_label_is_the_weak_views_best_candidate(cls: type[Method[Any]]) -> None:
    views = log([0.5, 0.3, 0.2], [0.1, 0.2, 0.7])[:, None]
    problem, batch = lookup_problem(sets({1, 2}, num_classes=3), views)
    pseudo = make(cls, problem, num_strong=1).loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [1]


@every_loss
def test_every_view_is_charged_alike(cls: type[Method[Any]]) -> None:
    candidates, views = random_candidates(8), normal(3, 8, 5)
    single = [loss_and_gradient(cls, view[None], candidates)[0] for view in views]
    mean, _ = loss_and_gradient(cls, views, candidates)
    total, _ = loss_and_gradient(cls, views, candidates, view_reduction="sum")
    assert mean == pytest.approx(sum(single) / 3, rel=1e-4)
    assert total == pytest.approx(sum(single), rel=1e-4)


@every_loss
def test_copies_of_a_batch_have_its_loss(cls: type[Method[Any]]) -> None:
    candidates, logits = random_candidates(8), normal(1, 8, 5)
    one, _ = loss_and_gradient(cls, logits, candidates)
    many, _ = loss_and_gradient(cls, logits.repeat(1, 4, 1), candidates.repeat(4, 1))
    assert many == pytest.approx(one, rel=1e-4)


@silent_at_full_sets
def test_a_batch_of_full_sets_costs_nothing(cls: type[Method[Any]]) -> None:
    full = torch.ones(8, 5, dtype=torch.bool)
    loss, gradient = loss_and_gradient(cls, normal(3, 8, 5), full)
    assert loss == 0
    assert (gradient == 0).all()


@silent_at_full_sets
def test_a_full_set_among_others_has_no_gradient(cls: type[Method[Any]]) -> None:
    candidates, logits = random_candidates(8), normal(1, 8, 5)
    assert candidates.all(1).sum() == 2
    _, gradient = loss_and_gradient(cls, logits, candidates)
    assert (gradient[0, candidates.all(1)] == 0).all()
    others = gradient[0, ~candidates.all(1)]
    assert (others != 0).any()


@pytest.mark.parametrize(
    "cls",
    [cls for cls in STATELESS if issubclass(cls, MultipleComplementaryMethod)],
    ids=lambda cls: cls.__name__,
)
def test_the_share_of_full_sets_is_logged(cls: type[Method[Any]]) -> None:
    candidates = sets({0}, {0, 1, 2}, {1, 2}, {0, 1, 2}, num_classes=3)
    problem, batch = lookup_problem(candidates, normal(1, 4, 3))
    logs = make(cls, problem, num_strong=0).loss(batch).logs
    assert {name: value.item() for name, value in logs.items()} == {"full_sets": 0.5}


def test_weights_of_multiple_complementary_labels() -> None:
    candidates = sets({0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}, num_classes=4)
    assert complementary_weights(candidates).tolist() == [1, 1.5, 3, 0]
