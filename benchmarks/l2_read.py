"""A kernel that reads a buffer over and over, to measure how fast the L2 cache delivers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _read(X, out, size, rounds, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(rounds):
        start = ((program + k * 37) * BLOCK * 16) % size
        for j in tl.static_range(16):
            total += tl.load(X + (start + j * BLOCK) % size + lanes, cache_modifier=".cg")
    tl.store(out + program, tl.sum(total, 0))


def read_repeatedly(x: torch.Tensor, out: torch.Tensor, rounds: int) -> int:
    """Let every program read parts of ``x``, past the L1 cache; returns the bytes read."""
    block = 1024
    _read[(len(out),)](x, out, x.numel(), rounds, BLOCK=block, num_warps=4)
    return len(out) * rounds * 16 * block * 4
