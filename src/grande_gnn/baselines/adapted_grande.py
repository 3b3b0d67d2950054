"""GRaNDe on images: the network is adapted with GRaNDe as teacher, then GRaNDe labels the images from original and
adapted features.

``grande label --adapt`` uses held-out labels to choose between the features of the original network, of the adapted one, and
both side by side; here it is always both.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.baselines.comatch import square_image
from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.errors import InvalidInputError
from grande_gnn.images.adapt import AdaptOptions, adapt_network
from grande_gnn.images.networks import load_extractor, load_trainable
from grande_gnn.images.side_by_side import unit_rows
from grande_gnn.images.squares import square_features
from grande_gnn.internal.device import resolve_device

__all__ = ["AdaptedGrande"]


class AdaptedGrande(System):
    """GRaNDe from images: ``X`` is a list of image files or an array (n, height, width, 3) of uint8.

    Parameters
    ----------
    extractor, weights : the network, and a file of weights to use instead of those that come with it.
    form, recipe, size : how it is adapted, see :class:`~grande_gnn.images.adapt.AdaptOptions`.
    model : the GNN; graph, neighbors, normalization and σ are automatic.
    epochs : the epochs of the GNN's training.
    """

    def __init__(
        self,
        extractor: str = "lite0",
        weights: str | Path | None = None,
        form: str = "last",
        recipe: Any = None,
        model: str = "appnp",
        epochs: int = 200,
        device: str = "auto",
        random_state: int | None = None,
        size: int | None = None,
    ):
        self.extractor = extractor
        self.weights = weights
        self.form = form
        self.recipe = recipe
        self.model = model
        self.epochs = epochs
        self.device = device
        self.random_state = random_state
        self.size = size

    def _check_samples(self, X: Any) -> Tensor:
        if len(X) == 0:
            raise InvalidInputError("grande-adapt needs at least one image; got none")
        preprocess = load_trainable(self.extractor, self.weights).preprocess
        return torch.stack([square_image(image, preprocess.resize) for image in X])

    def _transduce(self, X: Tensor, codes: NDArray[np.int64]) -> Transduction:
        device, seed = resolve_device(self.device), self.random_state or 0
        frozen = square_features(load_extractor(self.extractor, self.weights), X, device)
        options = AdaptOptions(
            self.form, self.recipe, self.size, weights=self.weights, device=self.device, seed=seed
        )
        adapted = adapt_network(
            X, codes, self.extractor, lambda features, labels: self._answer(features, labels)[0], options,
            features=frozen,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            adapted.save(Path(folder) / "adapted.safetensors")
            new = square_features(adapted.load(Path(folder) / "adapted.safetensors"), X, device)
        P, reached = self._answer(np.concatenate([unit_rows(frozen), unit_rows(new)], axis=1), codes)
        return Transduction(P.argmax(axis=1), reached)

    def _answer(
        self, features: NDArray[np.float32], codes: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Class probabilities (0 for codes that no sample has), and which samples a label reached."""
        clf = GrandeClassifier(
            self.model, sigma="auto", graph="auto", n_neighbors="auto", normalize="auto", epochs=self.epochs,
            device=self.device, random_state=self.random_state or 0,
        ).fit(features, codes)  # fmt: skip
        P = np.zeros((len(codes), codes.max() + 1))
        P[:, clf.classes_] = clf.label_distributions_
        return P, clf.reached_
