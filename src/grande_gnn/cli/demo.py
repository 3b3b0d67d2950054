"""``grande demo``: from images to labels on partly covered digits, and a fair comparison of the two degrees.

Scikit-learn's digits as they are would be too easy: nearly all labels are right, and the two degrees are equally good. So
a gray rectangle of random size covers a part of most digits. Which other changes were tried, and what they showed, is in
``benchmarks/results/demo_data.csv``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grande_gnn.cli.bars import StageBars
from grande_gnn.cli.choices import Place
from grande_gnn.cli.label import ProgressMessages, report_result
from grande_gnn.internal.progress import counting, reporting_to

if TYPE_CHECKING:
    from grande_gnn.labelling import Labelling

KEEP_EVERY = 10
"""One label in ten is given, as in the paper."""

LARGEST = 6
"""Longest side of the rectangle that covers a part of a digit, in pixels; the digits have 8 x 8."""

BANDS = (0.9, 0.7, 0.5, 0.0)
"""The lowest confidence of each group of labels that the demo compares with the truth."""


@click.command("demo")
@click.option(
    "-o", "--output", type=Place(path_type=Path), default=Path("grande-demo"), show_default=True,
    help="Folder for the images and the results; what an earlier demo wrote there is replaced.",
)  # fmt: skip
def command(output: Path) -> None:
    """Label 1,797 partly covered digits, a tenth of them labelled, as you would label your own images.

    The demo then compares the new labels with the truth, and the two degrees with each other: degree centrality and GRaNDe
    over all ten folds of the paper's protocol.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = covered(digits.images)
    folder = output / "digits"
    click.echo(
        f"Writing {len(images):,} images of partly covered digits to {folder}; every tenth keeps its label."
    )
    truth = write_digits(folder, images, digits.target)
    _check(_label(folder, output / "labels"), truth)
    click.echo(
        f'To correct labels in the browser: grande review {output / "labels"} (needs pip install "grande-gnn[review]")\n'
    )
    compare(images.reshape(len(images), -1), digits.target)


def covered(images: Any, seed: int = 0) -> Any:
    """The images (n x 8 x 8, values from 0 to 16) with a rectangle of random size, place and gray value in most of them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    images = images.copy()
    for image in images:
        height, width = rng.integers(0, LARGEST + 1, size=2)
        top, left = rng.integers(0, 9 - height), rng.integers(0, 9 - width)
        image[top : top + height, left : left + width] = 16 * rng.random()
    return images


def write_digits(folder: Path, images: Any, labels: Any) -> dict[str, str]:
    """Write the images as PNG files, the labelled ones into class folders; return the true label of every file."""
    import numpy as np
    from PIL import Image

    truth = {}
    for i, (pixels, label) in enumerate(zip(images, labels, strict=True)):
        place = str(label) if i % KEEP_EVERY == 0 else "unlabeled"
        file = f"{place}/digit_{i:04d}.png"
        (folder / place).mkdir(parents=True, exist_ok=True)
        gray = np.round(255 - pixels * (255 / 16)).astype(np.uint8)
        Image.fromarray(gray).resize((32, 32), Image.Resampling.BICUBIC).save(folder / file)
        truth[file] = str(label)
    return truth


def _label(folder: Path, output: Path) -> Labelling:
    from grande_gnn.labelling import LabelOptions, label_images

    # SGC, the smaller model, keeps the demo under a minute.
    options = LabelOptions(extractor="pixels", model="sgc", overwrite=True)
    click.echo(f"\n$ grande label {folder} -o {output} --extractor pixels --model sgc --overwrite\n")
    with ProgressMessages() as progress:
        result = label_images(folder, output, options, progress)
    report_result(result, output)
    return result


def _check(result: Labelling, truth: dict[str, str]) -> None:
    """Print how many new labels are right: of all, and by confidence."""
    import numpy as np

    new = np.array([not given for given in result.given])
    right = np.array([label == truth[file] for file, label in zip(result.files, result.labels, strict=True)])[
        new
    ]
    sure = np.asarray(result.confidence)[new]
    click.echo(
        f"In truth {100 * right.mean():.1f} % of the {len(right):,} new labels are right. By their confidence:"
    )
    for low, high in zip(BANDS, (np.inf, *BANDS), strict=False):
        band = (sure >= low) & (sure < high)
        if band.any():
            name = f"{100 * low:.0f} % or more" if high > 1 else f"{100 * low:.0f} to {100 * high:.0f} %"
            click.echo(f"  {name:<14} {band.sum():5,} labels, {100 * right[band].mean():5.1f} % right")


def compare(features: Any, labels: Any) -> None:
    """Compare degree centrality and GRaNDe over ten folds, a tenth labelled in each, paired."""
    from grande_gnn.experiments import paired_interval

    click.echo(
        "Comparing the two degrees on the pixels, with APPNP and the paper's settings. Each of ten folds is labelled once:"
    )
    plain = _accuracies(features, labels, "centrality", "degree centrality")
    ours = _accuracies(features, labels, "grande", "GRaNDe, σ = 0.2")
    gain = paired_interval(ours, plain)
    verdict = "better" if gain.low > 0 else "worse" if gain.high < 0 else "neither clearly better nor worse"
    click.echo(
        f"  difference         {gain.mean:+6.2f} points (95 % interval {gain.low:+.2f} to {gain.high:+.2f}): here GRaNDe is "
        f"{verdict}."
    )
    click.echo(
        "Most other draws of the rectangles give a smaller difference, and digits that are not covered give none: see "
        "benchmarks/results/demo_data.csv. For photos see Results in README.md."
    )


def _accuracies(features: Any, labels: Any, degree: str, title: str) -> Any:
    """The accuracy of each fold in percent; their mean is printed."""
    from grande_gnn.experiments import evaluate

    with StageBars() as bars, reporting_to(bars):
        (result,) = evaluate(features, labels, degree=degree, repeats=1, progress=counting("train", 200 * 10))
    click.echo(f"  {title:<18} {result.accuracy_mean:6.2f} %")
    return result.accuracies
