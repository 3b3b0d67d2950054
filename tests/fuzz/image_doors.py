"""Doors for image files and the store of their features."""

from __future__ import annotations

import io
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from door import Door, require, written
from PIL import Image, ImageOps

from grande_gnn.images.read import read_image
from grande_gnn.images.store import FeatureStore, StoredImage

IMAGES = [
    StoredImage(bytes([n]) * 20, b"thumbnail%d" % n, np.full(9, n, dtype=np.float32)) for n in range(40)
]


class Store(Door):
    name = "store"

    def make(self):
        def save(path):
            FeatureStore(path.parent, "s").add(IMAGES)

        return [written(save, "s.sqlite")]

    def read(self, folder, files):
        store = FeatureStore(folder, "s")
        digests = [image.digest for image in IMAGES]
        damaged = store.remove_damaged(digests)
        intact = [image for image in IMAGES if image.digest not in damaged]
        if intact:
            got = np.concatenate(list(store.features([image.digest for image in intact])))
            np.testing.assert_array_equal(got, np.stack([image.feature for image in intact]))
        for image, thumbnail in zip(IMAGES, store.thumbnails(digests), strict=True):
            require(thumbnail in (b"", image.thumbnail), "another thumbnail")
        store.add(IMAGES)
        np.testing.assert_array_equal(
            np.concatenate(list(store.features(digests))), np.stack([image.feature for image in IMAGES])
        )


class EditedStore(Store):
    """Values changed by SQL, so that the file itself is sound."""

    name = "store-edited"

    def mutate(self, random):
        (seed, *_) = self.seeds
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s.sqlite"
            path.write_bytes(seed["s.sqlite"])
            connection = sqlite3.connect(path)
            for _ in range(random.choice((1, 1, 3))):
                column = random.choice(("digest", "thumbnail", "feature", "feature_check", "thumbnail_check"))
                rows = random.choice(("", " WHERE rowid = 7", " WHERE rowid % 3 = 1"))
                value = random.choice(
                    (random.randbytes(random.choice((0, 16, 20, 36, 5000))), "text", 3, 0.5)
                )
                if random.random() < 0.02:
                    value, rows = bytes(2 << 20), " WHERE rowid = 7"
                try:
                    connection.execute(f"UPDATE images SET {column} = ?{rows}", (value,))
                except sqlite3.IntegrityError:
                    connection.execute(
                        f"UPDATE images SET feature = zeroblob(?){rows}", (random.randrange(100),)
                    )
            connection.commit()
            connection.close()
            return {"s.sqlite": path.read_bytes()}


def slow_image(content: bytes) -> Image.Image | None:
    """The picture as Pillow alone decodes and converts it; None for modes in which it clips or hides something."""
    image = Image.open(io.BytesIO(content))
    image.draft(None, (64, 64))
    image.load()
    with suppress(Exception):  # damaged metadata
        image = ImageOps.exif_transpose(image)
    if image.mode in ("RGB", "L", "CMYK", "YCbCr", "1", "P") and not image.has_transparency_data:
        return image.convert("RGB")
    if image.mode == "I;16":
        return Image.fromarray((np.asarray(image) // 257).astype(np.uint8)).convert("RGB")
    return None


class Images(Door):
    name = "images"

    def make(self):
        rng = np.random.default_rng(0)
        photo = Image.fromarray(
            (rng.random((40, 56, 3)) * 60 + np.arange(56)[None, :, None] * 3).astype(np.uint8)
        )
        grey = photo.convert("L")
        deep = Image.fromarray(np.arange(40 * 56, dtype=np.uint16).reshape(40, 56) * 20)
        exact = {"I": photo.convert("I"), "F": photo.convert("F"), "CMYK": photo.convert("CMYK")}
        turned = Image.Exif()
        turned[0x0112] = 6  # EXIF: the camera was held sideways
        made = [
            (photo, "JPEG", {}), (photo, "JPEG", {"progressive": True}), (exact["CMYK"], "JPEG", {}), (grey, "JPEG", {}),
            (photo, "PNG", {}), (photo.convert("P"), "PNG", {}), (photo.convert("RGBA"), "PNG", {}), (deep, "PNG", {}),
            (photo.convert("1"), "PNG", {}), (photo, "WEBP", {}), (photo, "WEBP", {"lossless": True}), (photo, "GIF", {}),
            (photo, "GIF", {"save_all": True, "append_images": [grey] * 2}), (photo, "TIFF", {}), (photo, "BMP", {}),
            (photo, "TIFF", {"compression": "tiff_lzw"}), (photo, "TIFF", {"compression": "jpeg"}), (exact["I"], "TIFF", {}),
            (exact["F"], "TIFF", {}), (grey.convert("P"), "BMP", {}), (photo, "JPEG", {"exif": turned}),
        ]  # fmt: skip
        out = []
        for image, kind, options in made:
            file = io.BytesIO()
            image.save(file, kind, **options)
            out.append({"image": file.getvalue()})
        return out

    def read(self, folder, files):
        image = read_image(folder / "image", 32)
        require(image.mode == "RGB" and min(image.size) >= 1, "not a picture")
        last = image.crop((image.width - 1, image.height - 1, image.width, image.height))
        require(len(last.tobytes()) == 3, "pixels that are not there")
        if image.width * image.height <= 1 << 20:  # all at once would take as much memory again
            slow = slow_image(files["image"])
            require(
                slow is None or (image.size == slow.size and image.tobytes() == slow.tobytes()),
                "other pixels",
            )
