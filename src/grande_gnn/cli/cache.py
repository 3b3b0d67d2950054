"""``grande cache``: what is kept between runs, and how to remove it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grande_gnn.cli.choices import Place

if TYPE_CHECKING:
    from grande_gnn.images.store_folder import CacheEntry

store_option = click.option(
    "--store", type=Place(path_type=Path), help="The folder [default: GRANDE_CACHE or the user's cache]."
)


@click.group("cache")
def command() -> None:
    """Show or clear what is kept between runs: features of images and texts, and adapted networks.

    Removing it loses no result; features are extracted again when they are next needed.
    """


@command.command("show")
@store_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object with the folder and its entries.")
def show(store: Path | None, as_json: bool) -> None:
    """List what is kept, with its size."""
    from grande_gnn.images import default_store_folder
    from grande_gnn.images.store_folder import list_entries

    folder, entries = store or default_store_folder(), list_entries(store)
    total = sum(entry.n_bytes for entry in entries)
    if as_json:
        rows = [{"kind": e.kind, "name": e.name, "bytes": e.n_bytes, "images": e.n_images} for e in entries]
        click.echo(json.dumps({"folder": str(folder), "bytes": total, "entries": rows}))
        return
    click.echo(f"{folder}: {readable_size(total)}")
    for entry in entries:
        images = "" if entry.n_images is None else f", {entry.n_images} images"
        click.echo(f"  {entry.kind:<16} {entry.name}  ({readable_size(entry.n_bytes)}{images})")


@command.command("clear")
@store_option
@click.option("--name", help="Remove only this entry, named as in grande cache show.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def clear(store: Path | None, name: str | None, yes: bool) -> None:
    """Remove what is kept. Other files in the folder stay. Do not clear while another command runs."""
    from grande_gnn.errors import InvalidInputError
    from grande_gnn.images.store_folder import clear_entries, list_entries

    entries: list[CacheEntry] = [e for e in list_entries(store) if name is None or e.name == name]
    if name is not None and not entries:
        raise InvalidInputError(f"nothing of that name is kept: see grande cache show; got {name!r}")
    size = readable_size(sum(entry.n_bytes for entry in entries))
    if entries and not yes:
        click.confirm(f"Remove {len(entries)} {_noun(entries)} ({size})?", abort=True)
    clear_entries(entries)
    click.echo(f"Removed {len(entries)} {_noun(entries)}: {size}.")


def _noun(entries: list[CacheEntry]) -> str:
    return "entry" if len(entries) == 1 else "entries"


def readable_size(n_bytes: int) -> str:
    """A number of bytes for people.

    >>> readable_size(999), readable_size(1_500_000)
    ('999 B', '1.5 MB')
    """
    value, unit = float(n_bytes), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
