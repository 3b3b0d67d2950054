"""Pictures are upright JPEG files of bounded size, kept for the next request."""

import io

import numpy as np
import pytest
from PIL import Image

from grande_gnn.errors import FileFormatError
from grande_gnn.review import pictures
from grande_gnn.review.pictures import SIZES, Pictures


@pytest.fixture
def folder(tmp_path):
    pixels = np.zeros((1200, 2000, 3), np.uint8)
    pixels[:, :1000] = 255  # white on the left
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90° clockwise: what was left is then on top
    Image.fromarray(pixels).save(tmp_path / "turned.jpg", exif=exif)
    (tmp_path / "broken.jpg").write_bytes(b"nothing")
    return tmp_path


def opened(data):
    return Image.open(io.BytesIO(data))


def test_pictures_are_upright_and_full_means_every_pixel(folder):
    made = Pictures(folder, ["turned.jpg"])
    assert opened(made.jpeg(0, "full")).size == (1200, 2000)
    for kind in ("thumb", "picture"):
        image = opened(made.jpeg(0, kind))
        assert max(image.size) == SIZES[kind]
        assert image.format == "JPEG"
        top, bottom = image.convert("L").getpixel((5, 5)), image.convert("L").getpixel((5, image.height - 5))
        assert (top > 240, bottom < 15) == (True, True)


def test_a_picture_is_made_once_and_old_ones_are_dropped(folder, monkeypatch):
    made = Pictures(folder, ["turned.jpg", "turned.jpg"])
    first = made.jpeg(0, "thumb")
    (folder / "turned.jpg").rename(folder / "moved.jpg")
    assert made.jpeg(0, "thumb") is first
    (folder / "moved.jpg").rename(folder / "turned.jpg")
    monkeypatch.setattr(pictures, "CACHE_BYTES", len(first))
    made.jpeg(1, "thumb")
    assert made.jpeg(0, "thumb") is not first


def test_what_cannot_be_read_has_a_reason(folder):
    with pytest.raises(FileFormatError, match="not an image"):
        Pictures(folder, ["broken.jpg"]).jpeg(0, "thumb")
    with pytest.raises(FileFormatError, match="no such file"):
        Pictures(folder, ["gone.jpg"]).jpeg(0, "full")
    with pytest.raises(FileFormatError, match="folder of the images is not known"):
        Pictures(None, ["turned.jpg"]).jpeg(0, "thumb")


def test_texts_have_pictures_without_files():
    shown = Pictures(None, ["a", "b"], ["one <b>", "two"])
    assert shown.media_type == "image/svg+xml"
    assert b"one &lt;b&gt;" in shown.picture(0, "thumb")
    assert Pictures(None, ["a"]).media_type == "image/jpeg"
