"""Shared by the tests of data sets."""

import pytest

from tests.data.files import make_small_cifar10


@pytest.fixture
def small_cifar10(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty images in place of CIFAR-10's, for the readers of human candidate sets."""
    dataset = make_small_cifar10()
    monkeypatch.setattr("pllbench.data.readers.human.read_torchvision", lambda *_: dataset)
