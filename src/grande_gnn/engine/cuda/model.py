"""The diffusion model on CUDA."""

from __future__ import annotations

from torch import Tensor

from grande_gnn.engine.cpu.diffusion import Flow
from grande_gnn.engine.cpu.models import Diffusion
from grande_gnn.engine.cpu.transform import Head
from grande_gnn.engine.cuda.adam import Trained, TritonAdam
from grande_gnn.engine.cuda.transform import TritonMLPHead
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.replica import Settings

__all__ = ["TritonDiffusion"]


class TritonDiffusion(Diffusion):
    """All gradients are ``scale`` times too large, until the optimiser has them."""

    def __init__(self, head: Head, flow: Flow, labelled: LabelledRows, scale: float) -> None:
        super().__init__(head, flow, labelled, capturable=True)
        self.scale = scale

    def backward(self, gradient: Tensor) -> None:
        super().backward(gradient if self.scale == 1 else gradient * self.scale)

    def optimiser(self, settings: Settings) -> TritonAdam:
        trained = (
            self.head.trained()
            if isinstance(self.head, TritonMLPHead)
            else [Trained(parameter) for parameter in self.all_parameters()]
        )
        return TritonAdam([t._replace(scale=t.scale * self.scale) for t in trained], settings)
