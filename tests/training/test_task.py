"""The tensors of a run: what may be in the training rows, and what changes nothing in them."""

from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

from pllbench.candidates.audit import audit
from pllbench.data import dataset as datasets
from pllbench.data.dataset import Dataset
from pllbench.spec import CandidateSpec, Policy, RunSpec
from pllbench.training.task import Task, make_task, require_fit
from tests.factories import CPU, NUM_CLASSES, make_dataset, make_small_task, make_spec

DATA = make_dataset()


def tensors(task: Task, *names: str) -> list[Tensor]:
    return [getattr(task, name) for name in names]


def same(a: Task, b: Task, *names: str) -> bool:
    pairs = zip(tensors(a, *names), tensors(b, *names), strict=True)
    return all(torch.equal(x, y) for x, y in pairs)


def with_sets(sets: Tensor) -> Dataset:
    """The data set with candidate sets of its own."""
    return replace(DATA, candidates=sets)


def true_sets() -> Tensor:
    return torch.nn.functional.one_hot(DATA.y, NUM_CLASSES).bool()


def test_rows_of_training_test_and_hold_out_are_all_rows_once() -> None:
    task = make_small_task(make_spec(holdout=0.25))
    assert (len(task.x), len(task.test_x), len(task.holdout_x)) == (36, 12, 12)
    rows = torch.cat([task.x, task.test_x, task.holdout_x])
    assert torch.equal(rows.sort(0).values, DATA.x.sort(0).values)
    assert len(torch.unique(rows, dim=0)) == 60
    assert (task.x.dtype, task.y.dtype, task.candidates.dtype) == (
        torch.float32,
        torch.int64,
        torch.bool,
    )


def test_every_row_keeps_its_label_and_its_candidates() -> None:
    task = make_small_task(make_spec(holdout=0.25))
    where = {tuple(row.tolist()): int(label) for row, label in zip(DATA.x, DATA.y, strict=True)}
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
    whole = make_small_task(make_spec())
    kept = make_small_task(make_spec(holdout=0.25))
    assert same(whole, kept, "test_x", "test_y")
    assert whole.audit == kept.audit
    sets = {
        tuple(row.tolist()): tuple(s.tolist())
        for row, s in zip(whole.x, whole.candidates, strict=True)
    }
    for x, candidates in [(kept.x, kept.candidates), (kept.holdout_x, kept.holdout_candidates)]:
        assert [sets[tuple(row.tolist())] for row in x] == [tuple(s.tolist()) for s in candidates]


def test_methods_and_settings_share_split_and_candidates_at_one_seed() -> None:
    one = make_small_task(make_spec(method="rc"))
    other = make_small_task(make_spec(method="cc", train={"lr": 1.0}, views={"scaling": "zscore"}))
    assert same(one, other, "x", "candidates", "y", "test_x", "test_y")
    assert not same(one, make_small_task(make_spec(seed=1)), "x")


def test_the_data_seed_decides_split_and_candidates_alone() -> None:
    fixed = make_small_task(make_spec(seed=1, data_seed=0, holdout=0.25))
    assert same(fixed, make_small_task(make_spec(holdout=0.25)), "x", "candidates", "holdout_x")


def test_scaling_and_views_know_training_rows_only() -> None:
    spec = make_spec(holdout=0.25, views={"scaling": "zscore"})
    task = make_small_task(spec)
    _, test = datasets.split(DATA, 0)
    x = DATA.x.clone()
    x[test] *= 1000
    held = {tuple(row.tolist()) for row in task.holdout_x}
    for i, row in enumerate(DATA.x.tolist()):
        if tuple(row) in held:
            x[i] *= 1000
    other = make_small_task(spec, replace(DATA, x=x))
    assert not same(task, other, "test_x")
    assert not same(task, other, "holdout_x")
    assert same(task, other, "x", "candidates", "y")
    for name in ("mean", "std", "idf", "unigram"):
        assert torch.equal(getattr(task.views.stats, name), getattr(other.views.stats, name))
    assert torch.equal(task.views.plain(task.x), other.views.plain(other.x))


def test_true_labels_are_one_candidate_a_row() -> None:
    task = make_small_task(make_spec(labels="true", candidates=None))
    assert torch.equal(task.candidates, torch.nn.functional.one_hot(task.y, NUM_CLASSES).bool())
    assert task.audit.singletons == 1


def test_real_candidate_sets_pass_through() -> None:
    sets = true_sets()
    sets[:, 0] = True
    task = make_small_task(make_spec(candidates=None), with_sets(sets))
    train, _ = datasets.split(DATA, 0)
    assert torch.equal(task.candidates, sets[train])
    assert task.audit == audit(sets[train].numpy(), DATA.y[train].numpy())


def test_a_row_without_a_candidate_is_refused_even_where_noise_is_permitted() -> None:
    sets = true_sets()
    train, _ = datasets.split(DATA, 0)
    sets[train[17]] = False
    for noisy in (False, True):
        with pytest.raises(ValueError, match=r"^digits: row 17 .* has no candidate \(1 of 48 rows"):
            make_task(make_spec(candidates=None), with_sets(sets), CPU, noisy=noisy)


def test_a_row_without_its_true_label_needs_permission() -> None:
    sets = true_sets()
    train, _ = datasets.split(DATA, 0)
    sets[train[3]] = ~sets[train[3]]
    spec = make_spec(candidates=None)
    with pytest.raises(ValueError, match=r"^digits: row 3 .* does not have its true label"):
        make_task(spec, with_sets(sets), CPU)
    task = make_task(spec, with_sets(sets), CPU, noisy=True)
    assert task.audit.without_true == pytest.approx(1 / 48)


def test_q_and_policy_reach_the_candidate_sets() -> None:
    settings: list[tuple[float, Policy]] = [(0.0, "free"), (0.0, "force"), (1.0, "free")]
    sizes = [
        make_small_task(make_spec(candidates=CandidateSpec(process="uniform", q=q, policy=policy)))
        .candidates.sum(1)
        .double()
        .mean()
        .item()
        for q, policy in settings
    ]
    assert sizes == [1.0, 2.0, 4.0]


UNFIT: dict[str, RunSpec] = {
    "network resnet18 needs images": make_spec(train={"network": "resnet18"}),
    "network small_cnn needs images": make_spec(
        candidates=CandidateSpec(process="instance", q=0.4, annotator_network="small_cnn")
    ),
    "needs classes with superclasses": make_spec(
        candidates=CandidateSpec(process="hierarchical", q=0.4)
    ),
    f"num_wrong = {NUM_CLASSES}: must be less": make_spec(
        candidates=CandidateSpec(process="controlled", q=0.4, num_wrong=NUM_CLASSES)
    ),
    r"a hold-out share of 0\.99 takes 48 of 48": make_spec(holdout=0.99),
}


@pytest.mark.parametrize("reason", UNFIT)
def test_settings_that_do_not_fit_the_data(reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        require_fit(UNFIT[reason], DATA)


def test_settings_that_do_not_fit_images() -> None:
    images = replace(
        DATA, name="cifar10", x=torch.zeros(60, 3, 20, 20, dtype=torch.uint8), num_classes=10
    )
    require_fit(make_spec(dataset="cifar10", train={"network": "resnet18"}), images)
    with pytest.raises(ValueError, match=r"lenet takes images of 28 x 28 or 32 x 32"):
        require_fit(make_spec(dataset="cifar10", train={"network": "lenet"}), images)
    with pytest.raises(ValueError, match="scaling zscore is for rows of features"):
        require_fit(make_spec(dataset="cifar10", views={"scaling": "zscore"}), images)
