"""A folder with everything that goes wrong: features for the good files, a reason for each bad one."""

from __future__ import annotations

import csv
import os
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from grande_gnn.cli import main

Picture = Callable[..., Image.Image]
LONG = "n" * 240 + ".png"
NOT_UNICODE = os.fsdecode(b"\xe9\xff.png")


def png_bomb(path: Path, side: int = 50_000) -> None:
    """A valid PNG of a few kilobytes whose pixels take gigabytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    data = zlib.compress(bytes(side // 8 + 1) * 100)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


@pytest.fixture
def hostile(tmp_path: Path, picture: Picture) -> Path:
    root = tmp_path / "hostile"
    for folder in ("rose", "daisy", "unlabeled"):
        (root / folder).mkdir(parents=True)
    rose, daisy, other = root / "rose", root / "daisy", root / "unlabeled"
    for number in range(4):
        picture(number).save(rose / f"{number}.jpg")
        picture(number + 10).save(daisy / f"{number}.jpg")
    # Good, however odd.
    picture(20).convert("CMYK").save(rose / "cmyk.jpg")
    Image.fromarray(np.arange(0, 60000, 60, dtype=np.uint16).reshape(25, 40)).save(rose / "sixteen.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(21).save(rose / "rotated.jpg", exif=exif)
    picture(22).save(rose / "png-called.jpg", "PNG")
    picture(23).save(rose / "called-nothing", "JPEG")
    picture(24).save(daisy / "größe 花 🌼.png")
    picture(25).save(daisy / LONG)
    picture(26).save(daisy / "x.png")
    os.rename(daisy / "x.png", daisy / NOT_UNICODE)
    picture(27, (3000, 2)).save(other / "thin.png")
    picture(28, (1, 1)).save(other / "dot.png")
    shutil.copy(rose / "0.jpg", other / "copy.jpg")
    # Bad.
    data = (rose / "1.jpg").read_bytes()
    (rose / "truncated.jpg").write_bytes(data[: len(data) // 2])
    (rose / "empty.png").touch()
    (daisy / "text.jpg").write_text("not an image")
    (daisy / "notes.txt").write_text("bought on Monday")
    png_bomb(daisy / "bomb.png")
    picture(29).save(daisy / "secret.jpg")
    (daisy / "secret.jpg").chmod(0)
    os.symlink(root, rose / "loop")
    os.symlink("self.jpg", rose / "self.jpg")
    shutil.copy(rose / "3.jpg", daisy / "rose-as-daisy.jpg")
    return root


GOOD = {
    *(f"{name}/{number}.jpg" for name in ("rose", "daisy") for number in range(4)),
    "rose/cmyk.jpg", "rose/sixteen.png", "rose/rotated.jpg", "rose/png-called.jpg", "rose/called-nothing",
    "daisy/größe 花 🌼.png", f"daisy/{LONG}", f"daisy/{NOT_UNICODE}", "daisy/rose-as-daisy.jpg",
    "unlabeled/thin.png", "unlabeled/dot.png", "unlabeled/copy.jpg",
}  # fmt: skip
BAD = {
    "rose/truncated.jpg": "truncated",
    "rose/empty.png": "empty",
    "daisy/text.jpg": "not an image",
    "daisy/notes.txt": "not an image",
    "daisy/bomb.png": "too large",
    "rose/loop": "link to a folder that is already included",
    "rose/self.jpg": "broken link",
}


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["extract", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def problems(output: Path) -> dict[str, str]:
    with open(
        output.with_suffix(".problems.csv"), newline="", encoding="utf-8", errors="surrogateescape"
    ) as file:
        return {row["file"]: row["reason"] for row in csv.DictReader(file)}


def test_class_folders(hostile: Path, tmp_path: Path) -> None:
    output = tmp_path / "f.npz"
    code, text = run(hostile, "-o", output, "--extractor", "pixels", "--store", tmp_path / "store")
    assert code == 0, text
    found = problems(output)
    secret_is_readable = os.access(hostile / "daisy" / "secret.jpg", os.R_OK)  # it is for root
    good = GOOD | ({"daisy/secret.jpg"} if secret_is_readable else set())
    bad = BAD if secret_is_readable else BAD | {"daisy/secret.jpg": "no permission"}
    with np.load(output) as saved:
        assert set(saved["files"].tolist()) == good
        assert np.isfinite(saved["features"]).all()
        names = [*saved["classes"].tolist(), ""]
        labels = dict(zip(saved["files"].tolist(), (names[code] for code in saved["labels"]), strict=True))
    two_labels = {"rose/3.jpg", "daisy/rose-as-daisy.jpg"}
    assert set(found) == set(bad) | two_labels
    for file, reason in bad.items():
        assert found[file].startswith(reason), file
    for file, label in labels.items():
        folder = file.split("/")[0]
        assert label == ("" if folder == "unlabeled" or file in two_labels else folder)


def test_labels_file(hostile: Path, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    rows = [f"{file},{file.split('/')[0]}" for file in sorted(GOOD - {f"daisy/{NOT_UNICODE}"})]
    rows += ["rose/1.jpg,daisy", "rose/lost.jpg,rose", "rose/empty.png,rose"]
    table.write_text("\n".join(["file,label", *rows]), encoding="utf-8")
    output = tmp_path / "f.npz"
    code, text = run(
        hostile, "-o", output, "--labels", table, "--extractor", "pixels", "--store", tmp_path / "s"
    )
    assert code == 0, text
    found = problems(output)
    assert found["rose/1.jpg"].startswith("two labels: daisy and rose")
    assert found["rose/lost.jpg"].startswith("no such image")
    assert found["rose/empty.png"] == "empty"
    with np.load(output) as saved:
        labels = dict(zip(saved["files"].tolist(), saved["labels"].tolist(), strict=True))
    assert labels["rose/1.jpg"] == labels[f"daisy/{NOT_UNICODE}"] == -1
    assert labels["rose/2.jpg"] >= 0


def test_a_rotated_photo_has_the_features_of_the_upright_one(tmp_path: Path, picture: Picture) -> None:
    root = tmp_path / "two"
    root.mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(0).save(root / "upright.png")
    picture(0).transpose(Image.Transpose.ROTATE_90).save(root / "rotated.png", exif=exif)
    assert run(root, "-o", tmp_path / "f.npz", "--extractor", "pixels", "--store", tmp_path / "s")[0] == 0
    with np.load(tmp_path / "f.npz") as saved:
        assert np.allclose(*saved["features"], atol=0.02)


def test_all_files_bad_is_an_error_that_leaves_the_list(tmp_path: Path) -> None:
    root = tmp_path / "bad"
    root.mkdir()
    (root / "a.jpg").write_text("no")
    code, text = run(root, "-o", tmp_path / "f.npz", "--extractor", "pixels", "--store", tmp_path / "s")
    assert code == 1
    assert "none of the 1 files is a readable image" in text
    assert problems(tmp_path / "f.npz").keys() == {"a.jpg"}
    assert not (tmp_path / "f.npz").exists()
