"""What an export is, and the registry of all formats.

To add one, write a function ``(place, labelling, class_ids)`` that fills a file or folder, and pass it to
:func:`register_export`. The names are the choices of ``--export``, so these modules import nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grande_gnn.errors import InvalidInputError

if TYPE_CHECKING:
    from grande_gnn.labelling.result import Labelling

__all__ = ["EXPORTS", "Export", "check_text_exports", "export_names", "images_folder", "register_export"]

ClassIds = Mapping[str, int]
"""The number of each class (:mod:`~grande_gnn.labelling.exports.class_ids`)."""


@dataclass(frozen=True)
class Export:
    """A format: its name, the file or folder that it writes among the results, one line about it, and its writer.

    An image whose label is ``""`` belongs to no class.
    """

    name: str
    entry: str
    about: str
    write: Callable[[Path, Labelling, ClassIds], None]
    for_texts: bool = False
    """Whether it can hold texts as well as images."""


EXPORTS: dict[str, Export] = {}
"""Every format by name."""


def register_export(export: Export) -> Export:
    """Add a format; one of the same name is replaced."""
    EXPORTS[export.name] = export
    return export


def export_names(wanted: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of the formats that are wanted, each once: one name, several, or none."""
    from grande_gnn.internal.validation import check_choice

    names = () if wanted is None else (wanted,) if isinstance(wanted, str) else tuple(wanted)
    return tuple(dict.fromkeys(check_choice(name, EXPORTS, name="export") for name in names))


def check_text_exports(names: Sequence[str]) -> None:
    """Refuse formats that can only hold images."""
    for name in names:
        if not EXPORTS[name].for_texts:
            fitting = ", ".join(other for other, export in EXPORTS.items() if export.for_texts)
            raise InvalidInputError(
                f"the format {name} is for images only: texts can be exported as {fitting}; got {name!r}"
            )


def images_folder(labelling: Labelling, what: str) -> Path:
    """The folder of the images, without which they can neither be named nor copied."""
    if labelling.root is None:
        raise InvalidInputError(
            f"{what} needs the images: label a folder of images instead of features, or give their folder as root; got none"
        )
    return labelling.root
