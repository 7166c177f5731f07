"""Scaling of rows and pixels, with statistics of the training rows."""

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as tv
from hypothesis import given, settings
from hypothesis import strategies as st

from pllbench.data.catalogue import DATASETS
from pllbench.spec import ViewSpec
from pllbench.views.roles import Views
from pllbench.views.scaling import (
    image_statistics,
    pixel_statistics,
    require_scaling,
    scale,
    statistics,
)
from tests.factories import make_views
from tests.views.helpers import generator, images, make_image_views


def test_zscore_is_that_of_the_training_rows() -> None:
    x = torch.randn(50, 4, generator=generator()) * 30 - 1000
    views = make_views(x, scaling="zscore")
    scaled = views.plain(x).double()
    torch.testing.assert_close(scaled.mean(0), torch.zeros(4).double(), rtol=0, atol=1e-4)
    torch.testing.assert_close(
        scaled.std(0, correction=0), torch.ones(4).double(), rtol=1e-4, atol=0
    )
    other = torch.full((1, 4), 2.0)
    expected = (other.numpy() - x.numpy().mean(0)) / x.numpy().std(0)
    np.testing.assert_allclose(views.plain(other).numpy(), expected, rtol=1e-4)


@given(
    st.floats(-(2.0**100), 2.0**100, width=32), st.integers(1, 300), st.floats(-1e3, 1e3, width=32)
)
@settings(deadline=None)
def test_a_constant_column_stays_finite(value: float, num_rows: int, shift: float) -> None:
    stats = statistics(torch.full((num_rows, 1), value))
    assert stats.std.item() == 1
    views = Views("tabular", make_views(torch.ones(2, 1), scaling="zscore").spec, stats)
    assert views.plain(torch.full((1, 1), value)).item() == 0
    assert views.plain(torch.full((1, 1), value + shift)).isfinite().all()
    assert views.draw("strong", torch.full((4, 1), value), 0)(slice(None)).isfinite().all()


def test_tfidf_has_its_formula_its_norm_and_keeps_empty_rows() -> None:
    x = torch.tensor([[1.0, 2, 0], [0, 1, 0], [0, 0, 0], [3, 1, 0]])
    idf = np.log((1 + 4) / (1 + np.array([2, 3, 0]))) + 1
    np.testing.assert_allclose(statistics(x).idf.numpy(), idf, rtol=1e-6)
    scaled = make_views(x, kind="text", scaling="tfidf").plain(x)
    weighted = x.numpy() * idf
    expected = weighted / np.linalg.norm(weighted, axis=1, keepdims=True).clip(1e-9) * 6
    np.testing.assert_allclose(scaled.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(scaled.norm(dim=1).numpy(), [6, 6, 0, 6], rtol=1e-6)
    assert scaled[2].tolist() == [0, 0, 0]


def test_unigram_law_and_statistics_have_the_size_of_a_row() -> None:
    stats = statistics(torch.tensor([[1.0, 0, 2], [3, 0, 2]]))
    assert stats.unigram.tolist() == [0.5, 0.0, 0.5]
    assert stats.mean.tolist() == [2.0, 0.0, 2.0]
    assert stats.std.tolist() == [1.0, 1.0, 1.0]
    moved = stats.to(torch.device("cpu"))
    assert torch.equal(moved.idf, stats.idf)


@pytest.mark.parametrize("dataset", ["cifar10", "svhn", "mnist", "kmnist"])
def test_normalisation_is_torchvisions_after_to_tensor(dataset: str) -> None:
    info = DATASETS[dataset]
    assert info.pixels is not None
    x = images(5, len(info.pixels[0]))
    mean, std = (list(values) for values in info.pixels)
    expected = tv.normalize(x.float() / 255, mean, std)
    torch.testing.assert_close(
        make_image_views(info.kind, dataset).plain(x), expected, rtol=1e-5, atol=1e-5
    )


def test_training_statistics_are_those_of_the_pixels() -> None:
    x = images(50) // torch.tensor([1, 2, 3], dtype=torch.uint8).view(3, 1, 1)
    mean, std = pixel_statistics(x)
    torch.testing.assert_close(mean.flatten(), x.double().mean((0, 2, 3)).float())
    torch.testing.assert_close(std.flatten(), x.double().std((0, 2, 3), correction=0).float())
    spec = ViewSpec(normalisation="training")
    scaled = scale(x, spec, image_statistics(x, DATASETS["cifar10"].pixels, spec))
    torch.testing.assert_close(scaled.mean((0, 2, 3)), torch.zeros(3), rtol=0, atol=1e-4)
    unpublished = image_statistics(x, None, ViewSpec())
    assert torch.equal(unpublished.mean, mean)
    constant = torch.full((3, 1, 4, 4), 7, dtype=torch.uint8)
    assert pixel_statistics(constant)[1].item() == 1


def test_scaling_of_features_is_refused_for_images() -> None:
    message = "scaling zscore is for rows of features"
    with pytest.raises(ValueError, match=message):
        require_scaling("digits", ViewSpec(scaling="zscore"))
    with pytest.raises(ValueError, match=message):
        make_image_views(scaling="zscore").require(("weak",))
    require_scaling("tabular", ViewSpec(scaling="zscore"))
