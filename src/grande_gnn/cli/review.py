"""``grande review``: correct labels in the browser and have the others labelled again at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grande_gnn.cli.choices import Place
from grande_gnn.cli.label import ProgressMessages
from grande_gnn.images.networks import DEFAULT

if TYPE_CHECKING:
    from grande_gnn.labelling import LabelOptions

PATH = Place(path_type=Path)


@click.command("review")
@click.argument("folder", type=PATH)
@click.option("-o", "--output", type=PATH, help="Folder of the labelling, if FOLDER holds images.")
@click.option("--labels", type=PATH, help="CSV with file and label, if the labelling is new.")
@click.option(
    "--extractor", metavar="NAME", help=f"For a new labelling; see grande extract. [default: {DEFAULT}]"
)
@click.option("--text", multiple=True, metavar="COLUMN", help="Column of the texts, if FOLDER is a table.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the page. [default: any free one]"
)
@click.option("--no-browser", is_flag=True, help="Only print the link.")
def command(
    folder: Path, output: Path | None, labels: Path | None, extractor: str | None, text: tuple[str, ...], port: int,
    no_browser: bool,
) -> None:  # fmt: skip
    """Correct the labels in FOLDER, which grande label wrote, in the browser.

    With -o, FOLDER holds images (or is a table of texts), labelled or not, and the labelling is made if it does not exist.
    Every decision is kept at once, in corrections.jsonl; Ctrl-C ends the review and writes the new predictions.csv,
    report.html and model/.
    """
    from grande_gnn.labelling import LabelOptions

    options = LabelOptions(labels=labels, extractor=extractor, text=text)
    out, images = (folder, None) if output is None else (output, folder)
    open_page(out, images, options, port=port, open_browser=not no_browser)


def open_page(
    out: Path, images: Path | None, options: LabelOptions, *, port: int = 0, open_browser: bool = True
) -> None:
    """Open the page and print its link."""
    from grande_gnn.review import review_labels

    def tell(link: str) -> None:
        click.echo(f"Review {out} at {link}\nPress Ctrl-C here to end it.")

    with ProgressMessages() as progress:
        review_labels(
            out,
            images,
            options,
            port=port,
            open_browser=open_browser,
            progress=progress,
            tell=tell,
        )
    journal = out / "corrections.jsonl"
    decisions = f"; every decision is in {journal}" if journal.exists() else ""
    click.echo(f"The labels are in {out / 'predictions.csv'}{decisions}.")
