"""The graph operations of the engine, one implementation a device."""

from grande_gnn.engine.kernels.reference import TorchKernels

__all__ = ["TorchKernels"]
