"""The ``settings.json`` of a labelling: what it may hold, and its reader.

Fields that are not declared here are shown in the report and never computed with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.internal.json_file import read_json
from grande_gnn.internal.schema import integer, list_of, mapping_of, number, optional, record, text

__all__ = ["ESTIMATE", "SETTINGS", "read_settings"]

_SHARE = number(0, 1)
_ACCURACY = record({"value": _SHARE, "low": _SHARE, "high": _SHARE, "n": number(0)}, more=True)

ESTIMATE = {
    "accuracy": optional(_ACCURACY),
    "class_accuracy": mapping_of(_ACCURACY),
    "bins": list_of(
        record(
            {
                "low": _SHARE,
                "high": _SHARE,
                "count": integer(0, 2**53),
                "confidence": _SHARE,
                "accuracy": _SHARE,
            },
            more=True,
        ),
        high=1000,
    ),
    "note": text(),
    "doubts": list_of(text(), high=1000),
    "sets_made": optional(
        record(
            {
                "coverage": number(0.5, 1),
                "method": text("split|cross|calibrated"),
                "n": integer(0, 2**53),
                "warning": text(),
            }
        )
    ),
}
"""The fields of the accuracy estimate; version 0.1 wrote none."""

SETTINGS = {
    # Fitted temperatures lie between 0.006 and 1100, offsets between -10 and 10; beyond, confidences would overflow.
    "temperature": number(1e-4, 1e6),
    "offset": optional(number(-100, 100)),
    "slope": number(0, 100),
    "estimate": record(ESTIMATE, optional=ESTIMATE, more=True),
    "images": optional(text(r"[^\x00]*", surrogates=True)),
    "extractor": optional(text()),
    "weights": optional(text()),
    "adapt": record(
        {"form": text(), "used": text("frozen|adapted|both"), "held_out": mapping_of(integer(0, 2**53))},
        more=True,
    ),
    "seed": integer(0, 2**63),
    "members": list_of(record({"graph": optional(text()), "weight": _SHARE}, more=True), high=1000),
}
"""The fields of ``settings.json`` that the code uses."""

_check = record(
    SETTINGS, optional=[name for name in SETTINGS if name not in ("temperature", "offset")], more=True
)


def read_settings(folder: Path) -> dict[str, Any]:
    """The ``settings.json`` of an earlier result."""
    try:
        settings = read_json(folder / "settings.json")
    except (OSError, ValueError) as error:
        reason = f": {error}" if isinstance(error, FileFormatError) else ""
        raise FileFormatError(
            "an earlier result must be the output folder of grande label, with model/ and settings.json; "
            f"got {folder}{reason}"
        ) from None
    try:
        _check(settings, "settings.json")
    except InvalidInputError as error:
        raise FileFormatError(f"{folder} is not a readable result: label again; got {error}") from None
    return dict(settings)
