"""The memory that adapting a network takes, known before it begins.

GPU     a constant + an amount for each pixel of the views of one step         the form "full", any number of images
main    3 · side² per image, the pixels from which views are made, + the maps that the form "last" keeps on a CPU
"""

from __future__ import annotations

import torch

from grande_gnn.images.adapt import AdaptOptions, split_network
from grande_gnn.images.adapt_training import Recipe
from grande_gnn.images.networks import Extractor
from grande_gnn.images.squares import side_of
from grande_gnn.images.view_source import views_that_fit
from grande_gnn.internal.device import resolve_device

__all__ = ["predicted_gib", "views_bytes"]

FIXED_GIB, PIXEL_GIB = 0.87, 1.737e-4 / 224
"""GPU memory of the form ``"full"`` with lite0: a constant, and an amount for each pixel of a labelled or strong view. They
fit the three sizes in ``benchmarks/results/adapt_h200_first.csv`` to 0.03 GiB; larger networks take more."""


def predicted_gib(recipe: Recipe, size: int) -> float:
    """The GPU memory, in GiB, of the form ``"full"`` with lite0; it does not depend on the number of images.

    >>> round(predicted_gib(Recipe(), 224), 1)
    9.6
    """
    n_strong = 2 if recipe.contrast and recipe.contrast_with == "strong" else 1
    views = recipe.batch * (1 + recipe.ratio * n_strong)
    return FIXED_GIB + PIXEL_GIB * views * size**2


@torch.no_grad()
def views_bytes(n_images: int, extractor: Extractor, options: AdaptOptions) -> int:
    """The main memory of the pixels of all images, and of the maps that are kept; raises if this form does not suit the
    network."""
    options = options.filled()
    pixels = 3 * side_of(extractor.preprocess) ** 2 * n_images
    if options.form == "full":
        return pixels
    trunk, _ = split_network(extractor, options)
    if resolve_device(options.device).type != "cpu":
        return pixels
    size = options.size or extractor.preprocess.size
    map_bytes = 2 * trunk.eval()(torch.zeros(1, 3, size, size)).numel()
    n_views = views_that_fit(n_images, map_bytes, options.n_views or 0)
    return pixels + (n_images * map_bytes * (2 * n_views + 1) if n_views else 0)
