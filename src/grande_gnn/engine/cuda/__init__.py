"""The engine on CUDA: Triton kernels for the graph and the head, and epochs replayed as one CUDA graph."""
