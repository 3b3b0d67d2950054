"""Images as square pixel arrays in memory, from which a training takes its random views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from grande_gnn.images.augment import center_view
from grande_gnn.images.networks import Extractor
from grande_gnn.images.preprocess import Preprocess
from grande_gnn.images.read import read_image

__all__ = ["read_squares", "side_of", "square", "square_features"]


def read_squares(
    paths: Sequence[Path], preprocess: Preprocess, progress: Callable[[int, int], object] | None = None
) -> Tensor:
    """The squares whose centers ``preprocess`` crops, as uint8 (n, 3, side, side).

    The files must be readable; files whose features were extracted are.
    """
    side = side_of(preprocess)
    squares = torch.empty(len(paths), 3, side, side, dtype=torch.uint8)

    def read(row: int) -> None:
        squares[row] = square(read_image(paths[row], side), preprocess)

    with ThreadPoolExecutor() as threads:  # decoders release Python's global lock
        for done, _ in enumerate(threads.map(read, range(len(paths))), start=1):
            if progress is not None:
                progress(done, len(paths))
    return squares


def side_of(preprocess: Preprocess) -> int:
    """Width and height of a square in pixels."""
    return max(preprocess.resize, preprocess.size)


def square(image: Image.Image, preprocess: Preprocess) -> Tensor:
    """The square of an RGB image whose center ``preprocess`` crops, as uint8 (3, side, side)."""
    side = side_of(preprocess)
    pixels = replace(preprocess, size=side, resize=side).crop(image)
    return torch.from_numpy(pixels.copy()).permute(2, 0, 1)


def square_features(
    extractor: Extractor, squares: Tensor, device: torch.device, batch: int = 64
) -> NDArray[np.float32]:
    """The features of squares from :func:`read_squares`, without reading the files again."""
    on_device, parts = extractor.to(device), []
    for chunk in squares.split(batch):
        pixels = center_view(chunk, extractor.preprocess.size).permute(0, 2, 3, 1).to(device)
        parts.append(on_device(pixels.contiguous()).cpu())
    return torch.cat(parts).numpy()
