"""Which pictures of digits the demo should show: the gain of the GRaNDe degree on several changes of scikit-learn's digits.

    python benchmarks/demo_data.py                          # every change once, continues results/demo_data.csv
    python benchmarks/demo_data.py --changes covered --draws 10

Each row is one draw of one change: the accuracy of APPNP with degree centrality and with GRaNDe (sigma = 0.2) in the paper's
protocol, ten folds of which each is labelled once, and the difference with its 95 % interval over the folds. ``covered`` is
what ``grande demo`` shows, with draw 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from common import RESULTS, append_rows, print_table, read_rows
from grande_gnn.cli.demo import covered
from grande_gnn.experiments import evaluate, paired_interval

COLUMNS = ("change", "normalize", "draw", "centrality", "grande", "difference", "low", "high")


def as_they_are(images: NDArray[Any], draw: int) -> NDArray[Any]:
    """No change."""
    return images


def even_noise(images: NDArray[Any], draw: int) -> NDArray[Any]:
    """The same amount of noise in every image."""
    rng = np.random.default_rng(draw)
    return np.clip(images + 6.4 * rng.standard_normal(images.shape), 0, 16)


def uneven_noise(images: NDArray[Any], draw: int) -> NDArray[Any]:
    """A random amount of noise in each image."""
    rng = np.random.default_rng(draw)
    amount = rng.uniform(0, 12.8, (len(images), 1, 1))
    return np.clip(images + amount * rng.standard_normal(images.shape), 0, 16)


def salt_and_pepper(images: NDArray[Any], draw: int) -> NDArray[Any]:
    """A random share of the pixels of each image is black or white."""
    rng = np.random.default_rng(draw)
    hit = rng.random(images.shape) < rng.uniform(0, 0.6, (len(images), 1, 1))
    return np.where(hit, 16.0 * rng.integers(0, 2, images.shape), images)


def two_digits(images: NDArray[Any], draw: int) -> NDArray[Any]:
    """A second digit of random strength behind each one."""
    rng = np.random.default_rng(draw)
    behind = images[rng.permutation(len(images))]
    return np.maximum(images, rng.uniform(0, 1, (len(images), 1, 1)) * behind)


def shifted(images: NDArray[Any], draw: int) -> NDArray[Any]:
    """Each digit somewhere in a picture of 12 x 12 pixels."""
    rng = np.random.default_rng(draw)
    larger = np.zeros((len(images), 12, 12))
    for picture, image in zip(larger, images, strict=True):
        top, left = rng.integers(0, 5, size=2)
        picture[top : top + 8, left : left + 8] = image
    return larger


CHANGES: dict[str, Callable[[NDArray[Any], int], NDArray[Any]]] = {
    "none": as_they_are,
    "even noise": even_noise,
    "uneven noise": uneven_noise,
    "salt and pepper": salt_and_pepper,
    "two digits": two_digits,
    "shifted": shifted,
    "covered": covered,
}
"""What was tried for the demo."""


def measure(change: str, normalize: str, draw: int) -> tuple[Any, ...]:
    """One row: both degrees on the same images and folds."""
    digits = load_digits()
    X = CHANGES[change](digits.images, draw).reshape(len(digits.target), -1)
    plain, ours = (
        evaluate(X, digits.target, degree=degree, repeats=1, normalize=normalize)[0]
        for degree in ("centrality", "grande")
    )
    gain = paired_interval(ours.accuracies, plain.accuracies)
    numbers = (plain.accuracy_mean, ours.accuracy_mean, gain.mean, gain.low, gain.high)
    return (change, normalize, draw, *(round(float(number), 3) for number in numbers))


def main() -> None:
    """Measure what results/demo_data.csv does not have yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--changes", nargs="+", default=list(CHANGES), choices=list(CHANGES))
    parser.add_argument("--normalize", nargs="+", default=["none", "center-l2"])
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    path = RESULTS / "demo_data.csv"
    for draw in range(options.draws):
        for change in options.changes:
            for normalize in options.normalize:
                known = {(row["change"], row["normalize"], row["draw"]) for row in read_rows(path)}
                is_new = draw == 0 or change != "none"  # without a change all draws are the same
                if is_new and (change, normalize, str(draw)) not in known:
                    append_rows(COLUMNS, [measure(change, normalize, draw)], path)
    print_table(read_rows(path), COLUMNS)


if __name__ == "__main__":
    main()
