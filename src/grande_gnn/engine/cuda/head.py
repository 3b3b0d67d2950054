"""The heads on CUDA: masks drawn on the device, the second layer fused with the first's activation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import triton
from torch import Tensor

from grande_gnn.engine.cuda import head_kernels as kernels
from grande_gnn.engine.heads import Inputs, MLPHead, Run
from grande_gnn.engine.plan import Settings

__all__ = ["CudaInputs", "TritonMLPHead"]

_BLOCK = 1024


def mask_key(*parts: int) -> int:
    """A kernel's key from (seed, repetition, layer, width), as on the CPU."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0] >> 1)


class CudaInputs(Inputs):
    """The features, masked by a kernel; the epoch is a counter on the device, so that a graph can replay it."""

    def __init__(self, X: Tensor, runs: Sequence[Run], settings: Settings) -> None:
        self.X, self.drop = X, settings.drop
        self.step = torch.zeros(1, dtype=torch.int32, device=X.device)
        repetitions = sorted({run.repetition for run in runs}) if self.drop else []
        self.keys = {r: mask_key(settings.seed, r, 0, X.shape[1]) for r in repetitions}
        self.masked = {r: torch.empty_like(X) for r in repetitions}

    def draw(self, training: bool) -> None:
        self.training = training and bool(self.drop)
        if self.training:
            self.step += 1
            size = self.X.numel()
            for r, key in self.keys.items():
                kernels.mask_inputs[(triton.cdiv(size, _BLOCK),)](
                    self.X, self.masked[r], self.step, key, size, self.drop, BLOCK=_BLOCK
                )


class TritonMLPHead(MLPHead):
    """Two layers; H⁽⁰⁾ is node-major in memory: (n, R, c)."""

    inputs: CudaInputs

    def _prepare(self, n_replicas: int, settings: Settings) -> None:
        self._out = torch.empty(self.n, n_replicas, self.c, device=self.device)
        repetitions = sorted({run.repetition for run in self.runs}) if self.drop else []
        self._keys = {r: mask_key(settings.seed, r, 1, self.h) for r in repetitions}
        self._bits = {
            r: torch.empty(self.n, self.h, dtype=torch.int8, device=self.device) for r in repetitions
        }
        self._nothing = torch.empty(1, dtype=torch.int8, device=self.device)
        self._precision = "tf32" if settings.precision == "tf32" else "ieee"
        self._blocks = {
            "BN": 64,
            "BH": 64 if self.c <= 64 else 32,
            "BC": max(16, triton.next_power_of_2(self.c)),
        }
        # Enough programs to fill the device; the parts are summed afterwards.
        longest = max(map(len, self.runs))
        units = triton.cdiv(self.h, self._blocks["BH"]) * longest
        self._splits = max(1, min(triton.cdiv(self.n, 256), triton.cdiv(1024, units)))
        self._part_W2 = torch.empty(self._splits, longest, self.h, self.c, device=self.device)
        self._part_b1 = torch.empty(self._splits, longest, self.h, device=self.device)

    def forward(self, training: bool) -> Tensor:
        self.inputs.draw(training)
        self._drops = training and bool(self.drop)
        if self._drops:
            for r, key in self._keys.items():
                size = self._bits[r].numel()
                kernels.draw_mask[(triton.cdiv(size, _BLOCK),)](
                    self._bits[r], self.inputs.step, key, size, self.drop, BLOCK=_BLOCK
                )
        for i, run in enumerate(self.runs):
            torch.mm(self.inputs[run.repetition], self.parameters["weight1"][i], out=self._hidden[i])
            blocks = self._blocks | {"BC": min(128, self._blocks["BC"])}
            kernels.mlp_forward[
                (triton.cdiv(self.n, blocks["BN"]), len(run), triton.cdiv(self.c, blocks["BC"]))
            ](
                self._hidden[i], self.parameters["bias1"][i], self._mask(run), self.parameters["weight2"][0],
                self.parameters["bias2"][0], self._out, self.n, self.h, self.c, len(run) * self.h,
                self._out.shape[1] * self.c, run.replicas.start, 1 - self.drop,
                DROP=self._drops, PRECISION=self._precision, **blocks,
            )  # fmt: skip
        return self._out.transpose(0, 1)

    def _mask(self, run: Run) -> Tensor:
        return self._bits[run.repetition] if self._drops else self._nothing

    def backward(self, gradient: Tensor) -> None:
        g = gradient.transpose(0, 1).contiguous()
        weight2, bias2 = self.parameters["weight2"][0], self.parameters["bias2"][0]
        assert weight2.grad is not None  # allocated with the parameter
        torch.sum(gradient, 1, keepdim=True, out=bias2.grad)
        rows_each = triton.cdiv(triton.cdiv(self.n, self._splits), self._blocks["BN"]) * self._blocks["BN"]
        for i, run in enumerate(self.runs):
            kernels.mlp_backward[(len(run), triton.cdiv(self.h, self._blocks["BH"]), self._splits)](
                self._hidden[i], self.parameters["bias1"][i], self._mask(run), weight2, g,
                self._part_W2, self._part_b1, self.n, self.h, self.c, len(run) * self.h,
                g.shape[1] * self.c, run.replicas.start, self._part_b1.shape[1],
                1 - self.drop if self._drops else 1.0, rows_each,
                DROP=self._drops, PRECISION=self._precision, **self._blocks,
            )  # fmt: skip
            torch.sum(self._part_W2[:, : len(run)], 0, out=weight2.grad[run.replicas])
            bias1, weight1 = self.parameters["bias1"][i], self.parameters["weight1"][i]
            torch.sum(self._part_b1[:, : len(run)].flatten(1), 0, out=bias1.grad)
            torch.mm(self.inputs[run.repetition].T, self._hidden[i], out=weight1.grad)
