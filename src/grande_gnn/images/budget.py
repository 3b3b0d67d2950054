"""The memory that one image file may take: computed from the size that the file declares, before anything is decoded.

need = pixels · (stored + converted) + memory of the decoder; it must be at most 512 MiB. ``stored`` is the number of bytes
per pixel of Pillow's image, ``converted`` that of the RGB image made from it (0 if it is RGB already).
"""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

from PIL import Image

from grande_gnn.errors import FileFormatError

__all__ = ["MEMORY_LIMIT", "check_icon", "check_memory", "needed_memory"]

MEMORY_LIMIT = 512 * 2**20
"""Enough for 134 million pixels of RGB, or 67 million with transparency. Large JPEG files are decoded at a reduced scale."""

_STORED = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
"""Bytes per pixel of Pillow's modes; all others have 4, RGB included."""

_RGB = 4

_WHOLE_FRAME = {"WEBP": 12, "AVIF": 12, "HEIF": 12, "JPEG2000": 16}
"""Bytes per pixel of decoders that keep whole frames in memory: canvas, output and its copy, or 32-bit components."""

_ROWS_PER_STRIP, _TILE_WIDTH, _TILE_LENGTH, _BITS_PER_SAMPLE, _SAMPLES_PER_PIXEL = 278, 322, 323, 258, 277
"""Tags of TIFF files."""


def check_memory(image: Image.Image, full_size: tuple[int, int] | None = None) -> None:
    """Refuse an opened image that takes more than :data:`MEMORY_LIMIT` to decode and convert.

    ``full_size`` is the size in the file; ``image.size`` is smaller if a JPEG is decoded at a reduced scale.
    """
    need = needed_memory(image, full_size or image.size)
    if need > MEMORY_LIMIT:
        width, height = full_size or image.size
        raise FileFormatError(
            f"too large: {width} × {height} pixels of mode {image.mode} take {need >> 20} MiB, and one file may take "
            f"{MEMORY_LIMIT >> 20}"
        )


def needed_memory(image: Image.Image, full_size: tuple[int, int]) -> int:
    """The peak number of bytes that decoding this image and converting it to RGB takes."""
    pixels = image.width * image.height
    is_rgb = image.mode == "RGB" and not image.has_transparency_data
    per_pixel = _STORED.get(image.mode, 4) + (0 if is_rgb else _RGB)
    return pixels * per_pixel + _decoder_memory(image, full_size)


def _decoder_memory(image: Image.Image, full_size: tuple[int, int]) -> int:
    kind = image.format or ""
    if image.info.get("progressive"):
        return full_size[0] * full_size[1] * _coefficients(image)
    if kind == "TIFF":
        return _strip_memory(image)
    return image.width * image.height * _WHOLE_FRAME.get(kind, 0)


def _coefficients(image: Any) -> int:
    """Bytes per pixel of a progressive JPEG, whose decoder keeps the 16-bit coefficients of the full image."""
    sampling = [(component[1], component[2]) for component in getattr(image, "layer", [])] or [(1, 1)] * 3
    most = max(across for across, _ in sampling) * max(down for _, down in sampling)
    return -(-2 * sum(across * down for across, down in sampling) // max(most, 1))


def _strip_memory(image: Any) -> int:
    """Bytes of a compressed TIFF's largest strip or tile, which the decoder reads as a whole."""
    tags = image.tag_v2
    if image.tile and image.tile[0][0] == "raw":
        return 0
    width = tags.get(_TILE_WIDTH, image.width)
    rows = tags.get(_TILE_LENGTH, min(tags.get(_ROWS_PER_STRIP, image.height), image.height))
    bits = max(tags.get(_BITS_PER_SAMPLE, (8,)))
    samples = tags.get(_SAMPLES_PER_PIXEL, 1)
    return int(width * rows * samples * -(-bits // 8))


def check_icon(file: BinaryIO) -> None:
    """Refuse a Windows icon that contains a huge picture, whatever size the icon itself declares.

    This must run before Pillow opens the icon, because Pillow decodes it while opening. The file's position is restored.
    """
    start = file.tell()
    head = file.read(6)
    if head[:4] == b"\0\0\1\0":
        entries = file.read(16 * int.from_bytes(head[4:], "little"))
        for end in range(16, len(entries) + 1, 16):
            file.seek(int.from_bytes(entries[end - 4 : end], "little"))
            picture = file.read(24)
            width, height = (
                struct.unpack(">II", picture[16:24])
                if picture.startswith(b"\x89PNG")
                else struct.unpack("<II", picture[4:12].ljust(8, b"\0"))
            )
            if width * height * 2 * _RGB > MEMORY_LIMIT:
                raise FileFormatError(
                    f"too large: an icon with a picture of {width} × {height} pixels inside"
                )
    file.seek(start)
