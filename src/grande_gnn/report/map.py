"""The map: a position in the plane for each image, close to the images that look like it.

t-SNE (van der Maaten & Hinton, 2008) of the first 50 principal components. Its cost grows faster than the number of
images, so above ``LANDMARKS`` images a random sample is laid out and every other image is placed among the nearest images
of the sample. 20,000 images take about five seconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.internal.validation import check_features, check_integer, check_seed

__all__ = ["FEWER_LANDMARKS", "LANDMARKS", "image_map", "unit_square"]

LANDMARKS = 2500
"""Images laid out by t-SNE itself, which takes about five seconds on one core."""

FEWER_LANDMARKS = 1000
"""The same, if the map shows only a sample of the images; t-SNE then also takes fewer and coarser steps."""

_COMPONENTS = 50
_FITTED = 5000
"""If there are more images than this, the principal components are computed from this many, drawn at random."""
_FINE = {"max_iter": 500, "angle": 0.5}
"""Half of scikit-learn's iterations: on Flowers17 and Corel5k the clusters no longer move after that. The angle, which says
how coarsely distant images are grouped, is scikit-learn's."""
_COARSE = {"max_iter": 350, "angle": 0.8}
"""The same for up to :data:`FEWER_LANDMARKS` landmarks: faster, because a map of a sample is an overview."""


def image_map(
    features: ArrayLike, *, landmarks: int = LANDMARKS, random_state: int = 0
) -> tuple[NDArray[np.float64], str]:
    """Positions in [0, 1]² and one sentence that names the method, for the page to print.

    The result does not depend on the number of threads.

    >>> position, method = image_map([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> position.shape, method
    ((3, 2), 'Principal components of the features.')
    """
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    X = check_features(features)
    check_integer(landmarks, name="landmarks", low=10)
    random_state = check_seed(random_state)
    with threadpool_limits(1):  # sums over several threads round differently, and t-SNE amplifies that
        components = _principal(X, random_state)
        if len(X) < 10 or not components.any():
            return unit_square(_first_two(components)), "Principal components of the features."
        rng = np.random.default_rng(random_state)
        sample = np.sort(rng.permutation(len(X))[:landmarks])
        placed = _tsne(components[sample], random_state, _COARSE if landmarks <= FEWER_LANDMARKS else _FINE)
        method = f"t-SNE of the first {components.shape[1]} principal components of the features."
        if len(X) > len(sample):
            placed = _place_others(components, sample, placed, rng)
            method = (
                f"{method[:-1]}, computed for {len(sample):,} images drawn at random; "
                "every other image is placed among the nearest of those."
            )
    return unit_square(placed), method


def _principal(X: NDArray[np.float32], random_state: int) -> NDArray[np.float32]:
    from sklearn.decomposition import PCA

    keep = min(_COMPONENTS, *X.shape)
    if (X[0] == X).all():
        return np.zeros((len(X), keep), np.float32)
    solver = "randomized" if keep == _COMPONENTS else "full"
    pca = PCA(keep, svd_solver=solver, random_state=random_state)
    if len(X) <= _FITTED:
        return pca.fit_transform(X)
    some = np.sort(np.random.default_rng(random_state).permutation(len(X))[:_FITTED])
    return pca.fit(X[some]).transform(X)


def _first_two(components: NDArray[np.float32]) -> NDArray[np.float32]:
    """The first two columns; the second is zero if there is only one."""
    return np.pad(components, ((0, 0), (0, 1)))[:, :2]


def _tsne(components: NDArray[np.float32], random_state: int, steps: dict[str, float]) -> NDArray[np.float64]:
    from sklearn.manifold import TSNE

    start = _first_two(components) / (components[:, 0].std() or 1.0) * 1e-4  # as scikit-learn's init="pca"
    perplexity = min(30.0, (len(components) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init=start, random_state=random_state, n_jobs=1, **steps)
    return tsne.fit_transform(components).astype(np.float64)


def _place_others(
    components: NDArray[np.float32],
    sample: NDArray[np.int64],
    placed: NDArray[np.float64],
    rng: np.random.Generator,
    n_neighbors: int = 8,
) -> NDArray[np.float64]:
    """Place each image at the mean of its nearest sampled images, without those of other clusters.

    Only sampled images that the map shows close to the nearest one count: the mean of all of them would put images between
    two clusters into the empty space. A little noise keeps images from covering each other.
    """
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=n_neighbors).fit(components[sample])
    candidates = placed[search.kneighbors(components, return_distance=False)]
    spacing = np.sqrt(np.prod(np.ptp(placed, axis=0)) / len(sample))
    close = np.linalg.norm(candidates - candidates[:, :1], axis=2) <= 3 * spacing
    position = (candidates * close[:, :, None]).sum(axis=1) / close.sum(axis=1, keepdims=True)
    position += rng.normal(scale=0.3 * spacing, size=position.shape)
    position[sample] = placed
    return position


def unit_square(position: ArrayLike) -> NDArray[np.float64]:
    """Scale positions so that each axis runs from 0 to 1; if all positions share a coordinate, it becomes 0.5."""
    position = np.asarray(position, dtype=np.float64)
    low, extent = position.min(axis=0), np.ptp(position, axis=0)
    return np.where(extent > 0, (position - low) / np.where(extent > 0, extent, 1.0), 0.5)
