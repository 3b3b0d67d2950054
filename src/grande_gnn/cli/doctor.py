"""``grande doctor``: versions, devices, the cache, and what is missing for which feature, with the pip line."""

from __future__ import annotations

import json
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from grande_gnn import __version__

EXTRAS = {
    "images": "EfficientNet-Lite, the default networks for photos",
    "heif": "HEIC and AVIF images",
    "timm": "hundreds of further networks",
    "text": "sentence-transformers for texts",
    "review": "grande review",
    "plot": "grande figure",
    "pyg": "the layers for PyTorch Geometric",
    "ray": "work on several machines",
    "faiss": "another approximate search for neighbors",
    "parquet": "predictions as Parquet",
}
"""What each extra of the package is for."""


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(as_json: bool) -> None:
    """Report versions, devices, the cache, and what is missing for which feature, with the pip line.

    Paste the output into a bug report. The exit status is 1 if something that every command needs is missing.
    """
    found = examine()
    if as_json:
        click.echo(json.dumps(found))
    else:
        for line in _lines(found):
            click.echo(line)
    if found["missing"]:
        raise click.exceptions.Exit(1)


def examine() -> dict[str, Any]:
    """Everything that is reported."""
    needed, by_extra = requirements()
    versions = {name: installed_version(name) for name in needed}
    extras = {extra: [n for n in by_extra.get(extra, []) if installed_version(n) is None] for extra in EXTRAS}
    return {
        "grande": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": versions,
        "missing": [name for name, version in versions.items() if version is None],
        "extras": extras,
        "devices": _devices(),
        "cache": _cache(),
    }


def requirements() -> tuple[list[str], dict[str, list[str]]]:
    """The packages that are always needed, and those of each extra, as the installed package declares them."""
    needed: list[str] = []
    by_extra: dict[str, list[str]] = {}
    for line in metadata.requires("grande-gnn") or ():
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if extra is None:
            needed.append(name)
        elif name != "grande-gnn":
            by_extra.setdefault(extra[1], []).append(name)
    return needed, by_extra


def installed_version(name: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _devices() -> list[str]:
    """What torch can compute on, or why it cannot be imported."""
    try:
        import torch
    except (ImportError, OSError) as error:
        return [f"none: torch cannot be imported ({error})"]
    threads = torch.get_num_threads()
    devices = [f"cpu, {threads} {'thread' if threads == 1 else 'threads'}"]
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        memory = torch.cuda.get_device_properties(number).total_memory / 2**30
        devices.append(f"cuda:{number}, {torch.cuda.get_device_name(number)}, {memory:.0f} GiB")
    return devices


def _cache() -> dict[str, Any]:
    try:
        from grande_gnn.images import default_store_folder
        from grande_gnn.images.store_folder import list_entries
    except (ImportError, OSError) as error:  # numpy is missing or broken
        return {"folder": f"unknown ({error})", "bytes": 0}
    folder: Path = default_store_folder()
    return {"folder": str(folder), "bytes": sum(entry.n_bytes for entry in list_entries(folder))}


def _lines(found: dict[str, Any]) -> list[str]:
    from grande_gnn.cli.cache import readable_size

    lines = [f"grande {found['grande']}, Python {found['python']}, {found['system']}"]
    lines.append(
        "packages  "
        + ", ".join(f"{name} {version or 'MISSING'}" for name, version in found["packages"].items())
    )
    lines += [f"device    {device}" for device in found["devices"]]
    lines.append(f"cache     {found['cache']['folder']}: {readable_size(found['cache']['bytes'])}")
    for extra, missing in found["extras"].items():
        state = f'missing: pip install "grande-gnn[{extra}]"' if missing else "installed"
        lines.append(f"{extra:<9} {EXTRAS[extra]}: {state}")
    if found["missing"]:
        lines.append(f"Missing: pip install {' '.join(found['missing'])}")
    return lines
