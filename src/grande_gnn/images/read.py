"""Read any image safely, as RGB: the first frame, rotated upright; for a file that cannot be read, an error gives the
reason.

JPEG files are decoded at a half, a quarter or an eighth of their size if the result is still at least twice as large as
needed: the decoder then skips frequencies that resizing would remove anyway.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from grande_gnn.errors import FileFormatError
from grande_gnn.images.budget import MEMORY_LIMIT, check_icon, check_memory
from grande_gnn.images.convert import to_rgb
from grande_gnn.images.preprocess import center_box

__all__ = ["THUMBNAIL_SIZE", "read_image", "read_thumbnail", "thumbnail_jpeg"]

REDUCING_GAP = 2
"""A reduced JPEG keeps at least this many pixels per pixel of the result, in each direction."""

THUMBNAIL_SIZE = 64
"""Width and height in pixels of the thumbnails kept with the features: 20,000 of them take about 35 MB."""

_HEIF_BRANDS = frozenset(
    {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1", b"avif", b"avis"}
)

_PROGRAMS = frozenset({"EPS"})
"""Formats for which Pillow would run an external program."""

_ORIENTATION = 0x0112
"""The EXIF tag of the camera's orientation; 1 is upright."""


def read_image(path: str | Path, short_side: int | None = None) -> Image.Image:
    """Return the image in ``path`` as RGB, rotated upright according to its EXIF orientation.

    Parameters
    ----------
    path : a file in any format that Pillow reads; HEIC and AVIF need pillow-heif.
    short_side : the number of pixels to which the caller will reduce the short side. It allows JPEG
        files to be decoded at a reduced scale; None decodes all pixels.

    Raises
    ------
    FileFormatError
        The file is not a readable image; the message is the reason.
    """
    with _reasons(), open(path, "rb") as file:
        image = _open(file)
        full_size = image.size
        if short_side is not None:
            image.draft(None, (REDUCING_GAP * short_side,) * 2)  # only JPEG has a draft mode; it rounds up
        check_memory(image, full_size)
        image.load()
        return to_rgb(_upright(image))


def read_thumbnail(path: str | Path, size: int = THUMBNAIL_SIZE, quality: int = 75) -> bytes:
    """The thumbnail of the image in ``path``, of any size; raises FileFormatError, with the reason, if it cannot be read."""
    return thumbnail_jpeg(read_image(path, size), size, quality)


def thumbnail_jpeg(image: Image.Image, size: int = THUMBNAIL_SIZE, quality: int = 75) -> bytes:
    """The center square of an RGB image as a JPEG file of ``size`` × ``size`` pixels."""
    out = io.BytesIO()
    # Each pixel is the mean of 3 × 3 evenly spaced pixels. A proper resize takes three times as long, which would add a
    # sixth to the decoding time, and this is good enough for so small a picture.
    picked = image.resize((3 * size, 3 * size), Image.Resampling.NEAREST, center_box(image.size))
    picked.reduce(3).save(out, "JPEG", quality=quality)
    return out.getvalue()


@contextmanager
def _reasons() -> Iterator[None]:
    """Turn whatever Pillow raises for hostile bytes into a FileFormatError with the reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns about damaged metadata and large images
            yield
    except FileFormatError:
        raise
    except Exception as error:  # decoders raise anything from struct.error to RecursionError
        raise FileFormatError(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "no permission to read it"
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, Image.DecompressionBombError):
        return f"too large: {error}"
    if isinstance(error, UnidentifiedImageError):
        return "not an image, or in an unknown format"
    if isinstance(error, MemoryError):
        return "too large: it does not fit in memory"
    if "truncated" in str(error).casefold():
        return f"truncated: {error}"
    return f"damaged: {error or type(error).__name__}"


def _open(file: io.BufferedReader) -> Image.Image:
    head = file.read(12)
    if not head:
        raise FileFormatError("empty")
    file.seek(0)
    check_icon(file)
    try:
        image = Image.open(file)
        if image.format in _PROGRAMS:
            raise FileFormatError(f"{image.format} is a program, which is not run: convert it to PNG")
        return image
    except UnidentifiedImageError:
        if head[4:8] != b"ftyp" or head[8:12] not in _HEIF_BRANDS:
            raise
    _register_heif()
    file.seek(0)
    return Image.open(file)


def _register_heif() -> None:
    try:
        import pillow_heif
    except ImportError:
        raise FileFormatError('HEIC or AVIF image: to read it, pip install "grande-gnn[heif]"') from None
    pillow_heif.register_heif_opener()
    if hasattr(pillow_heif, "register_avif_opener"):  # newer versions leave AVIF to Pillow itself
        pillow_heif.register_avif_opener()


def _upright(image: Image.Image) -> Image.Image:
    if 2 * 4 * image.width * image.height > MEMORY_LIMIT and _orientation(image) != 1:
        raise FileFormatError("too large: it cannot be turned upright, which takes a second copy of it")
    try:
        ImageOps.exif_transpose(image, in_place=True)
    except Exception:  # damaged metadata around a good image: use it as it is
        return image
    return image


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # damaged metadata
        return 1
