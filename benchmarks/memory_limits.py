"""`grande label` on many images under limits of memory: it finishes, or says before it starts what it needs.

    python benchmarks/memory_limits.py [--images 20000] [--gib 2 4] [--kinds address cgroup] [--extractors pixels lite2]
    python benchmarks/memory_limits.py --images 100000 --extractors features
    PYTHONPATH=old_tree/src python benchmarks/memory_limits.py … --version COMMIT     # an older version, added to the rows

The images are made: 16 × 16 pixels of colored noise in ten classes, a twentieth of them labelled; all settings are
automatic. A network would take most of an hour to extract them, so the features of extractors other than ``pixels`` are
made too and put into the store, from where the command takes them. Memory does not depend on the number of epochs, so a few
of them do (``--epochs``). The extractor ``features`` stands for a features file instead: 768 features of type float16
(made_features.py) in 100 classes, 20 labels each, as many samples as ``--images`` says.

A limit is that of the address space (RLIMIT_AS, ``ulimit -v``), which counts mapped libraries too, or of a control group,
where this user may make one. A row says how the command ended, after how long, and the largest memory it had. Rows that
the results have are not measured again.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from common import RESULTS, print_table, read_rows, write_rows
from made_features import few_labels, made_features

GROUPS = Path("/sys/fs/cgroup/memory")
"""Control groups of version 1."""
CLASSES = 10
FEATURES = "features"


def make_images(folder: Path, n: int) -> Path:
    """Images of noise around the color of their class; every twentieth is in the folder of its class."""
    rng = np.random.default_rng(0)
    colors = rng.integers(40, 216, size=(CLASSES, 3))
    for number in range(n):
        label = number % CLASSES
        place = folder / (f"class{label}" if number // CLASSES % 20 == 0 else "_unlabeled")
        place.mkdir(parents=True, exist_ok=True)
        noise = rng.normal(scale=25, size=(16, 16, 3))
        pixels = np.clip(colors[label] + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(place / f"{number:06d}.png", compress_level=1)
    for path in folder.rglob("*.png"):
        os.utime(path, (1, 1))  # long ago, so that the store recognizes them
    return folder


def fill_store(folder: Path, store: Path, extractor: str) -> None:
    """Made features of the images, as if the extractor had computed them."""
    from grande_gnn.images import FeatureStore, find_images, load_extractor
    from grande_gnn.images.store import FileState, StoredImage, digest_file

    network = load_extractor(extractor)
    kept = FeatureStore(store, network.identity)
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(CLASSES, network.n_features()))
    rows, states = [], []
    time.sleep(2.5)  # files that changed just now are not trusted
    for path in find_images(folder).paths():
        digest, label = digest_file(path), int(path.stem) % CLASSES
        feature = np.maximum(centers[label] + rng.normal(size=centers.shape[1]), 0).astype(np.float32)
        rows.append(StoredImage(digest, b"", feature))
        states.append((FileState.of(path.absolute()), digest))
    kept.add(rows, states)


def make_features(path: Path, n: int) -> Path:
    """A features file."""
    X, y = made_features(n, 100, out=np.empty((n, 768), dtype=np.float16))
    codes = few_labels(y, 20)
    np.savez(path, features=X, labels=np.where(codes >= 0, np.char.add("class ", codes.astype(str)), ""))
    return path


def child(folder: Path, store: Path, out: Path, extractor: str, epochs: int) -> int:
    """The command, in the process that has the limit."""
    from grande_gnn.cli import main
    from grande_gnn.labelling import LabelOptions

    whole = LabelOptions.classifier

    def short(options: LabelOptions) -> Any:
        clf = whole(options)
        clf.epochs = epochs
        return clf

    LabelOptions.classifier = short  # type: ignore[method-assign]
    arguments = ["label", folder, "-o", out, "--extractor", extractor, "--store", store, "--workers", "2"]
    if extractor == FEATURES:
        arguments = ["label", store, "-o", out]
    main([str(argument) for argument in [*arguments, "--device", "cpu"]])
    return 0


def limited(kind: str, limit: int, command: list[str]) -> dict[str, Any]:
    """Run under a limit: how it ended, after how long, with how much memory, and its last line."""
    group = GROUPS / f"grande-limit-{os.getpid()}"

    def enter() -> None:
        if kind == "cgroup":
            (group / "cgroup.procs").write_text(str(os.getpid()))
        else:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    if kind == "cgroup":
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit))
    start = time.monotonic()
    try:
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, stdout=said, stderr=said, preexec_fn=enter)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            lines = [line for line in said.read().decode(errors="replace").splitlines() if line.strip()]
    finally:
        if kind == "cgroup":
            group.rmdir()
    last = lines[-1] if lines else ""
    ended = {0: "finished", 1: "refused" if last.startswith("Error: ") else "traceback"}
    return {
        "ended": ended.get(process.returncode, f"status {process.returncode}"),
        "seconds": round(time.monotonic() - start, 1),
        "peak_mib": usage.ru_maxrss // 1024,
        "last_line": last[:300],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--gib", type=float, nargs="+", default=[2, 4])
    parser.add_argument("--kinds", nargs="+", choices=["address", "cgroup"], default=["address", "cgroup"])
    parser.add_argument("--extractors", nargs="+", default=["pixels", "lite2"])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--version", default="", help="name of the version in the rows")
    parser.add_argument("--out", type=Path, default=RESULTS / "memory_limits.csv")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        folder, store, out, extractor, epochs = options.child
        sys.exit(child(Path(folder), Path(store), Path(out), extractor, int(epochs)))
    rows = read_rows(options.out)
    with tempfile.TemporaryDirectory() as work:
        photos, store = Path(work) / "photos", Path(work) / "store"
        if set(options.extractors) != {FEATURES}:
            make_images(photos, options.images)
        for extractor in options.extractors:
            if extractor == FEATURES:
                store = make_features(Path(work) / "features.npz", options.images)
            elif extractor != "pixels":
                fill_store(photos, store, extractor)
            for kind in options.kinds:
                for gib in options.gib:
                    about = {
                        "images": options.images, "extractor": extractor, "limit": kind, "gib": gib,
                        "epochs": options.epochs, "version": options.version,
                    }  # fmt: skip
                    if any(all(str(row.get(key, "")) == str(about[key]) for key in about) for row in rows):
                        continue
                    out = Path(work) / f"out-{extractor}-{kind}-{gib}"
                    command = [sys.executable, __file__, "--child"]
                    command += [str(photos), str(store), str(out), extractor, str(options.epochs)]
                    found = limited(kind, int(gib * 2**30), command)
                    found["last_line"] = found["last_line"].replace(work, "…")
                    assert (found["ended"] == "finished") == (out / "predictions.csv").exists()
                    rows.append(about | found)
                    write_rows(rows, options.out)
    print_table(
        rows, ["version", "images", "extractor", "limit", "gib", "ended", "seconds", "peak_mib", "last_line"]
    )


if __name__ == "__main__":
    main()
