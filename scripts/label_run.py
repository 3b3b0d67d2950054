"""Print which modules of the package one ``grande label`` enters, as a JSON list (see house.py).

python scripts/label_run.py FOLDER        with the tree to look at on PYTHONPATH; FOLDER is filled with images and results

The command runs twice; the second time everything is imported, the features come from the store, and every module in which
a function is called is noted. Only what every version of the package has is used here.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType

import numpy as np
from click.testing import CliRunner
from PIL import Image

import grande_gnn
from grande_gnn.cli import main


def make_photos(folder: Path) -> None:
    """60 tiny images of three colors; 24 are labelled by their folder."""
    rng = np.random.default_rng(0)
    for i in range(60):
        place = folder / ("a", "b", "c")[i % 3] if i < 24 else folder
        place.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 160, size=(8, 8, 3))
        pixels[..., i % 3] += 60
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{i}.png")


def label(photos: Path, out: Path) -> None:
    """``grande label`` with automatic settings, in this process and on the CPU."""
    options = ["--extractor", "pixels", "--workers", "0", "--device", "cpu"]
    result = CliRunner().invoke(main, ["label", str(photos), "-o", str(out), *options])
    if result.exit_code:
        raise RuntimeError(result.output)


def entered_modules(folder: Path) -> list[str]:
    """The modules that the second run enters, below the package's folder."""
    make_photos(folder / "photos")
    label(folder / "photos", folder / "first")
    files: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        label(folder / "photos", folder / "second")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    package = Path(grande_gnn.__file__).parent
    paths = [
        Path(name) for name in files if name.endswith(".py")
    ]  # compiled templates of Jinja are no modules
    return sorted(path.relative_to(package).as_posix() for path in paths if package in path.parents)


if __name__ == "__main__":
    work = Path(sys.argv[1])
    os.environ["GRANDE_CACHE"] = str(work / "cache")
    json.dump(entered_modules(work), sys.stdout)
