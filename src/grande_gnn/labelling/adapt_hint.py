"""One line that suggests adapting the network if it would not take long."""

from __future__ import annotations

from collections import Counter

from grande_gnn.images.adapt import DEFAULTS
from grande_gnn.images.networks import EXTRACTORS
from grande_gnn.internal.device import resolve_device
from grande_gnn.labelling.label_options import LabelOptions
from grande_gnn.labelling.result import Labelling

__all__ = ["adapt_hint", "adapt_seconds"]

PER_VIEW = {"cuda": 2e-4, "cpu": 0.01}
PER_STEP = {"cuda": 0.04, "cpu": 0.48}
PER_IMAGE = {"cuda": 0.0, "cpu": 0.08}
"""Seconds with lite0, on an H200 and on two cores of a CPU (``benchmarks/results/adapt_time.csv``): for one view of one
image that is computed once; for one step of the last blocks; and for extracting an image again and labelling it twice,
which was not measured apart on the H200."""

SHORT_S = 1200
"""Adapting is not suggested if it would take longer than this."""

N_TRAININGS = 3
"""With all labels, and with each half of them."""


def adapt_seconds(n_images: int, device: str) -> float:
    """Roughly how long adapting takes on a kind of device, ``"cpu"`` or ``"cuda"``."""
    defaults = DEFAULTS[device]
    per_image = (2 * defaults["n_views"] + 1) * PER_VIEW[device] + PER_IMAGE[device]
    return n_images * per_image + N_TRAININGS * defaults["recipe"].steps * PER_STEP[device]


def adapt_hint(labelling: Labelling, options: LabelOptions) -> str:
    """The line for the user; ``""`` if the network was adapted, cannot be adapted or judged, if adapting takes too long, or
    if every image has a given label."""
    name = str(labelling.settings.get("extractor"))
    counts = Counter(label for label in labelling.given if label)
    is_judged = len(counts) > 1 and sum(count > 1 for count in counts.values()) > len(counts) / 2
    has_weights = getattr(EXTRACTORS.get(name), "extra", None) == "images"
    is_needed = not all(labelling.given)
    if options.adaptation is not None or not is_needed or not is_judged or not has_weights:
        return ""
    seconds = adapt_seconds(len(labelling.files), resolve_device(options.device).type)
    if seconds > SHORT_S:
        return ""
    return (
        f"--adapt would fine-tune the network to these images. This may make the labels more accurate and takes about "
        f"{max(1, round(seconds / 60))} min here."
    )
