"""An epoch as one CUDA graph: recorded once, replayed without launching its kernels one by one."""

from __future__ import annotations

from collections.abc import Callable

import torch

__all__ = ["LaunchFree"]


class LaunchFree:
    """Call it once an epoch: the first epochs run as they are (kernels compile), then a recording is replayed."""

    def __init__(self, epoch: Callable[[], None], warm_up: int = 2) -> None:
        self.epoch, self.warm_up = epoch, warm_up
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stream = torch.cuda.Stream()

    def __call__(self) -> None:
        if self.warm_up:
            self.warm_up -= 1
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                self.epoch()
            torch.cuda.current_stream().wait_stream(self.stream)
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.epoch()
        self.graph.replay()
