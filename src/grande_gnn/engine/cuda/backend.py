"""The trainings of diffusion models on CUDA: which replicas the Triton kernels train, and how."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

import torch
from torch import Tensor

from grande_gnn.engine.cpu.backend import Backend
from grande_gnn.engine.cuda.replay import LaunchFree, OneBehind
from grande_gnn.engine.loss import LabelledRows, label_shares
from grande_gnn.engine.replica import Replica
from grande_gnn.engine.trainable import Trainable
from grande_gnn.graph import Graph
from grande_gnn.internal.device import float32_products

__all__ = ["CudaBackend"]


class CudaBackend(Backend):
    """Triton kernels where they apply, plain torch on the device otherwise."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Kernels run on this device; float32 products are TF32 or full float32, those of halves are summed in float32."""
        products = torch.backends.cuda.matmul
        before = products.allow_fp16_reduced_precision_reduction
        kind = "ieee" if self.settings.precision == "highest" else "tf32"
        with torch.cuda.device(self.device), float32_products(kind, self.device):
            products.allow_fp16_reduced_precision_reduction = False
            try:
                yield
            finally:
                products.allow_fp16_reduced_precision_reduction = before

    def batch_key(self, replica: Replica) -> Hashable:
        """In half precision all replicas of a batch also need the same loss scale."""
        return super().batch_key(replica), self.loss_scale(replica)

    def is_fused(self, replica: Replica) -> bool:
        """The kernels need Triton, at least one hop, and a degree that they compute."""
        return find_spec("triton") is not None and self.settings.hops > 0 and replica.degree.has_kernel

    def loss_scale(self, replica: Replica) -> float:
        """A power of two that brings the gradients into the range of float16, whose smallest number is 6e-8.

        At a labelled sample they are at most its share of the mean, without weights 1/n_labelled; eight times the
        inverse of the largest share leaves room above and below.
        """
        if self.settings.precision != "half":
            return 1.0
        return 2.0 ** math.ceil(math.log2(8 / label_shares(replica).max()))

    def build(self, X: Tensor, graph: Graph, replicas: Sequence[Replica], n_classes: int) -> Trainable:
        """A trainable for replicas of one batch key, sorted by repetition."""
        if replicas[0].precomputes(self.settings) or not self.is_fused(replicas[0]):
            return super().build(X, graph, replicas, n_classes)
        from grande_gnn.engine.cuda.diffusion import TritonDiffusion, TritonHops  # these import triton
        from grande_gnn.engine.cuda.transform import build_head

        head = build_head(X, replicas, n_classes, self.settings)
        hops = TritonHops(graph, replicas, n_classes, self.settings, X.device)
        return TritonDiffusion(head, hops, LabelledRows(replicas, X.device), self.loss_scale(replicas[0]))

    def repeated(self, model: Trainable, epoch: Callable[[], None]) -> Callable[[], None]:
        """Epochs are replayed as one CUDA graph where they can be recorded."""
        return LaunchFree(epoch) if model.capturable else epoch

    def pace(self) -> Callable[[], None]:
        """Progress lags the GPU by at most one epoch."""
        return OneBehind().wait
