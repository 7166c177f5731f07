"""The tensors of a run: what may be in the training rows, and what changes nothing in them."""

from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from pllbench.candidates.audit import audit_candidates
from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import split
from pllbench.data.readers.base import Dataset
from pllbench.spec import CandidateSpec, Policy
from pllbench.training.task import Task, make_task, require_fit
from tests.factories import CPU, NUM_CLASSES, make_dataset, make_small_task, make_toy_spec


@pytest.fixture
def dataset() -> Dataset:
    """60 rows, of which 48 train."""
    return make_dataset()


def tensors(task: Task, *names: str) -> list[Tensor]:
    return [getattr(task, name) for name in names]


def same(a: Task, b: Task, *names: str) -> bool:
    pairs = zip(tensors(a, *names), tensors(b, *names), strict=True)
    return all(torch.equal(x, y) for x, y in pairs)


def true_sets(dataset: Dataset) -> Tensor:
    return torch.nn.functional.one_hot(dataset.y, NUM_CLASSES).bool()


def test_rows_of_training_test_and_hold_out_are_all_rows_once(dataset: Dataset) -> None:
    task = make_small_task(make_toy_spec(holdout=0.25))
    assert (len(task.x), len(task.test_x), len(task.holdout_x)) == (36, 12, 12)
    rows = torch.cat([task.x, task.test_x, task.holdout_x])
    assert torch.equal(rows.sort(0).values, dataset.x.sort(0).values)
    assert len(torch.unique(rows, dim=0)) == 60
    assert (task.x.dtype, task.y.dtype, task.candidates.dtype) == (
        torch.float32,
        torch.int64,
        torch.bool,
    )


def test_every_row_keeps_its_label_and_its_candidates(dataset: Dataset) -> None:
    task = make_small_task(make_toy_spec(holdout=0.25))
    where = {
        tuple(row.tolist()): int(label) for row, label in zip(dataset.x, dataset.y, strict=True)
    }
    for x, y in [(task.x, task.y), (task.test_x, task.test_y)]:
        assert [where[tuple(row.tolist())] for row in x] == y.tolist()
    assert task.candidates.gather(1, task.y[:, None]).all()
    held = torch.tensor([where[tuple(row.tolist())] for row in task.holdout_x])
    assert task.holdout_candidates.gather(1, held[:, None]).all()


def test_a_hold_out_has_no_labels() -> None:
    names = {field.name for field in fields(Task)}
    assert {name for name in names if name.startswith("holdout")} == {
        "holdout_x",
        "holdout_candidates",
    }


def test_a_hold_out_changes_no_candidate_set_and_no_test_row() -> None:
    whole = make_small_task(make_toy_spec())
    kept = make_small_task(make_toy_spec(holdout=0.25))
    assert same(whole, kept, "test_x", "test_y")
    assert whole.audit == kept.audit
    sets = {
        tuple(row.tolist()): tuple(s.tolist())
        for row, s in zip(whole.x, whole.candidates, strict=True)
    }
    for x, candidates in [(kept.x, kept.candidates), (kept.holdout_x, kept.holdout_candidates)]:
        assert [sets[tuple(row.tolist())] for row in x] == [tuple(s.tolist()) for s in candidates]


def test_methods_and_settings_share_split_and_candidates_at_one_seed() -> None:
    one = make_small_task(make_toy_spec(method="rc"))
    other = make_small_task(
        make_toy_spec(method="cc", train={"lr": 1.0}, views={"scaling": "zscore"})
    )
    assert same(one, other, "x", "candidates", "y", "test_x", "test_y")
    assert not same(one, make_small_task(make_toy_spec(seed=1)), "x")


def test_the_data_seed_decides_split_and_candidates_alone() -> None:
    fixed = make_small_task(make_toy_spec(seed=1, data_seed=0, holdout=0.25))
    assert same(fixed, make_small_task(make_toy_spec(holdout=0.25)), "x", "candidates", "holdout_x")


def test_scaling_and_views_know_training_rows_only(dataset: Dataset) -> None:
    spec = make_toy_spec(holdout=0.25, views={"scaling": "zscore"})
    task = make_small_task(spec)
    _, test = split(dataset, 0)
    x = dataset.x.clone()
    x[test] *= 1000
    held = {tuple(row.tolist()) for row in task.holdout_x}
    for i, row in enumerate(dataset.x.tolist()):
        if tuple(row) in held:
            x[i] *= 1000
    other = make_small_task(spec, replace(dataset, x=x))
    assert not same(task, other, "test_x")
    assert not same(task, other, "holdout_x")
    assert same(task, other, "x", "candidates", "y")
    for name in ("mean", "std", "idf", "unigram"):
        assert torch.equal(getattr(task.views.stats, name), getattr(other.views.stats, name))
    assert torch.equal(task.views.plain(task.x), other.views.plain(other.x))


def test_true_labels_are_one_candidate_a_row() -> None:
    task = make_small_task(make_toy_spec(labels="true", candidates=None))
    assert torch.equal(task.candidates, torch.nn.functional.one_hot(task.y, NUM_CLASSES).bool())
    assert task.audit.singletons == 1


def test_real_candidate_sets_pass_through(dataset: Dataset) -> None:
    sets = true_sets(dataset)
    sets[:, 0] = True
    task = make_small_task(make_toy_spec(candidates=None), replace(dataset, candidates=sets))
    train, _ = split(dataset, 0)
    assert torch.equal(task.candidates, sets[train])
    assert task.audit == audit_candidates(sets[train].numpy(), dataset.y[train].numpy())


def test_a_row_without_a_candidate_is_refused_even_where_noise_is_permitted(
    dataset: Dataset,
) -> None:
    sets = true_sets(dataset)
    train, _ = split(dataset, 0)
    sets[train[17]] = False
    for noisy in (False, True):
        with pytest.raises(ValueError, match=r"^digits: row 17 .* has no candidate \(1 of 48 rows"):
            make_task(
                make_toy_spec(candidates=None), replace(dataset, candidates=sets), CPU, noisy=noisy
            )


def test_a_row_without_its_true_label_needs_permission(dataset: Dataset) -> None:
    sets = true_sets(dataset)
    train, _ = split(dataset, 0)
    sets[train[3]] = ~sets[train[3]]
    spec = make_toy_spec(candidates=None)
    with pytest.raises(ValueError, match=r"^digits: row 3 .* does not have its true label"):
        make_task(spec, replace(dataset, candidates=sets), CPU)
    task = make_task(spec, replace(dataset, candidates=sets), CPU, noisy=True)
    assert task.audit.without_true == pytest.approx(1 / 48)


def test_q_and_policy_reach_the_candidate_sets() -> None:
    settings: list[tuple[float, Policy]] = [(0.0, "free"), (0.0, "force"), (1.0, "free")]
    sizes = [
        make_small_task(
            make_toy_spec(candidates=CandidateSpec(process="uniform", q=q, policy=policy))
        )
        .candidates.sum(1)
        .double()
        .mean()
        .item()
        for q, policy in settings
    ]
    assert sizes == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"train": {"network": "resnet18"}}, "network resnet18 needs images"),
        (
            {"candidates": {"process": "instance", "q": 0.4, "annotator_network": "small_cnn"}},
            "network small_cnn needs images",
        ),
        (
            {"candidates": {"process": "hierarchical", "q": 0.4}},
            "needs classes with superclasses",
        ),
        (
            {"candidates": {"process": "controlled", "q": 0.4, "num_wrong": NUM_CLASSES}},
            "num_wrong = 4: must be less",
        ),
        ({"holdout": 0.99}, r"a hold-out share of 0\.99 takes 48 of 48"),
    ],
)
def test_settings_that_do_not_fit_the_data(
    dataset: Dataset, changed: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        require_fit(make_toy_spec(**changed), dataset)


def test_settings_that_do_not_fit_images(dataset: Dataset) -> None:
    images = replace(
        dataset,
        info=DATASETS["cifar10"],
        x=torch.zeros(60, 3, 20, 20, dtype=torch.uint8),
        num_classes=10,
    )
    require_fit(make_toy_spec(dataset="cifar10", train={"network": "resnet18"}), images)
    with pytest.raises(ValueError, match=r"lenet takes images of 28 x 28 or 32 x 32"):
        require_fit(make_toy_spec(dataset="cifar10", train={"network": "lenet"}), images)
    with pytest.raises(ValueError, match="scaling zscore is for rows of features"):
        require_fit(make_toy_spec(dataset="cifar10", views={"scaling": "zscore"}), images)


def images_of(dataset: Dataset, name: str, height: int, width: int) -> Dataset:
    x = torch.zeros(60, 3, height, width, dtype=torch.uint8)
    return replace(dataset, info=DATASETS[name], x=x, num_classes=10)


@pytest.mark.parametrize(
    ("name", "height", "width", "smallest"), [("cifar10", 4, 9, 5), ("svhn", 9, 2, 3)]
)
def test_images_that_are_too_small_for_views_are_refused(
    dataset: Dataset, name: str, height: int, width: int, smallest: int
) -> None:
    spec = make_toy_spec(dataset=name, train={"network": "small_cnn", "batch_size": 16})
    message = (
        f"^images of {height} x {width} pixels are too small for views: each side must have at "
        f"least {smallest}$"
    )
    with pytest.raises(ValueError, match=message):
        require_fit(spec, images_of(dataset, name, height, width))
    require_fit(spec, images_of(dataset, name, smallest, smallest))


def test_a_batch_of_one_small_image_is_found_before_the_run(dataset: Dataset) -> None:
    """Of 60 rows 48 train; with a hold-out of 7 rows, 41 do."""
    small = images_of(dataset, "cifar10", 8, 8)
    for batch_size, holdout in ((47, 0.0), (40, 7 / 48)):
        spec = make_toy_spec(
            dataset="cifar10",
            train={"network": "small_cnn", "batch_size": batch_size},
            holdout=holdout,
        )
        with pytest.raises(ValueError, match=r"in batches of \d+ leave a batch of one row"):
            require_fit(spec, small)
        require_fit(spec, images_of(dataset, "cifar10", 32, 32))
