"""Run a network on batches of one fixed size; on CUDA as a recorded CUDA graph, which leaves the CPU free to decode
images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.images.networks import Extractor
from grande_gnn.images.recording import Recording, waits_for_gpu

__all__ = ["FixedBatch"]

Answer = Callable[[], NDArray[np.float32]]
"""Waits for the features of a batch and returns them."""


class FixedBatch:
    """Features of up to ``size`` images; the network always runs on ``size``, so that features do not depend on the
    batch."""

    def __init__(self, extractor: Extractor, device: torch.device, size: int) -> None:
        side = extractor.preprocess.size
        self._extractor = extractor
        self._pixels = torch.zeros(size, side, side, 3, dtype=torch.uint8, device=device)
        self._recording = self._record() if device.type == "cuda" else None

    def _record(self) -> Recording | None:
        side_stream = torch.cuda.Stream()
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            self._features()  # the first call lets libraries choose their kernels
            if waits_for_gpu(self._features):
                return None
        torch.cuda.current_stream().wait_stream(side_stream)
        return Recording(self._features)

    def _features(self) -> torch.Tensor:
        return self._extractor(self._pixels)

    def start(self, pixels: torch.Tensor) -> Answer:
        """Start computing the features of these images; calling the result waits for them, and for nothing started later."""
        self._pixels[: len(pixels)].copy_(pixels, non_blocking=True)
        features = self._features() if self._recording is None else self._recording.replay()
        fetched = features[: len(pixels)].to("cpu", non_blocking=True)
        if not features.is_cuda:
            return fetched.numpy
        finished = torch.cuda.Event(blocking=True)  # sleeps while it waits, because every core is decoding
        finished.record()

        def answer() -> NDArray[np.float32]:
            finished.synchronize()
            return fetched.numpy()

        return answer
