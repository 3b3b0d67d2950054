"""Pictures for the page: upright JPEG files made from the images, or pictures of texts, addressed by number."""

from __future__ import annotations

import io
from collections import OrderedDict
from pathlib import Path
from threading import Lock

from PIL import Image

from grande_gnn.errors import FileFormatError
from grande_gnn.images import read_image
from grande_gnn.review.text_pictures import text_svg

__all__ = ["SIZES", "Pictures"]

SIZES = {"thumb": 224, "picture": 900, "full": 8000}
"""The longest side in pixels of each kind of picture; full means at full resolution, up to this bound."""

CACHE_BYTES = 192 * 2**20
"""Encoded pictures that are kept in memory."""


class Pictures:
    """Makes pictures of the images in ``files`` below ``root`` and keeps those made last."""

    def __init__(self, root: Path | None, files: list[str], texts: list[str] | None = None) -> None:
        self.root = root
        self.files = files
        self.texts = texts
        self._kept: OrderedDict[tuple[int, str], bytes] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    @property
    def media_type(self) -> str:
        """The type of its pictures."""
        return "image/jpeg" if self.texts is None else "image/svg+xml"

    def picture(self, row: int, kind: str) -> bytes:
        """The picture of an image or a text; raises FileFormatError with the reason if the file cannot be read."""
        return self.jpeg(row, kind) if self.texts is None else text_svg(self.texts[row], kind)

    def jpeg(self, row: int, kind: str) -> bytes:
        """The picture of an image; raises FileFormatError with the reason if the file cannot be read."""
        key = (row, kind)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        data = self._make(row, kind)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = data
                self._bytes += len(data)
            while self._bytes > CACHE_BYTES and len(self._kept) > 1:
                self._bytes -= len(self._kept.popitem(last=False)[1])
        return data

    def _make(self, row: int, kind: str) -> bytes:
        if self.root is None:
            raise FileFormatError("the folder of the images is not known")
        side = SIZES[kind]
        image = read_image(self.root / self.files[row], None if kind == "full" else side // 2)
        image.thumbnail(
            (side, side), Image.Resampling.LANCZOS if kind == "full" else Image.Resampling.BILINEAR
        )
        out = io.BytesIO()
        image.save(out, "JPEG", quality=92 if kind == "full" else 85)
        return out.getvalue()
