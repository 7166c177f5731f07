"""Views by kind and role: what each may do to a row, independent draws for every row, scaling."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as law
from torch import Tensor

from pllbench.data.catalogue import DATASETS
from pllbench.spec import VIEW_OPTIONS, Kind, ViewSpec
from pllbench.views.roles import VIEWS, Views
from pllbench.views.scaling import scale
from tests.factories import make_views
from tests.views.helpers import ROLES, generator, images, make_image_views

DRAWN = ("strong", "query", "key")
KINDS: tuple[Kind, ...] = ("tabular", "text")


def counts(num_rows: int, num_tokens: int, seed: int = 0) -> Tensor:
    """Rows of word counts, some of them empty."""
    return torch.poisson(torch.full((num_rows, num_tokens), 0.3), generator(seed))


def draw(views: Views, x: Tensor, role: str = "strong", seed: int = 0) -> Tensor:
    return views.draw(role, x, seed)(slice(None))


def test_every_kind_of_data_at_hand_has_every_role() -> None:
    kinds = {info.kind for info in DATASETS.values()}
    assert {(kind, role) for kind in kinds for role in ROLES} <= set(VIEWS)
    assert {role for _, role in VIEWS} == set(ROLES)


def test_an_unknown_role_gets_its_nearest_match() -> None:
    views = make_views(torch.ones(3, 2))
    views.require(("weak", "strong", "query", "key"))
    with pytest.raises(
        ValueError, match=r"tabular data has no view 'stron': did you mean strong\?"
    ):
        views.require(("weak", "stron"))


@given(
    st.integers(0, 2**32),
    st.integers(1, 8),
    st.floats(0, 2),
    st.sampled_from(["uniform", "unigram"]),
)
@settings(deadline=None)
def test_tokens_grow_a_row_by_m_and_decrease_no_entry(
    seed: int, num_tokens: int, share: float, token_law: str
) -> None:
    x = torch.cat([counts(20, num_tokens, seed), torch.ones(1, num_tokens)])
    views = make_views(x, kind="text", token_rate=share, token_law=token_law)
    before = x.clone()
    added = draw(views, x, seed=seed) - x
    lengths = x.sum(1).tolist()
    expected = [max(1, round(np.float32(length) * np.float32(share))) for length in lengths]
    assert added.sum(1).tolist() == expected
    assert (added >= 0).all()
    assert (added == added.round()).all()
    assert torch.equal(x, before)


def test_a_document_gets_a_tenth_of_its_words_and_at_least_one() -> None:
    x = torch.zeros(6, 9)
    x[:, 3] = torch.tensor([0.0, 4, 14, 16, 24, 100])
    added = draw(make_views(x, kind="text"), x) - x
    assert added.sum(1).tolist() == [1, 1, 1, 2, 2, 10]


@pytest.mark.parametrize("token_law", ["uniform", "unigram"])
def test_added_tokens_follow_their_law(token_law: str) -> None:
    corpus = torch.tensor([[8.0, 4, 2, 1, 0], [0, 0, 2, 3, 0]])
    views = make_views(corpus, kind="text", token_law=token_law, token_rate=1.0)
    x = torch.full((2000, 5), 4.0)
    added = (draw(views, x) - x).sum(0).numpy()
    assert added.sum() == 2000 * 20
    shares = {"uniform": [0.2] * 5, "unigram": [0.4, 0.2, 0.2, 0.2, 0.0]}[token_law]
    possible = np.array(shares) > 0
    assert (added[~possible] == 0).all()
    expected = np.array(shares)[possible] * added.sum()
    assert law.chisquare(added[possible], expected).pvalue > 1e-3


@pytest.mark.parametrize("scaling", ["none", "zscore"])
def test_noise_has_mean_0_and_its_sigma_in_scaled_units(scaling: str) -> None:
    x = torch.randn(20_000, 3, generator=generator()) * torch.tensor([1e-3, 1.0, 1e3]) + 7.0
    views = make_views(x, scaling=scaling)
    difference = draw(views, x[:10_000]) - views.plain(x[:10_000])
    assert difference.mean(0).abs().max() < 4 * 0.1 / 100
    torch.testing.assert_close(difference.std(0), torch.full((3,), 0.1), rtol=0.04, atol=0)
    assert abs(torch.corrcoef(difference.T)[0, 1]) < 0.05


def test_noise_std_is_a_setting() -> None:
    x = torch.randn(5000, 2, generator=generator())
    views = make_views(x, noise_std=0.5)
    assert (draw(views, x) - x).std().item() == pytest.approx(0.5, rel=0.05)
    assert torch.equal(draw(make_views(x, noise_std=0.0), x), x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scaling", ["none", "zscore", "tfidf"])
def test_the_weak_view_is_the_row_itself(kind: Kind, scaling: str) -> None:
    x = counts(30, 6)
    views = make_views(x, kind=kind, scaling=scaling)
    assert torch.equal(draw(views, x, "weak"), views.plain(x))
    if scaling == "none":
        assert torch.equal(views.plain(x), x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", DRAWN)
def test_copies_of_one_row_get_64_different_views(kind: Kind, role: str) -> None:
    corpus = counts(10, 500)
    views = make_views(corpus, kind=kind)
    x = corpus[:1].expand(64, -1)
    assert len(torch.unique(draw(views, x, role), dim=0)) == 64


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_depends_on_its_seed_alone(kind: Kind) -> None:
    x = counts(30, 20)
    views = make_views(x, kind=kind)
    before = torch.get_rng_state()
    assert torch.equal(draw(views, x, seed=1), draw(views, x, seed=1))
    assert not torch.equal(draw(views, x, seed=1), draw(views, x, seed=2))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("scaling", "kind"), [("zscore", "tabular"), ("tfidf", "text")])
def test_scaling_comes_after_the_view(scaling: str, kind: Kind) -> None:
    x = counts(40, 12)
    views = make_views(x, kind=kind, scaling=scaling)
    raw = VIEWS[kind, "strong"](x, generator(), views.spec, views.stats)
    assert torch.equal(draw(views, x), scale(raw(slice(None)), views.spec, views.stats))
    if scaling == "tfidf":  # added tokens do not lengthen a row
        torch.testing.assert_close(draw(views, x).norm(dim=1), torch.full((40,), 6.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", ROLES)
def test_a_view_is_the_same_however_few_rows_are_made_at_a_time(kind: Kind, role: str) -> None:
    x = counts(300, 50)
    views = make_views(x, kind=kind, scaling="tfidf" if kind == "text" else "zscore")
    drawn = views.draw(role, x, 0)
    whole = drawn(slice(None))
    for num in (299, 64, 1):
        parts = [drawn(slice(start, start + num)) for start in range(0, 300, num)]
        assert torch.equal(torch.cat(parts), whole)


@pytest.mark.parametrize("kind", VIEW_OPTIONS)
def test_views_read_the_settings_that_their_kind_of_data_reads_and_no_others(kind: Kind) -> None:
    x = images(16) if kind in ("image", "digits") else counts(16, 40)
    base: dict[str, Any] = {} if x.dtype == torch.uint8 else {"scaling": "tfidf"}
    others: dict[str, Any] = {"scaling": "zscore", "tfidf_norm": 3.0, "noise_std": 0.5}
    others |= {"token_rate": 0.9, "token_law": "unigram"}
    others |= {"normalisation": "training", "cutout": 8, "autoaugment": "none"}
    assert others.keys() == ViewSpec.model_fields.keys()

    def drawn(**changed: Any) -> list[Tensor]:
        settings = base | changed
        if x.dtype == torch.uint8:
            views = make_image_views(kind, **settings)
        else:
            views = make_views(x, kind=kind, **settings)
        return [draw(views, x, role) for role in ROLES]

    plain = drawn()
    for key, value in others.items():
        if x.dtype == torch.uint8 and key == "scaling":
            continue  # refused
        equal = all(map(torch.equal, drawn(**{key: value}), plain))
        assert equal == (key not in VIEW_OPTIONS[kind]), key


@pytest.mark.parametrize("role", [*ROLES, "plain"])
@pytest.mark.parametrize("kind", ["tabular", "text", "image", "digits"])
def test_a_view_shares_memory_with_no_row_and_no_other_view(kind: Kind, role: str) -> None:
    image = kind in ("image", "digits")
    x = images(6, size=8) if image else counts(6, 5) + 1
    views = make_image_views(kind) if image else make_views(x, kind=kind)
    before = x.clone()
    first, second = (views.plain(x) if role == "plain" else draw(views, x, role) for _ in range(2))
    kept = first.clone()
    second.zero_()
    assert torch.equal(first, kept)
    assert torch.equal(x, before)
    assert not torch.equal(first, second)
