"""The network of an earlier labelling: which extractors it had, and whether one of them was adapted to its images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import Extractor, load_extractor, load_parts
from grande_gnn.labelling.result import Labelling

__all__ = ["ADAPTED_FILE", "SEEN", "adapted_file", "earlier_parts", "with_doubt"]

SEEN = (
    "The network was adapted with the same labels that measure it here, so the expected accuracy may be too high: label "
    "again with --adapt and --labels predictions.csv, which reads the given labels and has them judged by networks that did "
    "not see them."
)
"""The doubt about an estimate from a saved model, which does not hold the features of the judging networks."""

ADAPTED_FILE = "adapted.safetensors"
"""The weights of an adapted network, in the folder of a labelling."""


def adapted_file(folder: Path) -> Path | None:
    """The adapted weights in the folder of a labelling; None if its network was not adapted."""
    path = folder / ADAPTED_FILE
    return path if path.is_file() else None


def with_doubt(result: Labelling, settings: Mapping[str, Any]) -> Labelling:
    """The labelling, with a warning if its network has seen the labels that the estimate comes from."""
    used = dict(settings.get("adapt") or {}).get("used", "frozen")
    if (
        used == "frozen"
        or result.accuracy is None
        or getattr(result.classifier, "half_problems_", None) is not None
    ):
        return result
    return replace(result, doubts=[SEEN, *result.doubts])


def earlier_parts(
    settings: Mapping[str, Any], adapted: Path | None, weights: str | Path | None
) -> list[Extractor]:
    """The networks whose features a labelling has, side by side if there are several.

    Parameters
    ----------
    settings : those of the labelling.
    adapted : the file of adapted weights, if there is one.
    weights : the file of the extractor's weights, if they were not the default ones.
    """
    name, used = str(settings["extractor"]), dict(settings.get("adapt") or {}).get("used", "frozen")
    parts = [] if used == "adapted" else load_parts(name, weights)
    if used != "frozen":
        if adapted is None or not adapted.is_file():
            raise InvalidInputError(
                f"the earlier run adapted {name} to its images, so its folder must hold {ADAPTED_FILE}: put the file "
                f"back, or label again; got {adapted or 'no such file'}"
            )
        parts.append(load_extractor(name, adapted))
    if "+".join(part.identity for part in parts) != settings.get("weights"):
        raise InvalidInputError(
            f"the earlier run used other weights of {name}: pass the same --weights as then; got {weights or 'none'}"
        )
    return parts
