"""Write the files beside this script with version 0.1, as README.md describes.

Only names that version 0.1 has are used here, so the script is not part of the tests.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from click.testing import CliRunner
from PIL import Image

from grande_gnn import GrandeClassifier, __version__
from grande_gnn.cli import main

HERE = Path(__file__).parent
CLASSES = np.array(["ash", "beech", "cedar"])
COLORS = ("red", "green", "blue")
MODELS = {
    "appnp_grande": {"model": "appnp", "degree": "grande", "hidden": 16, "normalize": "l2"},
    "sgc_centrality": {"model": "sgc", "degree": "centrality"},
    "sgc_grande": {"model": "sgc", "degree": "grande", "graph": "knn", "normalize": "center-l2"},
    "appnp_auto": {"hidden": 8, "sigma": "auto", "graph": "auto", "n_neighbors": "auto", "normalize": "auto"},
}
TABLE = (
    "--folds", "3", "--repeats", "1", "--epochs", "20", "--neighbors", "5", "--inner-folds", "2",
    "--models", "sgc", "--device", "cpu",
)  # fmt: skip


def grande(*arguments: object) -> str:
    """What the command prints."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def make_models(folder: Path) -> None:
    """Saved classifiers, the samples they were fitted to, new samples, and the answers for both."""
    rng = np.random.default_rng(3)
    labels = np.arange(60) % 3
    X = (rng.normal(size=(60, 6)) + 2.5 * np.eye(3, 6)[labels]).astype(np.float32)
    given = np.where(np.arange(60) < 18, CLASSES[labels], "")
    new = (rng.normal(size=(9, 6)) + 2.5 * np.eye(3, 6)[np.arange(9) % 3]).astype(np.float32)
    arrays = {"features": X, "given": given, "new": new}
    for name, options in MODELS.items():
        options = {"n_neighbors": 10, "epochs": 60, "device": "cpu", "random_state": 0} | options
        clf = GrandeClassifier(**options).fit(X, given)
        if name == "appnp_grande":
            clf.predict(new)  # the first new sample leaves something behind that is saved as well
        clf.save(folder / name)
        arrays[f"{name}.transduction"] = clf.transduction_
        arrays[f"{name}.label_distributions"] = clf.label_distributions_
        arrays[f"{name}.degree"] = clf.degree_
        arrays[f"{name}.predictions"] = clf.predict(new)
        arrays[f"{name}.probabilities"] = clf.predict_proba(new)
    np.savez_compressed(folder / "answers.npz", **arrays)


def made_image(rng: np.random.Generator, channel: int) -> Image.Image:
    """Eight by eight noisy pixels with more of one color."""
    pixels = rng.integers(0, 200, size=(8, 8, 3))
    pixels[..., channel] += 45
    return Image.fromarray(pixels.astype(np.uint8))


def make_photos(folder: Path) -> None:
    """36 tiny images: 12 labelled by their folder, one of them wrongly, 24 loose, one of them white; and no image."""
    rng = np.random.default_rng(0)
    for i in range(36):
        shown = "red" if i == 11 else COLORS[i % 3]
        place = folder / shown if i < 12 else folder
        place.mkdir(parents=True, exist_ok=True)
        made_image(rng, i % 3).save(place / f"{i:02d}.png")
    Image.new("RGB", (8, 8), (255, 255, 255)).save(folder / "35.png")
    (folder / "broken.jpg").write_bytes(b"not an image")


def make_labelling(folder: Path) -> None:
    """What `grande label` writes for the photos, and what it writes for new ones with that model."""
    make_photos(folder / "photos")
    new = folder / "new_photos"
    new.mkdir()
    rng = np.random.default_rng(5)
    for i in range(6):
        made_image(rng, i % 3).save(new / f"{i}.png")
    fast = ("--workers", 0, "--device", "cpu")
    grande(
        "label", folder / "photos", "-o", folder / "out", "--extractor", "pixels", "--model", "sgc",
        "--neighbors", 8, "--export", "label-studio", *fast,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as reused:
        grande("label", new, "-o", Path(reused) / "out", "--reuse", folder / "out", *fast)
        shutil.copy(Path(reused) / "out" / "predictions.csv", folder / "new_predictions.csv")


def make_table(folder: Path) -> None:
    """The rows and the files of tables 1 and 3 of a tiny dataset."""
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(2), 9)
    data = folder / "data" / "own"
    data.mkdir(parents=True)
    features = (rng.normal(size=(18, 4)) + 1.2 * labels[:, None]).astype(np.float32)
    np.savez_compressed(data / "features_a.npz", features=features, labels=labels)
    options = ("--data", folder / "data", "-o", folder / "out", *TABLE)
    printed = grande("table", 1, *options)
    systems = ("svm", "knn", "ls+knn", "dgcg", "grande")
    printed += grande("table", 3, *options, *(word for name in systems for word in ("--systems", name)))
    (folder / "printed.txt").write_text(printed, "utf-8")


if __name__ == "__main__":
    if __version__ != "0.1.0":
        sys.exit(f"version 0.1.0 must write these files; got {__version__}")
    torch.set_num_threads(1)
    makers = {"models": make_models, "labelling": make_labelling, "table": make_table}
    with tempfile.TemporaryDirectory() as temporary:  # label-studio.json names the folder it was made in
        os.environ["GRANDE_CACHE"] = str(Path(temporary) / "cache")
        for name, make in makers.items():
            folder = Path(temporary) / name
            folder.mkdir()
            make(folder)
            shutil.rmtree(HERE / name, ignore_errors=True)
            shutil.copytree(folder, HERE / name)
