"""``grande demo`` writes partly covered digits, labels them, and compares the degrees."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from grande_gnn import Labelling
from grande_gnn.cli.demo import KEEP_EVERY, LARGEST, covered, write_digits


@pytest.fixture
def few_digits(monkeypatch):
    """The first 120 digits instead of all."""
    digits = load_digits()
    few = SimpleNamespace(images=digits.images[:120], data=digits.data[:120], target=digits.target[:120])
    monkeypatch.setattr("sklearn.datasets.load_digits", lambda: few)
    return few


def test_every_tenth_digit_is_written_into_its_class_folder(few_digits, tmp_path):
    truth = write_digits(tmp_path, few_digits.images, few_digits.target)
    assert len(truth) == len(list(tmp_path.rglob("*.png"))) == 120
    labelled = [file for file in truth if not file.startswith("unlabeled/")]
    assert len(labelled) == 120 // KEEP_EVERY
    assert all(file.startswith(f"{truth[file]}/") for file in labelled)
    pixels = np.array(Image.open(tmp_path / next(iter(truth))))
    assert pixels.shape == (32, 32)
    assert pixels.max() == 255  # paper is white


def test_a_rectangle_of_one_gray_value_covers_a_part_of_each_digit():
    images = load_digits().images
    changed = covered(images) != images
    assert 0.7 < changed.any((1, 2)).mean() < 0.8  # the others have a rectangle without area
    for image, mask in zip(covered(images), changed, strict=True):
        assert len(set(image[mask])) <= 1
        assert mask.any(0).sum() <= LARGEST >= mask.any(1).sum()
        assert 0 <= image.min() <= image.max() <= 16
    assert np.array_equal(covered(images), covered(images))
    assert not np.array_equal(covered(images), covered(images, seed=1))


def test_the_demo_labels_and_compares(few_digits, grande, tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "demo"
    result = grande("demo", "-o", out)
    assert result.exit_code == 0, result.output
    command = (
        f"$ grande label {out / 'digits'} -o {out / 'labels'} --extractor pixels --model sgc --overwrite"
    )
    assert command in result.output
    assert (out / "labels" / "report.html").is_file()
    said = re.search(r"In truth ([\d.]+) % of the (\d+) new labels are right", result.output)
    result_of = Labelling.load(out / "labels")
    new = [row for row, given in enumerate(result_of.given) if not given]
    numbers = [int(result_of.files[row][-8:-4]) for row in new]
    right = [result_of.labels[row] == str(few_digits.target[n]) for row, n in zip(new, numbers, strict=True)]
    assert (said[1], said[2]) == (f"{100 * np.mean(right):.1f}", "108")
    assert "degree centrality" in result.output
    assert "GRaNDe, σ = 0.2" in result.output
    assert "points (95 % interval" in result.output
    assert "digits that are not covered give none" in result.output
    bands = re.findall(r"^  .* +(\d+) labels, +([\d.]+) % right$", result.output, re.MULTILINE)
    assert sum(int(n) for n, _ in bands) == 108
    assert sum(int(n) * float(share) for n, share in bands) / 108 == pytest.approx(
        100 * np.mean(right), abs=0.1
    )
    assert f"grande review {out / 'labels'}" in result.output


def test_the_printed_command_does_the_same(few_digits, grande, tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("grande_gnn.cli.demo.compare", lambda *_: None)
    for _ in range(2):  # what an earlier demo wrote is replaced
        said = grande("demo", "-o", tmp_path / "demo").output
    table = tmp_path / "demo" / "labels" / "predictions.csv"
    before = table.read_bytes()
    (line,) = [line for line in said.splitlines() if line.startswith("$ grande ")]
    assert grande(*line.removeprefix("$ grande ").split()).exit_code == 0
    assert table.read_bytes() == before
