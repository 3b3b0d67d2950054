"""Thumbnails as sprite sheets: one JPEG of up to 256 square cells is much smaller than one file per image."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_integer

__all__ = ["Sheets", "sprite_sheets"]

_QUALITIES = (85, 78, 70, 62, 54, 46, 38, 30, 22, 14)
"""JPEG qualities tried in turn until a sheet is small enough."""

_EMPTY = (128, 128, 128)
"""Color of the cell of an image without a thumbnail."""


@dataclass(frozen=True)
class Sheets:
    """Image ``i`` is in cell ``i % per_sheet`` of sheet ``i // per_sheet``; cells are counted row by row."""

    jpegs: list[bytes]
    cell: int
    """Side of a cell in pixels."""
    columns: int

    @property
    def per_sheet(self) -> int:
        """Number of cells of a full sheet; the last sheet has only as many rows as it needs."""
        return self.columns**2


def sprite_sheets(
    images: Iterable[Image.Image | NDArray[Any] | None],
    *,
    cell: int = 64,
    columns: int = 16,
    bytes_per_image: float = 4000.0,
) -> Sheets:
    """Lay out images in sheets of ``columns`` × ``columns`` cells; only one sheet is in memory at a time.

    Parameters
    ----------
    images : PIL images or uint8 arrays (height × width or height × width × 3) of any size, cropped to
        the square in their middle; None for a gray cell.
    cell : side of a cell in pixels; a multiple of 16 keeps JPEG from mixing adjacent cells.
    columns : cells per row, and rows per full sheet.
    bytes_per_image : the quality of a sheet is lowered until it needs no more than this per image.

    >>> sheets = sprite_sheets([np.zeros((20, 30), np.uint8)] * 5, cell=16, columns=2)
    >>> len(sheets.jpegs), sheets.per_sheet
    (2, 4)
    """
    check_integer(cell, name="cell", low=1)
    check_integer(columns, name="columns", low=1)
    thumbs = (_square(image, cell) for image in images)
    jpegs: list[bytes] = []
    step = 0
    while batch := list(islice(thumbs, columns**2)):
        sheet = _paste(batch, cell, columns)
        jpeg, step = _encode(sheet, step, int(bytes_per_image * len(batch)))
        jpegs.append(jpeg)
    return Sheets(jpegs, cell, columns)


def _square(image: Image.Image | NDArray[Any] | None, cell: int) -> Image.Image | None:
    if image is None:
        return None
    if not isinstance(image, Image.Image):
        array = np.asarray(image)
        if array.dtype != np.uint8 or array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)):
            raise InvalidInputError(
                "a thumbnail must be a PIL image or a uint8 array, height x width (x 3 colors); "
                f"got shape {array.shape}, dtype {array.dtype}"
            )
        image = Image.fromarray(array)
    # Tiny pictures (digits of 8 pixels) stay crisp; photographs are smoothed.
    method = Image.Resampling.NEAREST if 2 * max(image.size) <= cell else Image.Resampling.LANCZOS
    return ImageOps.fit(image.convert("RGB"), (cell, cell), method=method)


def _paste(batch: list[Image.Image | None], cell: int, columns: int) -> Image.Image:
    rows = -(-len(batch) // columns)
    sheet = Image.new("RGB", (columns * cell, rows * cell), _EMPTY)
    for position, thumb in enumerate(batch):
        if thumb is not None:
            sheet.paste(thumb, (position % columns * cell, position // columns * cell))
    return sheet


def _encode(sheet: Image.Image, first: int, limit: int) -> tuple[bytes, int]:
    """The JPEG of the first quality, from step ``first`` on, that is small enough, and its step."""
    for step in range(first, len(_QUALITIES)):
        buffer = io.BytesIO()
        sheet.save(buffer, "JPEG", quality=_QUALITIES[step], optimize=True)
        if buffer.tell() <= limit:
            break
    return buffer.getvalue(), step
