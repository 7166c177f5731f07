"""The catalogue of data sets: names and facts."""

import numpy as np
import pytest

from pllbench.data.catalogue import CIFAR100_SUPERCLASSES, DATASETS, dataset_info


def test_an_unknown_name_gets_its_nearest_match() -> None:
    message = r"^unknown data set 'birdsongs': did you mean birdsong\?$"
    with pytest.raises(ValueError, match=message):
        dataset_info("birdsongs")


def test_a_name_gives_the_facts_of_its_data_set() -> None:
    assert dataset_info("lost") is DATASETS["lost"]


def test_cifar100_has_20_superclasses_of_5() -> None:
    assert np.bincount(CIFAR100_SUPERCLASSES).tolist() == [5] * 20


@pytest.mark.parametrize("name", ["cifar10", "mnist", "cifar10n"])
def test_a_reduced_set_has_the_first_5000_training_and_1000_test_images(name: str) -> None:
    whole, reduced = DATASETS[name], DATASETS[f"{name}-5k"]
    assert whole.first is None
    assert reduced.first == (5_000, 1_000)
    assert reduced.file == whole.file
