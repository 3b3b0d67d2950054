"""Sources of the views that a training uses: new views of the pixels, or outputs of a frozen trunk that are computed once.

A view source gives the network's inputs for rows of images: random ``weak`` and ``strong`` views, and the ``center`` view,
which the extractor uses. The outputs of the trunk are feature maps, called *maps* here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn

from grande_gnn.images.augment import center_view, strong_view, weak_view
from grande_gnn.images.preprocess import Preprocess

__all__ = ["CachedViews", "LiveViews", "TrunkViews", "ViewSource", "has_bfloat16", "views_that_fit"]

ON_DEVICE = 1 << 30
"""Pixels of at most this many bytes are kept on the GPU; more stay in main memory, and each batch is copied."""

MAPS = 4 << 30
"""Bytes that maps may take; if not even one view of each kind fits, none is kept."""

BATCH = {"cuda": 128, "cpu": 4}
"""Images that go through the trunk at a time, for each kind of device. On a CPU, the maps of four images stay in its cache:
with 128, an image takes more than three times as long."""


class ViewSource(Protocol):
    """Inputs of a network for rows of images."""

    @property
    def is_on_device(self) -> bool:
        """Whether views are computed without copying anything from main memory."""

    def weak(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Views that keep the image recognizable."""

    def strong(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Views that are hard to recognize."""

    def center(self, rows: Tensor) -> Tensor:
        """The view that the extractor uses."""


class LiveViews:
    """Views computed from the pixels: random crops, flips, colors and erased squares, new ones every time."""

    def __init__(self, squares: Tensor, preprocess: Preprocess, size: int, device: torch.device) -> None:
        self.preprocess, self.size, self.device = preprocess, size, device
        self.squares = squares.to(device) if squares.nbytes <= ON_DEVICE else squares
        self._mean = torch.tensor(preprocess.mean, device=device)[:, None, None]
        self._std = torch.tensor(preprocess.std, device=device)[:, None, None]

    @property
    def is_on_device(self) -> bool:
        """Whether the pixels of all images are on the device."""
        return self.squares.device.type == self.device.type

    def _pixels(self, rows: Tensor) -> Tensor:
        return self.squares[rows.to(self.squares.device)].to(self.device).float() / 255

    def _inputs(self, views: Tensor) -> Tensor:
        return ((views - self._mean) / self._std).contiguous(memory_format=torch.channels_last)

    def weak(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Crops of at least half of the image, flipped half of the time."""
        return self._inputs(weak_view(self._pixels(rows), self.size, generator))

    def strong(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Crops of at least a fifth of the image, with other colors and a square erased."""
        return self._inputs(strong_view(self._pixels(rows), self.size, generator))

    def center(self, rows: Tensor) -> Tensor:
        """The middle of the image at the size of the extractor."""
        return self._inputs(center_view(self._pixels(rows), self.preprocess.size))


class TrunkViews:
    """Maps that a frozen trunk computes from new views at every step."""

    def __init__(self, live: LiveViews, trunk: nn.Module) -> None:
        self._live, self._trunk = live, trunk
        self._rough = has_bfloat16(live.device)

    @property
    def is_on_device(self) -> bool:
        """Whether the pixels of all images are on the device."""
        return self._live.is_on_device

    @torch.no_grad()
    def _random(self, views: Tensor) -> Tensor:
        with torch.autocast(self._live.device.type, torch.bfloat16, enabled=self._rough):
            return self._trunk(views).float()

    def weak(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Maps of new weak views."""
        return self._random(self._live.weak(rows, generator))

    def strong(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Maps of new strong views."""
        return self._random(self._live.strong(rows, generator))

    @torch.no_grad()
    def center(self, rows: Tensor) -> Tensor:
        """Maps of the view that the extractor sees."""
        return self._trunk(self._live.center(rows))


def views_that_fit(n_images: int, map_bytes: int, wanted: int) -> int:
    """How many weak and strong views of every image can be kept, at most ``wanted``; a map takes ``map_bytes``.

    >>> views_that_fit(1360, 44_000, 16), views_that_fit(100_000, 44_000, 16), views_that_fit(10**6, 44_000, 16)
    (16, 0, 0)
    """
    return max(0, min(wanted, (MAPS // (n_images * map_bytes) - 1) // 2))


def has_bfloat16(device: torch.device) -> bool:
    """Whether the device has instructions for bfloat16. Random views need not be exact, and with bfloat16 they take less
    than half of the time; a CPU without these instructions would be slower than with float32."""
    asked = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return device.type == "cuda" or (asked is not None and bool(asked()))


class CachedViews:
    """Maps that a frozen trunk computed once from a few views of every image; each call draws one of them at random.

    ``n_views`` weak and as many strong views are kept in float16.
    """

    def __init__(
        self,
        live: LiveViews,
        n_images: int,
        trunk: nn.Module,
        n_views: int,
        generator: torch.Generator,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        rows = torch.arange(n_images, device=live.device)
        makers: list[Callable[[Tensor], Tensor]] = [
            live.center,
            *[partial(live.weak, generator=generator)] * n_views,
        ]
        makers += [partial(live.strong, generator=generator)] * n_views
        rough, maps = has_bfloat16(live.device), None
        for number, make in enumerate(makers):
            for chunk in rows.split(BATCH[live.device.type]):
                with (
                    torch.no_grad(),
                    torch.autocast(live.device.type, torch.bfloat16, enabled=number > 0 and rough),
                ):
                    made = trunk(make(chunk)).half()
                if maps is None:
                    maps = _room(len(makers) * n_images, made)
                maps[number * n_images + chunk] = made
                if progress is not None:
                    progress(number * n_images + int(chunk[-1]) + 1, len(makers) * n_images)
        assert maps is not None  # there are images
        self.maps = maps.view(len(makers), n_images, *maps.shape[1:])

    @classmethod
    def from_maps(cls, maps: Tensor) -> CachedViews:
        """A source made from existing maps of every image: the center, weak views, and as many strong views."""
        views = cls.__new__(cls)
        views.maps = maps
        return views

    @property
    def is_on_device(self) -> bool:
        """The maps are always on the device."""
        return True

    @property
    def _n_views(self) -> int:
        return (len(self.maps) - 1) // 2

    def _drawn(self, first: int, rows: Tensor, generator: torch.Generator) -> Tensor:
        which = torch.randint(self._n_views, (len(rows),), generator=generator, device=rows.device)
        return self._inputs(self.maps[first + which, rows])

    def _inputs(self, maps: Tensor) -> Tensor:
        return maps.float().contiguous(memory_format=torch.channels_last)

    def weak(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Maps of one of the kept weak views of each image."""
        return self._drawn(1, rows, generator)

    def strong(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Maps of one of the kept strong views of each image."""
        return self._drawn(1 + self._n_views, rows, generator)

    def center(self, rows: Tensor) -> Tensor:
        """Maps of the view that the extractor sees."""
        return self._inputs(self.maps[0, rows])


def _room(n: int, maps: Tensor) -> Tensor:
    """An array for ``n`` maps like these, in their layout; made at once, so that no map is in memory twice."""
    is_last = maps.is_contiguous(memory_format=torch.channels_last)
    layout = torch.channels_last if is_last else torch.contiguous_format
    return torch.empty((n, *maps.shape[1:]), dtype=maps.dtype, device=maps.device, memory_format=layout)
