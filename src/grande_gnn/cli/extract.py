"""``grande extract``: a folder of images to a features file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grande_gnn.cli.bars import StageBars
from grande_gnn.cli.choices import Place
from grande_gnn.cli.options import device_option, is_quiet
from grande_gnn.images.networks import DEFAULT, EXTRACTORS

if TYPE_CHECKING:
    from grande_gnn.images import Extraction

__all__ = ["command", "image_bar"]


@click.command("extract")
@click.argument("images", type=Place(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=Place(path_type=Path), help="Features file to write (.npz)."
)
@click.option(
    "--labels",
    type=Place(path_type=Path),
    help="CSV with the columns file and label (blank = unlabelled).",
)
@click.option(
    "--extractor",
    metavar="NAME",
    help=f"{', '.join(EXTRACTORS)} or a timm model [default: {DEFAULT}].",
)
@click.option(
    "--weights",
    type=Place(path_type=Path),
    help="File with the extractor's weights (.pth or .safetensors).",
)
@device_option
@click.option(
    "--workers", type=click.IntRange(min=0), help="Processes that decode images [default: one per core]."
)
@click.option(
    "--store",
    type=Place(path_type=Path),
    help="Folder of the feature store [default: GRANDE_CACHE or the user's cache].",
)
@click.option(
    "--runner",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="This machine, or a Ray cluster whose machines all see IMAGES under the same path.",
)
@click.option(
    "--address", metavar="HOST:PORT", help="Address of the Ray cluster [default: one on this machine]."
)
@click.option("--overwrite", is_flag=True, help="Replace the output if it exists.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the outcome as one JSON object; messages go to stderr."
)
def command(
    images: Path,
    output: Path,
    labels: Path | None,
    extractor: str | None,
    weights: Path | None,
    device: str,
    workers: int | None,
    store: Path | None,
    runner: str,
    address: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Extract the features of the images in the folder IMAGES.

    Labels are read from --labels, from a CSV in IMAGES, or from class folders. Features are kept in a
    store: a second run, or a run after a crash, extracts only the images that are missing there. Files that
    cannot be read are listed in a CSV next to the output.
    """
    from grande_gnn.errors import InvalidInputError
    from grande_gnn.images import RayRunner, extract_features, find_images, load_extractor, write_problems
    from grande_gnn.images.workers import run_locally
    from grande_gnn.internal.files import check_output_file

    check_output_file(output, overwrite)
    _check(output, extractor)
    found = find_images(images, labels)
    for note in () if is_quiet() else found.notes:
        click.echo(note, err=as_json)
    with image_bar() as progress:
        result = extract_features(
            found,
            load_extractor(extractor, weights),
            store=store,
            device=device,
            workers=workers,
            progress=progress,
            runner=RayRunner(address) if runner == "ray" else run_locally,
        )
    usable = result.images
    listing = output.with_suffix(".problems.csv")
    if usable.problems:
        write_problems(listing, usable.problems)
    else:
        listing.unlink(missing_ok=True)  # left by the run that this one replaces
    if not len(usable):
        raise InvalidInputError(
            f"none of the {len(found)} files is a readable image; got {usable.problems[-1].reason!r} for the last one"
        )
    result.save(output)
    _report(result, output, listing, as_json)


def _check(output: Path, extractor: str | None) -> None:
    """Refuse, before any work, a file that no command would read and networks that are joined."""
    if output.suffix.lower() != ".npz":
        raise click.UsageError(
            f"only a features file that ends in .npz can be read again: name it {output.stem}.npz; got {output}"
        )
    if extractor is not None and "+" in extractor and extractor not in EXTRACTORS:
        raise click.UsageError(
            f"grande extract uses one network, and only a labelling joins several with +: name one of them, or use grande "
            f"label; got {extractor}"
        )


def _report(result: Extraction, output: Path, listing: Path, as_json: bool) -> None:
    """Print the outcome, in words or as one JSON object."""
    usable = result.images
    counts = usable.class_counts
    n_labelled, n_problems = sum(counts.values()), len(usable.problems)
    if as_json:
        outcome = {
            "output": str(output), "images": len(usable), "labelled": n_labelled, "classes": counts,
            "reused": result.n_reused, "problems": n_problems, "problems_file": str(listing) if n_problems else None,
        }  # fmt: skip
        click.echo(json.dumps(outcome))
        return
    if n_problems:
        click.echo(f"{n_problems} problem(s), listed in {listing}")
    click.echo(
        f"{output}: {len(usable)} images, {n_labelled} labelled in {len(counts)} classes; "
        f"{result.n_reused} reused from {result.store.path}"
    )


@contextmanager
def image_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar with images per second on stderr; yields the function to call with the finished images and the total."""
    with StageBars() as bars:
        yield lambda done, total: bars("extract", done, total)
