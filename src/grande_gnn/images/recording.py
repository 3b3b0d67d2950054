"""Work on a GPU that is recorded once as a CUDA graph and then replayed: the CPU need not launch every kernel again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["Recording", "waits_for_gpu"]


def waits_for_gpu(call: Callable[[], Any]) -> bool:
    """Whether the call makes the CPU wait for the GPU, and so cannot be recorded."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        call()
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:
        return True
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return False


class Recording:
    """A function without arguments whose kernels are recorded. Each :meth:`replay` computes it again.

    The function must have run before, so that libraries have chosen their kernels. It reads and writes the tensors that it
    used while it was recorded, also when it is replayed. Random numbers of ``generator`` are new in every replay: they
    continue where the generator is.
    """

    def __init__(self, function: Callable[[], Any], generator: torch.Generator | None = None) -> None:
        self._graph = torch.cuda.CUDAGraph()
        if generator is not None:
            self._graph.register_generator_state(generator)
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self._result = function()

    def replay(self) -> Any:
        """The result, in the tensors that were returned while recording: the next replay overwrites them."""
        self._graph.replay()
        return self._result
