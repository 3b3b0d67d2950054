"""An epoch as one CUDA graph: recorded once, replayed without launching its kernels one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock

import torch

__all__ = ["LaunchFree", "OneBehind"]


@cache
def _stream(device: int) -> torch.cuda.Stream:
    """The stream of all recordings: the matrix library keeps a workspace for every stream that has ever used it."""
    return torch.cuda.Stream(device)


_recording = Lock()
"""Work that another thread starts on the stream during a recording would be recorded too."""


class LaunchFree:
    """Call it once per epoch: the first epochs run as they are (kernels compile), then a recording is replayed."""

    def __init__(self, epoch: Callable[[], None], warm_up: int = 2) -> None:
        self.epoch, self.warm_up = epoch, warm_up
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stream = _stream(torch.cuda.current_device())

    def __call__(self) -> None:
        if self.graph is not None:
            self.graph.replay()
            return
        with _recording:
            if self.warm_up:
                self.warm_up -= 1
                self.stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(self.stream):
                    self.epoch()
                torch.cuda.current_stream().wait_stream(self.stream)
                return
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream):
                self.epoch()
        self.graph = graph
        graph.replay()


class OneBehind:
    """Synchronizes with the previous epoch, so that reported progress lags the GPU by at most one epoch.

    Synchronizing with the current epoch would leave the GPU idle until the next one is started.
    """

    def __init__(self) -> None:
        self.last: torch.cuda.Event | None = None

    def wait(self) -> None:
        """Mark this moment, and return when the GPU has reached the moment marked before."""
        before, self.last = self.last, torch.cuda.Event()
        self.last.record()
        if before is not None:
            before.synchronize()
