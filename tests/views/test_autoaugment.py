"""Chains of operations: the policies, their values, and how often each is drawn."""

import csv
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
import torch
from scipy import stats as law
from torch import Tensor
from torchvision.transforms import AutoAugment, AutoAugmentPolicy

import pllbench
from pllbench.spec import AugmentPolicy
from pllbench.views import image_ops as ops
from pllbench.views.autoaugment import (
    IDENTITY,
    OPERATIONS,
    Chain,
    apply,
    draw_autoaugment,
    draw_jitter,
    draw_randaugment,
    operate,
    policy,
    values,
)

SHAPE = torch.Size((20_000, 3, 32, 32))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(num: int = 64) -> Tensor:
    return torch.randint(256, (num, 3, 32, 32), generator=generator(), dtype=torch.uint8)


def value(name: str, index: int, sign: int = 1) -> float:
    return values(32, 32)[OPERATIONS.index(name), index, sign].item()


def test_values_are_those_of_the_published_code() -> None:
    assert value("Rotate", 9) == value("Rotate", 9, 0) == pytest.approx(30)
    assert value("TranslateX", 9) == pytest.approx(14.5, abs=2e-3)
    assert value("TranslateY", 9, 0) == -value("TranslateY", 9)
    assert value("ShearX", 8) == pytest.approx(0.266667, abs=1e-6)
    assert value("Solarize", 5) == pytest.approx(113.78, abs=5e-3)
    assert value("Posterize", 7) == 5
    assert (value("Color", 9), value("Color", 9, 0)) == pytest.approx((1.9, 0.1))
    assert value("Solarize", 0) == 256


def test_policies_have_their_sub_policies() -> None:
    assert [len(policy(name).operation) for name in get_args(AugmentPolicy)] == [97, 25, 25]
    path = Path(pllbench.__file__).parent / "views" / "autoaugment_cifar10.csv"
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert len({tuple(row) for row in rows}) == 92
    first = policy("extended")
    named = [[OPERATIONS[number] for number in pair] for pair in first.operation.tolist()]
    assert named == [[row[0], row[3]] for row in rows]
    assert named[0] == ["Invert", "Contrast"]
    assert first.probability[0].tolist() == pytest.approx([0.1, 0.2])


def test_extended_begins_with_torchvisions_list_but_for_one_probability() -> None:
    ours, theirs = policy("extended"), policy("standard25")
    assert torch.equal(ours.operation[:25], theirs.operation)
    differs = (ours.probability[:25] != theirs.probability).nonzero().tolist()
    assert differs == [[16, 1]]
    listed = AutoAugment(AutoAugmentPolicy.SVHN).policies
    named = [[OPERATIONS[i] for i in pair] for pair in policy("svhn").operation.tolist()]
    assert named == [[use[0] for use in pair] for pair in listed]


@pytest.mark.parametrize("name", get_args(AugmentPolicy))
def test_sub_policies_and_their_operations_come_as_often_as_they_must(name: AugmentPolicy) -> None:
    chosen = policy(name)
    chain = draw_autoaugment(name, SHAPE, generator())
    assert chain.operation.shape == chain.value.shape == (2, SHAPE[0])
    expected = torch.zeros(2, len(OPERATIONS), dtype=torch.float64)
    for step in (0, 1):
        share = chosen.probability[:, step].double() / len(chosen.operation)
        expected[step].index_add_(0, chosen.operation[:, step], share)
        expected[step, IDENTITY] = 1 - share.sum()
        counts = torch.bincount(chain.operation[step], minlength=len(OPERATIONS))
        possible = expected[step] > 0
        assert counts[~possible].sum() == 0
        found = law.chisquare(counts[possible], expected[step][possible] * SHAPE[0])
        assert found.pvalue > 1e-4
    if name == "extended":  # expected uses per image, as listed for the published code
        uses = expected.sum(0)
        listed = {"AutoContrast": 0.240, "Equalize": 0.236, "Solarize": 0.108, "TranslateY": 0.133}
        for operation, number in listed.items():
            assert uses[OPERATIONS.index(operation)].item() == pytest.approx(number, abs=6e-4)


def test_both_signs_come_and_rotations_are_counter_clockwise() -> None:
    chain = draw_autoaugment("svhn", SHAPE, generator())
    for name in ("ShearX", "ShearY", "TranslateY"):
        drawn = chain.value[chain.operation == OPERATIONS.index(name)]
        assert drawn.abs().min() > 0
        assert (drawn > 0).double().mean().item() == pytest.approx(0.5, abs=0.04)
    rotations = chain.value[chain.operation == OPERATIONS.index("Rotate")]
    assert rotations.unique().tolist() == pytest.approx([10, 13.3333], abs=1e-4)


def test_a_chain_is_applied_image_by_image_in_its_order() -> None:
    x = images(200)
    chain = draw_autoaugment("svhn", x.shape, generator(1))
    found = apply(x, chain, 128)
    for i in range(len(x)):
        single = x[i : i + 1]
        for step in (0, 1):
            name = OPERATIONS[int(chain.operation[step, i])]
            single = operate(name, single, chain.value[step, i : i + 1], 128)
        assert torch.equal(found[i], single[0])
    assert not torch.equal(found, x)


def test_applying_writes_to_no_argument() -> None:
    x = images()
    before = x.clone()
    apply(x, draw_randaugment(3, x.shape, generator()), 0)
    assert torch.equal(x, before)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_takes_grey_and_colour(name: str, channels: int) -> None:
    x = images()[:, :channels]
    ends = values(32, 32)[OPERATIONS.index(name)].flatten()
    if name == "Hue":
        ends = torch.tensor([-0.1, 0.1], dtype=torch.float64)
    for end in (ends.min(), ends.max()):
        found = operate(name, x, end.expand(len(x)), 128)
        assert found.shape == x.shape
        assert found.dtype == torch.uint8
        assert found.float().std() > 0 or name in ("Posterize", "Solarize")


def test_randaugment_draws_all_operations_alike_within_their_ranges() -> None:
    chain = draw_randaugment(3, SHAPE, generator())
    counts = torch.bincount(chain.operation.flatten(), minlength=len(OPERATIONS))
    absent = {OPERATIONS[i] for i in (counts == 0).nonzero().flatten().tolist()}
    assert absent == {"Invert", "Hue"}
    assert law.chisquare(counts[counts > 0]).pvalue > 1e-4
    ranges = {
        "Rotate": (-30, 30),
        "Solarize": (0, 256),
        "Color": (0.05, 0.95),
        "TranslateX": (-9.6, 9.6),
        "Posterize": (4, 8),
    }
    for name, (low, high) in ranges.items():
        drawn = chain.value[chain.operation == OPERATIONS.index(name)]
        shares = (drawn - low) / (high - low)
        assert law.kstest(shares.numpy(), "uniform").pvalue > 1e-4


def test_jitter_has_every_operation_once_in_every_order_or_none() -> None:
    strength = {"Brightness": 0.4, "Contrast": 0.4, "Color": 0.4, "Hue": 0.1}
    chain = draw_jitter(strength, 0.8, SHAPE, generator())
    numbers = {OPERATIONS.index(name) for name in strength}
    orders = Counter(tuple(column) for column in chain.operation.T.tolist())
    none = orders.pop((IDENTITY,) * 4)
    assert none / SHAPE[0] == pytest.approx(0.2, abs=0.015)
    assert len(orders) == 24
    assert all(set(order) == numbers for order in orders)
    assert law.chisquare(list(orders.values())).pvalue > 1e-4
    for name, width in strength.items():
        drawn = chain.value[chain.operation == OPERATIONS.index(name)]
        shares = (drawn - (0 if name == "Hue" else 1)) / (2 * width) + 0.5
        assert law.kstest(shares.numpy(), "uniform").pvalue > 1e-4


def test_a_chain_of_nothing_is_the_images() -> None:
    x = images(4)
    nothing = Chain(torch.full((1, 4), IDENTITY), torch.zeros(1, 4, dtype=torch.float64))
    assert torch.equal(apply(x, nothing, 128), x)
    assert torch.equal(ops.invert(ops.invert(x)), x)
