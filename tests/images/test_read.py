"""Any image is read upright and in RGB, and what is none has a reason."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

import grande_gnn.images.read as read
from grande_gnn.errors import FileFormatError
from grande_gnn.images import read_image, read_thumbnail

Picture = Callable[..., Image.Image]


def difference(a: Image.Image, b: Image.Image) -> float:
    return float(np.abs(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)).mean())


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "gif", "bmp", "tif", "avif", "jp2", "ppm"])
def test_formats(tmp_path: Path, picture: Picture, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    picture().save(path)
    image = read_image(path)
    assert image.mode == "RGB"
    assert difference(image, picture()) < 6


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_honored(tmp_path: Path, picture: Picture, orientation: int) -> None:
    # What a camera held that way stores: the inverse of the turn its EXIF tag asks for.
    inverse = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = picture().transpose(inverse[orientation]) if orientation > 1 else picture()
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored.save(tmp_path / "x.png", exif=exif)
    assert difference(read_image(tmp_path / "x.png"), picture()) == 0


def test_transparent_pixels_are_white(tmp_path: Path, picture: Picture) -> None:
    half = picture()
    half.putalpha(Image.fromarray(np.repeat([[0, 255]], 30, axis=0).repeat(20, axis=1).astype(np.uint8)))
    half.save(tmp_path / "x.png")
    pixels = np.asarray(read_image(tmp_path / "x.png"))
    assert (pixels[:, :20] == 255).all()
    assert (pixels[:, 20:] == np.asarray(picture())[:, 20:]).all()


def test_transparent_palette_color_is_white(tmp_path: Path) -> None:
    image = Image.fromarray(np.repeat([[0, 1]], 8, axis=0).astype(np.uint8)).convert("P")
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.save(tmp_path / "x.png", transparency=0)
    assert np.asarray(read_image(tmp_path / "x.png"))[0].tolist() == [[255, 255, 255], [0, 0, 255]]


@pytest.mark.parametrize("mode", ["L", "P", "LA", "CMYK", "YCbCr", "I", "F"])
def test_modes_keep_the_picture(tmp_path: Path, picture: Picture, mode: str) -> None:
    gray = ImageOps.autocontrast(
        picture().convert("L")
    )  # the full range, which is what I and F are stretched to
    color = gray.convert("RGB")
    source = (
        color.quantize(256) if mode == "P" else (gray if mode in ("LA", "I", "F") else color).convert(mode)
    )
    path = tmp_path / ("x.tif" if mode in ("CMYK", "YCbCr", "I", "F") else "x.png")
    source.save(path)
    if Image.open(path).mode != mode:
        pytest.skip(f"this Pillow opens {mode} as another mode")
    assert difference(read_image(path), color) < 2


def test_one_bit_images(tmp_path: Path) -> None:
    Image.fromarray(np.eye(9, dtype=bool)).save(tmp_path / "x.png")
    assert (np.asarray(read_image(tmp_path / "x.png"))[..., 0] == 255 * np.eye(9)).all()


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_16_bit_uses_its_full_range(tmp_path: Path, suffix: str) -> None:
    ramp = np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16)
    Image.fromarray(ramp).save(tmp_path / f"x.{suffix}")
    pixels = np.asarray(read_image(tmp_path / f"x.{suffix}"))
    assert (pixels[..., 0].ravel() == np.arange(256)).all()


def test_16_bit_is_divided_by_257(tmp_path: Path) -> None:
    """65535 / 255 = 257: a value one step below a level belongs to the level before."""
    Image.fromarray(np.array([[0, 256, 257, 65278, 65279, 65535]], dtype=np.uint16)).save(tmp_path / "x.png")
    assert np.asarray(read_image(tmp_path / "x.png"))[0, :, 0].tolist() == [0, 0, 1, 254, 254, 255]


def test_first_frame_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "lime")]
    for suffix in ("gif", "webp", "tif"):
        options = {"lossless": True} if suffix == "webp" else {}
        frames[0].save(tmp_path / f"x.{suffix}", save_all=True, append_images=frames[1:], **options)
        assert read_image(tmp_path / f"x.{suffix}").getpixel((0, 0)) == (255, 0, 0)


def test_cmyk_jpeg(tmp_path: Path) -> None:
    Image.new("CMYK", (16, 16), (0, 255, 255, 0)).save(tmp_path / "x.jpg")
    red, green, blue = read_image(tmp_path / "x.jpg").getpixel((8, 8))
    assert red > 200
    assert max(green, blue) < 60


def test_heic_where_it_can_be_read(tmp_path: Path, picture: Picture) -> None:
    pillow_heif = pytest.importorskip("pillow_heif", reason="HEIC needs pillow-heif")
    pillow_heif.from_pillow(picture(size=(64, 48))).save(tmp_path / "x.heic", quality=95)
    assert difference(read_image(tmp_path / "x.heic"), picture(size=(64, 48))) < 6


def test_heic_without_its_package_names_the_pip_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pillow_heif", None)
    monkeypatch.setattr(Image, "ID", [name for name in Image.ID if name not in ("HEIF", "AVIF")])
    (tmp_path / "x.heic").write_bytes(struct.pack(">I", 24) + b"ftypheic" + bytes(100))
    with pytest.raises(FileFormatError, match=r'pip install "grande-gnn\[heif\]"'):
        read_image(tmp_path / "x.heic")


def png_header(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"hello", "not an image"),
        (bytes(1000), "not an image"),
        (png_header(60000, 60000), "too large"),
        (png_header(100, 100), "truncated|damaged"),
    ],
    ids=["empty", "text", "zeros", "bomb", "no data"],
)
def test_bad_files_have_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(FileFormatError, match=reason):
        read_image(tmp_path / "x.png")


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "gif", "tif", "bmp"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_truncated_files_have_a_reason(tmp_path: Path, picture: Picture, suffix: str, part: float) -> None:
    picture(size=(200, 150)).save(tmp_path / f"x.{suffix}")
    data = (tmp_path / f"x.{suffix}").read_bytes()
    (tmp_path / f"x.{suffix}").write_bytes(data[: int(part * len(data))])
    with pytest.raises(FileFormatError, match=r"\w"):
        read_image(tmp_path / f"x.{suffix}")


def test_flipped_bytes_never_raise_anything_else(tmp_path: Path, picture: Picture) -> None:
    rng = np.random.default_rng(0)
    for suffix in ("jpg", "png", "gif", "webp", "tif", "bmp"):
        path = tmp_path / f"x.{suffix}"
        picture().save(path)
        data = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(40):
            damaged = data.copy()
            damaged[rng.integers(len(data), size=5)] = rng.integers(256, size=5)
            path.write_bytes(damaged.tobytes())
            with contextlib.suppress(FileFormatError):
                assert read_image(path).mode == "RGB"


def _read_as_nobody(path: Path) -> str:
    os.seteuid(65534)
    try:
        read_image(path)
    except FileFormatError as error:
        return str(error)
    return "was read"


def test_unreadable_permissions(picture: Picture) -> None:
    # Root may read everything, so another user tries; pytest's own folders are closed to that user.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.png"
        os.chmod(folder, 0o755)
        picture().save(path)
        path.chmod(0)
        if os.geteuid() != 0:
            with pytest.raises(FileFormatError, match="no permission"):
                read_image(path)
        else:
            with multiprocessing.get_context("fork").Pool(1) as pool:
                assert pool.apply(_read_as_nobody, (path,)) == "no permission to read it"


def test_damaged_exif_does_not_lose_the_image(tmp_path: Path, picture: Picture) -> None:
    picture().save(tmp_path / "x.jpg", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\x01\x12")
    assert difference(read_image(tmp_path / "x.jpg"), picture()) < 6


def test_reduced_decoding_keeps_enough_pixels(tmp_path: Path, picture: Picture) -> None:
    picture(size=(1600, 1200)).save(tmp_path / "x.jpg")
    for short_side in (16, 64, 75, 100, 300, 601, 2000):
        image = read_image(tmp_path / "x.jpg", short_side)
        assert min(image.size) >= min(read.REDUCING_GAP * short_side, 1200)
        assert image.width / image.height == pytest.approx(4 / 3, rel=0.01)
    assert read_image(tmp_path / "x.jpg", 64).size == (200, 150)
    assert read_image(tmp_path / "x.jpg").size == (1600, 1200)


def test_reduced_decoding_loses_nothing(tmp_path: Path, flowers: Path) -> None:
    """A mosaic of photos, so that there is detail down to the pixel, decoded at full and at half size."""
    photos = sorted((flowers / "images").iterdir())
    mosaic = Image.new("RGB", (1200, 1160))
    for number in range(20):
        mosaic.paste(Image.open(photos[67 * number]), (300 * (number % 4), 232 * (number // 4)))
    mosaic.save(tmp_path / "x.jpg", quality=92)
    full, half = read_image(tmp_path / "x.jpg"), read_image(tmp_path / "x.jpg", 256)
    assert half.width == full.width // 2
    small = [image.resize((265, 256), Image.Resampling.BICUBIC) for image in (full, half)]
    once_more = tmp_path / "again.jpg"
    small[0].save(once_more, quality=95)  # the least loss a JPEG file can have in practice
    assert difference(*small) < difference(small[0], Image.open(once_more)) / 2


def test_thumbnail(tmp_path: Path) -> None:
    wide = Image.new("RGB", (300, 100), "red")
    wide.paste("blue", (100, 0, 200, 100))
    wide.save(tmp_path / "x.png")
    data = read_thumbnail(tmp_path / "x.png", 48)
    (tmp_path / "t.jpg").write_bytes(data)
    thumbnail = Image.open(tmp_path / "t.jpg")
    assert thumbnail.size == (48, 48)
    assert difference(thumbnail.crop((4, 4, 44, 44)), Image.new("RGB", (40, 40), "blue")) < 4
    assert len(data) < 1000
