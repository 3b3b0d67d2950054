"""A labelling of images whose names are as bad as names can be."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from grande_gnn.labelling.result import Labelling

FILES = [
    "test/1.png", "a,b\"c.png", "new\nline.png", os.fsdecode(b"caf\xe9.png"), "ünï/<script>.png", "=1+1.PNG", "a.png",
    "a.gif",
]  # fmt: skip
LABELS = ["cat", "dog", "../etc", "cat", "", "<b>", "dog", "=2"]


@pytest.fixture
def hostile(tmp_path) -> Labelling:
    """Eight images; the fifth has no label, and a person gave the first two."""
    root = tmp_path / "photos"
    for i, file in enumerate(FILES):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        with Path(root / file).open("wb") as out:
            Image.new("RGB", (10 + i, 5)).save(out, "PNG")
    n, nothing = len(FILES), np.zeros(len(FILES), dtype=bool)
    given = ["cat", "dog"] + [""] * (n - 2)
    confidence = np.linspace(0.3, 1, n)
    return Labelling(
        FILES, LABELS, confidence, [""] * n, np.zeros(n), given, nothing, nothing, root=root,
        settings={"temperature": 1.0, "offset": None},
    )  # fmt: skip
