"""What a file declares is counted before it is decoded: a small file cannot take the memory of the machine."""

from __future__ import annotations

import os
import pickle
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from grande_gnn.errors import FileFormatError
from grande_gnn.images import read_image
from grande_gnn.images.budget import MEMORY_LIMIT, check_memory, needed_memory

SIDE = 13_370
"""Just inside Pillow's own limit."""
MIB = 2**20


def zeros(n_bytes: int) -> bytes:
    """A zlib stream of that many zero bytes, made of one compressed block that is repeated."""
    block = 2**20
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = stream.compress(bytes(block)) + stream.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, zlib.DEFLATED, -15)
    rest = last.compress(bytes(n_bytes % block)) + last.flush()
    checksum = struct.pack(">I", (n_bytes % 65521) << 16 | 1)
    return b"\x78\xda" + whole * (n_bytes // block) + rest + checksum


def png(side: int, depth: int, color: int, samples: int, *more: tuple[bytes, bytes]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, depth, color, 0, 0, 0)
    data = zeros(side * (1 + side * samples * depth // 8))
    chunks = [(b"IHDR", header), *more, (b"IDAT", data), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*c) for c in chunks)


def tiff(side: int, sample_format: int) -> bytes:
    """One compressed strip of 32-bit numbers: floats (3) or integers (2)."""
    data = zeros(4 * side * side)
    tags = [(256, side), (257, side), (258, 32), (259, 8), (262, 1), (273, 8), (277, 1), (278, side),
            (279, len(data)), (339, sample_format)]  # fmt: skip
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory


def gif(side: int) -> bytes:
    """The frame says only that all pixels are transparent; each clear code starts a new run of codes."""
    header = b"GIF89a" + struct.pack("<HHBBB", side, side, 0xF0, 0, 0) + bytes(6)
    control = b"\x21\xf9\x04\x01\0\0\0\0"
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, side, side, 0) + b"\x02" + b"\x02\x4c\x01\0"
    return header + control + frame + b"\x3b"


PALETTE = ((b"PLTE", bytes(6)), (b"tRNS", b"\0"))
BOMBS: dict[str, Callable[[int], bytes]] = {
    "gif": gif,
    "palette png": lambda side: png(side, 8, 3, 1, *PALETTE),
    "16-bit png": lambda side: png(side, 16, 0, 1),
    "rgba png": lambda side: png(side, 8, 6, 4),
    "float tiff": lambda side: tiff(side, 3),
    "integer tiff": lambda side: tiff(side, 2),
}


def memory(name: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def read_in_child(path: Path) -> tuple[str, int, float]:
    """The reason why the file is not read (or its size), how much memory that took, and how many seconds."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the peak of memory is measured on Linux")
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
            before, start = memory("VmRSS"), time.process_time()
            try:
                said = str(read_image(path, 256).size)
            except FileFormatError as error:
                said = str(error)
            took = (said, memory("VmHWM") - before, time.process_time() - start)
            os.write(into, pickle.dumps(took))
        finally:
            os._exit(0)
    os.close(into)
    os.waitpid(child, 0)
    with os.fdopen(out, "rb") as file:
        return pickle.loads(file.read())


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_declares_much_is_refused_before_it_is_decoded(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(BOMBS[name](SIDE))
    assert path.stat().st_size < 2e6
    said, taken, seconds = read_in_child(path)
    assert said.startswith(f"too large: {SIDE} × {SIDE} pixels of mode")
    assert taken < 64 * MIB
    assert seconds < 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "side"),
    [("palette png", 10_350), ("16-bit png", 9_450), ("rgba png", 8_190), ("float tiff", 6_680), ("integer tiff", 6_680)],
)  # fmt: skip
def test_the_largest_that_is_read_stays_within_the_limit(tmp_path: Path, name: str, side: int) -> None:
    path = tmp_path / "large"
    path.write_bytes(BOMBS[name](side))
    said, taken, seconds = read_in_child(path)
    assert said == str((side, side))
    assert taken < MEMORY_LIMIT + 100 * MIB  # the rest is the file itself and one band
    assert seconds < 10


def test_a_bomb_is_what_it_declares(tmp_path: Path) -> None:
    """The hand-made files are valid: small ones of the same kind are read."""
    for name, make in BOMBS.items():
        if name != "gif":  # whose codes end early
            (tmp_path / "small").write_bytes(make(70))
            assert read_image(tmp_path / "small").size == (70, 70), name


def test_needs(tmp_path: Path) -> None:
    def need(image: Image.Image) -> float:
        return needed_memory(image, image.size) / (image.width * image.height)

    assert need(Image.new("RGB", (10, 10))) == 4
    assert need(Image.new("L", (10, 10))) == 5
    assert need(Image.new("I;16", (10, 10))) == 6
    assert need(Image.new("RGBA", (10, 10))) == need(Image.new("F", (10, 10))) == 8


def test_a_jpeg_counts_at_the_scale_it_is_decoded_at(tmp_path: Path) -> None:
    Image.new("RGB", (800, 600)).save(tmp_path / "plain.jpg")
    Image.new("RGB", (800, 600)).save(tmp_path / "progressive.jpg", progressive=True, subsampling=0)
    plain, progressive = (Image.open(tmp_path / f"{name}.jpg") for name in ("plain", "progressive"))
    for image in (plain, progressive):
        image.draft(None, (100, 100))
    assert needed_memory(plain, (800, 600)) == 4 * plain.width * plain.height <= 4 * 800 * 600 / 16
    assert needed_memory(progressive, (800, 600)) - needed_memory(plain, (800, 600)) == 2 * 3 * 800 * 600


def test_the_strip_of_a_compressed_tiff_counts(tmp_path: Path) -> None:
    (tmp_path / "x.tif").write_bytes(tiff(50, 3))
    with Image.open(tmp_path / "x.tif") as image:
        assert needed_memory(image, image.size) == (4 + 4 + 4) * 50 * 50
    Image.fromarray(np.zeros((50, 50), dtype=np.float32)).save(tmp_path / "raw.tif")
    with Image.open(tmp_path / "raw.tif") as image:
        assert needed_memory(image, image.size) == (4 + 4) * 50 * 50


def test_the_picture_inside_an_icon_counts(tmp_path: Path) -> None:
    inside = png(SIDE, 8, 6, 4)
    entry = struct.pack("<BBBBHHII", 32, 32, 0, 0, 1, 32, len(inside), 22)
    (tmp_path / "x.ico").write_bytes(struct.pack("<HHH", 0, 1, 1) + entry + inside)
    said, taken, _ = read_in_child(tmp_path / "x.ico")
    assert said == f"too large: an icon with a picture of {SIDE} × {SIDE} pixels inside"
    assert taken < 64 * MIB
    for kind in ("png", "bmp"):
        Image.new("RGB", (64, 64)).save(tmp_path / "good.ico", bitmap_format=kind)
        assert read_image(tmp_path / "good.ico").size == (64, 64)


def test_a_format_that_is_a_program_is_not_run(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "x.eps")
    with pytest.raises(FileFormatError, match="EPS is a program, which is not run: convert it to PNG"):
        read_image(tmp_path / "x.eps")


def test_an_image_that_can_be_read_but_not_turned_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (30, 20)).save(tmp_path / "x.png", exif=exif)
    Image.new("RGB", (30, 20)).save(tmp_path / "upright.png")
    monkeypatch.setattr("grande_gnn.images.read.MEMORY_LIMIT", 30 * 20 * 8 - 1)
    with pytest.raises(FileFormatError, match="too large: it cannot be turned upright"):
        read_image(tmp_path / "x.png")
    assert read_image(tmp_path / "upright.png").size == (30, 20)


def test_the_sentence() -> None:
    class Large:
        size = width, height = 20_000, 20_000
        mode, format, info, has_transparency_data = "L", "PNG", {}, False

    with pytest.raises(
        FileFormatError, match=r"too large: 20000 × 20000 pixels of mode L take 1907 MiB.* may take 512"
    ):
        check_memory(Large())  # type: ignore[arg-type]
