"""Random views of images: their size, range and randomness."""

import pytest
import torch

from grande_gnn.images.augment import center_view, strong_view, weak_view


@pytest.mark.parametrize("view", [weak_view, strong_view])
def test_views_are_images_of_the_size_and_vary(view):
    images = torch.rand(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    first = view(images, 28, torch.Generator().manual_seed(1))
    assert first.shape == (5, 3, 28, 28)
    assert first.min() >= 0
    assert first.max() <= 1
    assert torch.equal(first, view(images, 28, torch.Generator().manual_seed(1)))
    assert not torch.equal(first, view(images, 28, torch.Generator().manual_seed(2)))
    twins = view(images[:1].expand(5, -1, -1, -1), 28, torch.Generator().manual_seed(1))
    assert not torch.equal(twins[0], twins[1])


def test_a_plain_image_stays_plain_in_a_weak_view():
    gray = torch.full((3, 3, 16, 16), 0.4)
    torch.testing.assert_close(weak_view(gray, 14, torch.Generator().manual_seed(0)), gray[..., :14, :14])


def test_the_center_is_the_center():
    images = torch.arange(36.0).view(1, 1, 6, 6)
    assert center_view(images, 2).flatten().tolist() == [14, 15, 20, 21]


def test_a_strong_view_erases_a_square_and_a_weak_one_does_not():
    white = torch.ones(64, 3, 32, 32)
    strong, weak = (view(white, 28, torch.Generator().manual_seed(0)) for view in (strong_view, weak_view))
    assert (weak > 0.99).all()
    erased = (strong == 0.5).all(1).flatten(1).float().mean(1)
    assert (erased > 0).float().mean() > 0.8
    assert erased.max() <= 0.5**2 + 0.05  # at most half of each side


def test_a_strong_view_changes_colors():
    red = torch.zeros(32, 3, 20, 20)
    red[:, 0] = 0.6
    views = strong_view(red, 16, torch.Generator().manual_seed(0))
    assert len({tuple(v[:, 0, 0].tolist()) for v in views}) > 16
