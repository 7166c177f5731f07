"""Views of images: their laws, and independent draws for every image."""

import pytest
import torch
import torchvision.transforms.functional as tv
from scipy import stats as law
from torchvision.transforms import RandomResizedCrop

from pllbench.spec import Kind
from pllbench.views import images as image_views
from pllbench.views.images import SMALLEST, cutout, draw_boxes, require_size
from pllbench.views.roles import Views
from tests.views.helpers import ROLES, draw, generator, images, make_image_views


def test_weak_views_are_all_flips_and_crops_equally_often() -> None:
    x = torch.arange(32 * 32).remainder(251).to(torch.uint8).view(1, 1, 32, 32)
    padded = [tv.pad(image, [4], padding_mode="reflect") for image in (x[0], tv.hflip(x[0]))]
    known = {
        tv.crop(image, top, left, 32, 32).numpy().tobytes(): number
        for number, (image, top, left) in enumerate(
            (image, top, left) for image in padded for top in range(9) for left in range(9)
        )
    }
    num = 16_200
    many = x.expand(num, -1, -1, -1)
    found = image_views.weak(many.shape, generator())(many, slice(None))
    counts = torch.zeros(len(known))
    for image in found:
        counts[known[image.numpy().tobytes()]] += 1
    assert len(known) == 162
    assert law.chisquare(counts).pvalue > 1e-4
    assert counts[81:].sum().item() / num == pytest.approx(0.5, abs=0.016)


def test_cutout_hides_8_to_16_rows_and_196_pixels_on_average() -> None:
    x = torch.full((20_000, 1, 32, 32), 9, dtype=torch.uint8)
    hidden = cutout(x.shape, 16, generator())(x, slice(None)) == 0
    rows, columns = hidden.any(3).sum((1, 2)), hidden.any(2).sum((1, 2))
    area = hidden.sum((1, 2, 3))
    assert torch.equal(area, rows * columns)
    assert (rows.min().item(), rows.max().item()) == (8, 16)
    assert area.double().mean().item() == pytest.approx(196, abs=4 * 45 / 20_000**0.5)
    assert (area == 64).any()
    large = (cutout(x.shape, 20, generator())(x, slice(None)) == 0).sum((1, 2, 3))
    assert large.double().mean().item() == pytest.approx(16.875**2, abs=2)


def test_boxes_follow_random_resized_crop() -> None:
    top, left, height, width = draw_boxes(torch.Size((20_000, 3, 32, 32)), generator())
    assert (top.min() >= 0) & (left.min() >= 0)
    assert ((top + height).max() <= 32) & ((left + width).max() <= 32)
    area = height * width / 1024
    assert 0.17 < area.min() < 0.22
    ratio = width / height
    assert 0.7 < ratio.min() < 0.8
    assert 1.25 < ratio.max() < 1.42
    torch.manual_seed(0)
    image = torch.zeros(3, 32, 32)
    box = [RandomResizedCrop.get_params(image, [0.2, 1.0], [3 / 4, 4 / 3]) for _ in range(3000)]
    theirs = torch.tensor(box)
    for ours, other in zip((top, left, height, width), theirs.T, strict=True):
        assert law.ks_2samp(ours.numpy(), other.numpy()).pvalue > 1e-4


def test_one_in_five_query_views_is_grey() -> None:
    x = images(4000)
    found = image_views.query(x.shape, generator(), digits=False)(x, slice(None))
    grey = (found == found[:, :1]).all(3).all(2).all(1)
    assert grey.double().mean().item() == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("kind", ["image", "digits"])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("channels", "size"), [(3, 32), (1, 28), (3, 40)])
def test_copies_of_one_image_get_views_of_their_own(
    kind: Kind, role: str, channels: int, size: int
) -> None:
    x = images(1, channels, size).expand(64, -1, -1, -1)
    before = x.clone()
    views = make_image_views(kind, "cifar10" if channels == 3 else "mnist")
    found = draw(views, role, x, 0)
    assert found.shape == x.shape
    assert found.dtype == torch.float32
    assert found.isfinite().all()
    distinct = len(torch.unique(found, dim=0))
    if (kind, role) == ("digits", "weak"):
        assert distinct == 1
        assert torch.equal(found, views.plain(x))
    else:  # of 162 weak views, 64 draws repeat some; others are all different
        assert distinct > (40 if role == "weak" else 55)
    assert torch.equal(x, before)


@pytest.mark.parametrize("role", ["strong", "query", "key"])
def test_digits_are_never_mirrored(role: str) -> None:
    """A bright left half stays at the left, but for what the operations do to it."""
    x = torch.full((400, 3, 32, 32), 20, dtype=torch.uint8)
    x[..., :16] = 220
    mirrored = {}
    kinds: tuple[Kind, ...] = ("image", "digits")
    for kind in kinds:
        views = make_image_views(kind, autoaugment="none", cutout=0)
        found = draw(views, role, x, 0)
        left, right = found[..., :8].mean((1, 2, 3)), found[..., 24:].mean((1, 2, 3))
        mirrored[kind] = (left < right - 0.1).double().mean().item()
    assert mirrored["image"] > 0.3
    assert mirrored["digits"] < (0.1 if role == "key" else 1e-9)


def test_the_settings_of_strong_views_take_effect() -> None:
    x = images(200)
    plain = make_image_views(autoaugment="none", cutout=0)
    assert torch.equal(draw(plain, "strong", x, 0), draw(plain, "weak", x, 0))
    found = [
        draw(make_image_views(autoaugment=name, cutout=side), "strong", x, 0)
        for name, side in [("none", 16), ("none", 20), ("extended", 16), ("svhn", 16)]
    ]
    assert all(not torch.equal(a, b) for i, a in enumerate(found) for b in found[:i])


@pytest.mark.parametrize("role", ROLES)
def test_a_view_depends_on_its_seed_alone(role: str) -> None:
    x, views = images(), make_image_views()
    before = torch.get_rng_state()
    first = draw(views, role, x, 1)
    assert torch.equal(draw(views, role, x, 1), first)
    assert not torch.equal(draw(views, role, x, 2), first)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["image", "digits"])
@pytest.mark.parametrize(("channels", "size"), [(3, 32), (1, 28)])
def test_a_view_is_the_same_however_few_images_are_made_at_a_time(
    kind: Kind, role: str, channels: int, size: int
) -> None:
    x = images(500, channels, size)
    views = make_image_views(kind, "cifar10" if channels == 3 else "mnist")
    drawn = views.draw(role, x, 0)
    whole = drawn(slice(None))
    for num in (499, 64, 1):
        parts = [drawn(slice(start, start + num)) for start in range(0, 500, num)]
        assert torch.equal(torch.cat(parts), whole)
    assert torch.equal(drawn(slice(7, 9)), whole[7:9])


@pytest.mark.usefixtures("no_uploads")
@pytest.mark.parametrize("autoaugment", ["extended", "svhn", "none"])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["image", "digits"])
def test_no_view_waits_for_the_device(kind: Kind, role: str, autoaugment: str) -> None:
    """On the meta device nothing has a value, so whatever would wait for one raises."""
    device = torch.device("meta")
    views = make_image_views(kind, autoaugment=autoaugment)
    views = Views(kind, views.spec, views.stats.to(device))
    drawn = draw(views, role, images(256).to(device), 0)
    assert (drawn.device, drawn.shape) == (device, (256, 3, 32, 32))


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["image", "digits"])
def test_views_on_a_gpu_are_those_of_the_cpu_and_wait_for_nothing(kind: Kind, role: str) -> None:
    x, views = images(256), make_image_views(kind)
    device = torch.device("cuda")
    moved = Views(kind, views.spec, views.stats.to(device))
    on_gpu = x.to(device)
    draw(moved, role, on_gpu, 3)  # warms up
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = draw(moved, role, on_gpu, 3)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    expected = draw(views, role, x, 3)
    assert (found.cpu() - expected).abs().gt(0.05).double().mean() < 0.01


@pytest.mark.parametrize("kind", SMALLEST)
def test_images_are_of_a_size_that_every_view_takes_or_refused(kind: Kind) -> None:
    smallest = SMALLEST[kind]
    require_size(kind, (3, smallest, smallest))
    for role in ROLES:
        x = images(100, size=smallest)
        assert draw(make_image_views(kind), role, x).shape == (100, 3, smallest, smallest)
    with pytest.raises(ValueError, match=rf"^images of {smallest - 1} x 9 pixels are too small"):
        require_size(kind, (3, smallest - 1, 9))
