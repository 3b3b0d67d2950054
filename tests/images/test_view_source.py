"""Views from pixels, and views computed once."""

import torch
from torch import nn

from grande_gnn.images import view_source
from grande_gnn.images.preprocess import Preprocess
from grande_gnn.images.view_source import BATCH, MAPS, CachedViews, LiveViews, TrunkViews, views_that_fit

CPU = torch.device("cpu")


def live(n=5, side=12, size=8):
    squares = torch.randint(0, 256, (n, 3, side, side), dtype=torch.uint8, generator=generator())
    return LiveViews(squares, Preprocess(8, side), size, CPU)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_center_is_what_the_extractor_sees():
    views = live()
    pixels = views.squares[:, :, 2:10, 2:10].permute(0, 2, 3, 1)
    rows = torch.arange(5)
    torch.testing.assert_close(views.center(rows), views.preprocess.normalize(pixels))


def test_live_views_have_the_size_of_the_training_and_are_new_each_time():
    views, rows, g = live(size=6), torch.tensor([1, 3]), generator()
    for view in (views.weak, views.strong):
        one, other = view(rows, g), view(rows, g)
        assert one.shape == (2, 3, 6, 6)
        assert not torch.equal(one, other)


def test_kept_views_are_those_the_trunk_made(monkeypatch):
    monkeypatch.setattr(view_source, "has_bfloat16", lambda device: False)
    views, trunk = live(), nn.Conv2d(3, 4, 3)
    cached = CachedViews(views, 5, trunk, 2, generator(1))
    g = generator(1)
    rows = torch.arange(5)

    def made(view):
        return torch.cat([trunk(view(part, g)) for part in rows.split(BATCH["cpu"])]).half().float()

    with torch.no_grad():
        weak, strong = [made(views.weak) for _ in range(2)], [made(views.strong) for _ in range(2)]
        center = trunk(views.center(rows)).half().float()
    torch.testing.assert_close(cached.center(rows), center)
    for kept, view in ((weak, cached.weak), (strong, cached.strong)):
        g = generator(2)
        seen = [view(torch.tensor([3]), g)[0] for _ in range(20)]
        found = {next(v for v in range(2) if torch.allclose(s, kept[v][3])) for s in seen}
        assert found == {0, 1}
    assert cached.weak(rows, generator()).requires_grad is False


def test_random_views_are_rough_where_that_is_faster_and_the_center_is_exact(monkeypatch):
    conv = nn.Conv2d(3, 4, 3)
    made = {}
    for rough in (False, True):
        monkeypatch.setattr(view_source, "has_bfloat16", lambda device, rough=rough: rough)
        made[rough] = CachedViews(live(), 5, conv, 1, generator(1)).maps
    assert torch.equal(made[True][0], made[False][0])
    assert not torch.equal(made[True][1:], made[False][1:])
    torch.testing.assert_close(made[True], made[False], atol=0.05, rtol=0.02)


def test_progress_ends_at_the_number_of_views():
    told = []
    CachedViews(live(), 5, nn.Identity(), 1, generator(), lambda *done: told.append(done))
    assert told == [(4, 15), (5, 15), (9, 15), (10, 15), (14, 15), (15, 15)]


def test_views_through_a_trunk_are_its_maps_of_new_views(monkeypatch):
    monkeypatch.setattr(view_source, "has_bfloat16", lambda device: False)
    views, trunk = live(), nn.Conv2d(3, 4, 3)
    through, rows = TrunkViews(views, trunk), torch.tensor([0, 2])
    with torch.no_grad():
        torch.testing.assert_close(through.center(rows), trunk(views.center(rows)))
        torch.testing.assert_close(through.weak(rows, generator(3)), trunk(views.weak(rows, generator(3))))
        torch.testing.assert_close(
            through.strong(rows, generator(3)), trunk(views.strong(rows, generator(3)))
        )
    assert not through.weak(rows, generator()).requires_grad


def test_new_views_through_a_trunk_may_be_rounded_but_not_the_center(monkeypatch):
    monkeypatch.setattr(view_source, "has_bfloat16", lambda device: True)
    views, trunk, rows = live(), nn.Conv2d(3, 4, 3), torch.tensor([0, 2])
    through = TrunkViews(views, trunk)
    with torch.no_grad():
        exact = trunk(views.weak(rows, generator(3)))
        torch.testing.assert_close(through.center(rows), trunk(views.center(rows)))
    rounded = through.weak(rows, generator(3))
    assert rounded.dtype == torch.float32
    assert not torch.equal(rounded, exact)
    torch.testing.assert_close(rounded, exact, atol=0.05, rtol=0.02)


def test_as_many_views_are_kept_as_fit():
    for n in (10, 1000, 40_000):
        fit = views_that_fit(n, 50_000, 10**6)
        assert (2 * fit + 1) * n * 50_000 <= MAPS < (2 * fit + 3) * n * 50_000
    assert views_that_fit(10, 50_000, 16) == 16
    assert views_that_fit(10**9, 50_000, 16) == 0
