"""``grande demo``: the whole way on scikit-learn's digits, and an honest comparison of the two degrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from grande_gnn.cli.options import progress_bar

KEEP_EVERY = 10
"""One label in ten is given, as in the paper."""


@click.command("demo")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("grande-demo"), show_default=True,
    help="Folder for the images and the results; what an earlier demo wrote there is replaced.",
)  # fmt: skip
def command(output: Path) -> None:
    """Label scikit-learn's 1,797 digits, a tenth of them labelled, with the command you would use.

    Then compare degree centrality and GRaNDe over all ten folds of the paper's protocol, and say what came out.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    folder = output / "digits"
    click.echo(f"Writing 1,797 images of digits to {folder}; every tenth keeps its label.")
    truth = write_digits(folder, digits)
    _label(folder, output / "labels")
    _check(output / "labels" / "predictions.csv", truth)
    compare(digits.data, digits.target)


def write_digits(folder: Path, digits: Any) -> dict[str, str]:
    """Write the images as PNG files, labelled ones into class folders, and return the label of every file."""
    import numpy as np
    from PIL import Image

    truth = {}
    for i, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        place = str(label) if i % KEEP_EVERY == 0 else "unlabeled"
        file = f"{place}/digit_{i:04d}.png"
        (folder / place).mkdir(parents=True, exist_ok=True)
        grey = np.round(255 - pixels * (255 / 16)).astype(np.uint8)
        Image.fromarray(grey).resize((32, 32), Image.Resampling.BICUBIC).save(folder / file)
        truth[file] = str(label)
    return truth


def _label(folder: Path, output: Path) -> None:
    from grande_gnn.cli.label import command as label

    # SGC, the smaller model, keeps the demo under a minute.
    arguments = [str(folder), "-o", str(output), "--extractor", "pixels", "--model", "sgc", "--overwrite"]
    click.echo(f"\n$ grande label {' '.join(arguments)}\n")
    label.main(arguments, standalone_mode=False)


def _check(predictions: Path, truth: dict[str, str]) -> None:
    import csv

    with predictions.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if not row["given_label"]]
    right = sum(row["label"] == truth[row["file"]] for row in rows)
    click.echo(f"In truth {100 * right / len(rows):.1f} % of the {len(rows)} new labels are right.\n")


def compare(features: Any, labels: Any) -> None:
    """Degree centrality against GRaNDe: ten folds, one tenth labelled each, paired."""
    from grande_gnn.experiments import evaluate, paired_interval

    click.echo(
        "Comparing the degrees on the raw pixels: APPNP, ten folds, each labelled once, paper's settings."
    )
    results = {}
    for degree in ("centrality", "grande"):
        with progress_bar(200 * 10) as advance:
            (results[degree],) = evaluate(features, labels, degree=degree, repeats=1, progress=advance)
        name = "degree centrality" if degree == "centrality" else "GRaNDe, σ = 0.2"
        click.echo(f"  {name:<18} {results[degree].accuracy_mean:6.2f} %")
    gain = paired_interval(results["grande"].accuracies, results["centrality"].accuracies)
    verdict = "better" if gain.low > 0 else "worse" if gain.high < 0 else "neither clearly better nor worse"
    click.echo(
        f"  difference         {gain.mean:+6.2f} points (95 % interval {gain.low:+.2f} to {gain.high:+.2f}): on digits "
        f"GRaNDe is {verdict}."
    )
