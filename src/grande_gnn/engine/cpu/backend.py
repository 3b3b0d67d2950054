"""The trainings of diffusion models in plain torch: on the CPU, and on CUDA where the Triton kernels do not apply."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from grande_gnn.engine.cpu.diffusion import TorchHops
from grande_gnn.engine.cpu.precomputed import Precomputed
from grande_gnn.engine.cpu.transform import build_head
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.malloc import freed_memory_kept
from grande_gnn.engine.replica import Replica, Settings
from grande_gnn.engine.trainable import Diffusion, Trainable
from grande_gnn.graph import Graph

__all__ = ["Backend"]


class Backend:
    """Everything the training loop needs to know about a device; the CUDA backend overrides what differs there."""

    def __init__(self, device: torch.device, settings: Settings) -> None:
        self.device, self.settings = device, settings

    def running(self) -> AbstractContextManager[None]:
        """The process-wide state of a training on this device."""
        return freed_memory_kept()

    def batch_key(self, replica: Replica) -> Hashable:
        """Replicas with equal keys can be trained in one batch."""
        degree = replica.degree
        precomputed = degree if replica.precomputes(self.settings) else None
        return precomputed, degree.has_kernel, replica.width(self.settings)

    def is_fused(self, replica: Replica) -> bool:
        """Whether Triton kernels train this replica, for the prediction of memory."""
        return False

    def build(self, X: Tensor, graph: Graph, replicas: Sequence[Replica], n_classes: int) -> Trainable:
        """A trainable for replicas of one batch key, sorted by repetition."""
        if replicas[0].precomputes(self.settings):
            return Precomputed(X, graph, replicas, n_classes, self.settings)
        head = build_head(X, replicas, n_classes, self.settings)
        hops = TorchHops(graph, replicas, n_classes, self.settings, X.device)
        return Diffusion(head, hops, LabelledRows(replicas, X.device))

    def repeated(self, model: Trainable, epoch: Callable[[], None]) -> Callable[[], None]:
        """A function that runs one epoch each time it is called."""
        return epoch

    def pace(self) -> Callable[[], None]:
        """A function that waits until the device has almost caught up; it is called before progress is reported."""
        return lambda: None
