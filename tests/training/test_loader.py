"""Batches: every row once an epoch, and the same batches for every method at one seed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pllbench.method import Batch
from pllbench.spec import ViewSpec
from pllbench.training.loader import BLOCK, CHUNK, Loader
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics
from tests.factories import make_views


def loader(
    num_rows: int = 130, batch_size: int = 32, roles: tuple[str, ...] = ("weak",), seed: int = 0
) -> Loader:
    """Row i is [i, -i], and its candidates say whether i is even."""
    numbers = torch.arange(num_rows).float()
    x = torch.stack([numbers, -numbers], dim=1)
    even = torch.arange(num_rows) % 2 == 0
    sets = torch.stack([even, ~even, torch.ones_like(even)], dim=1)
    return Loader(x, sets, make_views(x), roles, batch_size, seed)


def indices(batches: list[Batch]) -> list[int]:
    return [i for batch in batches for i in batch.index.tolist()]


@given(st.integers(1, 200), st.integers(1, 250), st.integers(0, 3))
def test_every_row_is_in_one_batch_of_an_epoch(num_rows: int, batch_size: int, epoch: int) -> None:
    batches = list(loader(num_rows, batch_size).epoch(epoch))
    assert sorted(indices(batches)) == list(range(num_rows))
    full, rest = divmod(num_rows, batch_size)
    assert [len(b.index) for b in batches] == [batch_size] * full + [rest] * (rest > 0)
    assert len(batches) == len(loader(num_rows, batch_size))


def test_a_last_batch_of_one_row_is_not_dropped() -> None:
    batches = list(loader(64 * 3 + 1, 64).epoch(0))
    assert [len(batch.index) for batch in batches] == [64, 64, 64, 1]
    assert batches[-1].x[0].shape == (1, 2)


def test_a_batch_is_its_rows_and_their_candidates() -> None:
    source = loader(roles=("weak", "strong"))
    for batch in source.epoch(0):
        assert torch.equal(batch.x[0], source.x[batch.index])
        assert (batch.x[1] - batch.x[0]).abs().max() < 1  # noise of 0.1 on the same rows
        assert torch.equal(batch.candidates, source.candidates[batch.index])


@pytest.mark.parametrize("batch_size", [96, 1000, CHUNK, CHUNK + 1])
def test_chunks_break_no_batch(batch_size: int) -> None:
    num_rows = 2 * CHUNK + 100
    source = loader(num_rows, batch_size, ("weak", "strong"))
    for batches in (list(source.epoch(0)), list(source.batches())):
        sizes = [len(batch.index) for batch in batches]
        assert sizes[:-1] == [batch_size] * (num_rows // batch_size)
        assert sum(sizes) == num_rows
        for batch in batches:
            assert all(len(x) == len(batch.index) == len(batch.candidates) for x in batch.x)
            assert torch.equal(batch.x[0], source.x[batch.index])


def test_views_of_different_chunks_and_slots_are_independent() -> None:
    source = loader(2 * CHUNK, 1024, ("strong", "strong"))
    noise = [[x - source.x[b.index] for x in b.x] for b in source.epoch(0)]
    slot = [torch.cat([both[i] for both in noise]) for i in (0, 1)]
    for a, b in [(slot[0], slot[1]), (slot[0][:CHUNK], slot[0][CHUNK:])]:
        assert abs(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1]) < 0.05


def test_epochs_differ_in_order_and_views() -> None:
    source = loader(roles=("strong",))
    first, second = list(source.epoch(0)), list(source.epoch(1))
    assert indices(first) != indices(second)
    a, b = (
        torch.cat([batch.x[0] for batch in epoch])[torch.tensor(indices(epoch)).argsort()]
        for epoch in (first, second)
    )
    assert (a != b).any(1).all()
    at_one_place = [batch.x[0] - source.x[batch.index] for batch in (first[0], second[0])]
    assert not torch.isclose(at_one_place[0], at_one_place[1], atol=1e-4).all(1).any()


def test_an_epoch_is_the_same_each_time_whatever_came_before() -> None:
    source = loader(roles=("weak", "strong"))
    expected = list(source.epoch(2))
    torch.manual_seed(5)
    list(source.epoch(0))
    for a, b in zip(source.epoch(2), expected, strict=True):
        assert torch.equal(a.index, b.index)
        assert all(torch.equal(x, y) for x, y in zip(a.x, b.x, strict=True))


def test_seeds_differ_in_order() -> None:
    orders = {tuple(indices(list(loader(seed=seed).epoch(0)))) for seed in range(5)}
    assert len(orders) == 5


def test_methods_see_the_same_batches_whatever_views_they_ask_for() -> None:
    kinds = [("strong",), ("strong", "weak"), ("strong", "strong", "strong"), ("weak", "strong")]
    epochs = [list(loader(roles=roles).epoch(3)) for roles in kinds]
    for one, two, three, weak in zip(*epochs, strict=True):
        assert torch.equal(one.index, two.index)
        assert torch.equal(one.index, three.index)
        assert torch.equal(one.index, weak.index)
        assert torch.equal(one.x[0], two.x[0])
        assert torch.equal(one.x[0], three.x[0])
        assert torch.equal(three.x[1], weak.x[1])


def test_the_order_does_not_depend_on_the_batch_size() -> None:
    assert indices(list(loader(batch_size=7).epoch(0))) == indices(list(loader().epoch(0)))


def test_plain_batches_are_in_order_and_have_one_plain_view() -> None:
    source = loader(roles=("strong", "strong"))
    batches = list(source.batches())
    assert indices(batches) == list(range(130))
    for batch in batches:
        [x] = batch.x
        assert torch.equal(x, source.x[batch.index])
        assert torch.equal(batch.candidates, source.candidates[batch.index])


def test_no_global_generator_is_read_or_moved() -> None:
    before = torch.get_rng_state()
    list(loader(roles=("weak", "strong")).epoch(0))
    assert torch.equal(torch.get_rng_state(), before)


def image_loader(num_rows: int) -> Loader:
    """Rows of random digits of 12 x 12 pixels."""
    shape = (num_rows, 1, 12, 12)
    x = torch.randint(256, shape, generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    spec = ViewSpec(autoaugment="none", cutout=4)
    views = Views("digits", spec, image_statistics(x, None, spec))
    return Loader(x, torch.ones(num_rows, 2, dtype=torch.bool), views, ("weak", "strong"), 64, 0)


@pytest.mark.parametrize("block", [1, 100, CHUNK])
def test_batches_are_the_same_however_many_views_are_made_at_once(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = image_loader(CHUNK + 1000)
    expected = list(source.epoch(0))
    monkeypatch.setattr("pllbench.training.loader.BLOCK", block)
    for batch, other in zip(source.epoch(0), expected, strict=True):
        assert torch.equal(batch.index, other.index)
        assert all(torch.equal(a, b) for a, b in zip(batch.x, other.x, strict=True))


def test_a_batch_that_is_held_holds_a_block_and_no_chunk() -> None:
    """A chunk of views is large; all of it would stay while a method holds a batch."""
    held = {x.untyped_storage().nbytes() for b in image_loader(2 * CHUNK).epoch(0) for x in b.x}
    assert held == {BLOCK * 12 * 12 * 4}
