"""The memory that a labelling takes, compared with the free memory before the work starts.

need = 4 n d · 3 (features as read, as one matrix, and normalized)
+ the largest of these, which are never in memory together: 4 n d · 3 (three forms of the features in the search for
neighbors), 8 n c · 5 (probabilities by all labels, by two halves of them, calibrated, and as they are answered), and one
training on the CPU
+ one block of distances + the ranked lists + the page with its thumbnails + a fixed amount.
"""

from __future__ import annotations

from typing import Any

import torch

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.engine.memory import Sizes, available_memory, predicted_bytes
from grande_gnn.errors import InvalidInputError, NotEnoughMemoryError
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import encode_labels

__all__ = ["check_label_memory", "label_memory", "n_classes", "training_memory"]

_MIB = 2**20
_COPIES = 6
_PROBABILITIES = 5
_IN_SEARCH = 3
"""Forms of the features that only the search for neighbors needs: they are freed before there are probabilities."""
_BLOCK = 256 * _MIB
"""Distances that are computed at a time; see :func:`grande_gnn.graph.exact_search.exact_lists`."""
_LIST_BYTES = 200 * 8
"""The kept neighbors of one image, while they are sorted."""
_PAGE_BYTES, _MOST_SHOWN = 10_000, 20_000
"""For each image that the report shows: its thumbnail, base64 and text, while the page is put together."""
_FIXED = 64 * _MIB


_EDGES = 16
"""Entries of the graph per image, about as many as an automatic graph has."""
_OF_WHAT_IS_LEFT = 0.8
"""The share of the free memory that a training may take; see :func:`grande_gnn.engine.memory.replicas_that_fit`."""


def training_memory(n_images: int, n_features: int, n_classes: int, clf: GrandeClassifier) -> int:
    """Bytes that must be free for one training of this classifier on the CPU; 0 on a GPU, or if it cannot be predicted."""
    settings = clf.settings()
    if not n_classes or not settings.kind.is_diffusion or resolve_device(settings.device).type != "cpu":
        return 0
    width, dropout = settings.kind.width(clf.hidden), int(settings.drop > 0)
    sizes = Sizes(
        n_images, n_features, n_classes, width, _EDGES * n_images, settings.hops, 1, dropout
    )  # fmt: skip
    return int(predicted_bytes(sizes, "cpu") / _OF_WHAT_IS_LEFT)


def label_memory(n_images: int, n_features: int, n_classes: int = 0, training: int = 0) -> int:
    """Bytes that labelling takes beyond what the process has when it starts; one training takes ``training`` of them."""
    probabilities = 8 * n_images * n_classes * _PROBABILITIES
    features = 4 * n_images * n_features * (_COPIES - _IN_SEARCH)
    features += max(4 * n_images * n_features * _IN_SEARCH, probabilities, training)
    block = min(_BLOCK, 12 * n_images * n_images)
    return features + block + n_images * _LIST_BYTES + min(n_images, _MOST_SHOWN) * _PAGE_BYTES + _FIXED


def check_label_memory(
    n_images: int, n_features: int, n_classes: int = 0, *, things: str = "images", training: int = 0
) -> None:
    """Refuse, before any work, more images than fit into the memory of the machine, container or process."""
    need = label_memory(n_images, n_features, n_classes, training)
    left = available_memory(torch.device("cpu"))
    if need > left:
        what = f"{n_features} features each" + (f" in {n_classes} classes" if n_classes else "")
        raise NotEnoughMemoryError(
            f"labelling {n_images} {things} with {what} takes about {need / 2**30:.2g} GiB of memory: raise the limit, or "
            f"use fewer {things} or features; got {left / 2**30:.2g} GiB of free memory"
        )


def n_classes(labels: Any) -> int:
    """The number of different labels; 0 if they are invalid, which the classifier reports itself."""
    try:
        return len(encode_labels(labels)[1])
    except InvalidInputError:
        return 0
