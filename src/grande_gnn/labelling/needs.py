"""The memory that labelling images takes, compared with what there is before the work starts.

need = 4 n d · 6 (features as read, as one matrix and normalized, and three forms of them in the search for neighbors)
+ one block of distances + the ranked lists + the page with its thumbnails + what any run takes.
"""

from __future__ import annotations

import torch

from grande_gnn.engine.memory import available_memory
from grande_gnn.errors import NotEnoughMemoryError

__all__ = ["check_label_memory", "label_memory"]

_MIB = 2**20
_COPIES = 6
_BLOCK = 256 * _MIB
"""Distances that are computed at a time; see :func:`grande_gnn.graph.exact_search.exact_lists`."""
_LIST_BYTES = 200 * 8
"""Neighbors of one image that are kept, while they are sorted."""
_PAGE_BYTES, _MOST_SHOWN = 10_000, 20_000
"""For each image that the report shows: its thumbnail, base64 and text, while the page is put together."""
_FIXED = 64 * _MIB


def label_memory(n_images: int, n_features: int) -> int:
    """Bytes that labelling takes beyond what the process has when it starts; the trainings adapt to what is left."""
    features = 4 * n_images * n_features * _COPIES
    block = min(_BLOCK, 12 * n_images * n_images)
    return features + block + n_images * _LIST_BYTES + min(n_images, _MOST_SHOWN) * _PAGE_BYTES + _FIXED


def check_label_memory(n_images: int, n_features: int) -> None:
    """Refuse, before any work, more images than fit into the memory of the machine, container or process."""
    need, left = label_memory(n_images, n_features), available_memory(torch.device("cpu"))
    if need > left:
        raise NotEnoughMemoryError(
            f"labelling {n_images} images with {n_features} features each takes about {need / 2**30:.2g} GiB of memory: "
            f"raise the limit, or use fewer images or features; got {left / 2**30:.2g} GiB that are free"
        )
