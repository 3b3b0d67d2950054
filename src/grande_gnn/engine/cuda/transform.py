"""The heads on CUDA: masks are drawn on the device, the second layer is fused with the activation of the first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import triton
from torch import Tensor

from grande_gnn.engine.cpu.transform import Inputs, LinearHead, MLPHead, Run, runs_of
from grande_gnn.engine.cuda.adam import Trained
from grande_gnn.engine.cuda.kernels import transform_kernels as kernels
from grande_gnn.engine.initial import Weights
from grande_gnn.engine.replica import Replica, Settings

__all__ = ["CudaInputs", "TritonLinearHead", "TritonMLPHead", "build_head"]

_BLOCK = 1024
_FEW_CLASSES = 64
"""With up to this many classes one fused kernel does the second layer's backward pass, keeping a tile's classes in
registers; with more, two kernels do."""
_HIDDEN_BLOCKS = {"BN": 64, "BH": 128, "BC": 32, "num_warps": 4, "num_stages": 1}
"""One stage here and below: prefetching tiles takes shared memory from other programs, which hide the latency better."""
_ALIGN = 32
"""Samples are padded to a multiple of this, so that every row of the hidden layer is aligned."""


def mask_key(*parts: int) -> int:
    """The key of a kernel's random numbers, from (seed, repetition, layer, width) as on the CPU."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0] >> 1)


def product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """out = left·right; a product of halves may be float32, and is summed in float32 in any case."""
    if left.dtype == out.dtype:
        torch.mm(left, right, out=out)
    elif left.is_cuda:
        torch.mm(left, right, out_dtype=out.dtype, out=out)
    else:
        torch.mm(left.to(out.dtype), right.to(out.dtype), out=out)


class CudaInputs(Inputs):
    """The features and their transpose, padded with zero rows, and masked by a kernel when training.

    The epoch is a counter on the device, so that a recorded graph can replay it. With ``half`` the features are float16,
    multiplied by the power of two ``scale`` that brings the largest near 1.
    """

    def __init__(self, X: Tensor, runs: Sequence[Run], settings: Settings, half: bool = False) -> None:
        self.n, self.d = X.shape
        self.stride = triton.cdiv(self.n, _ALIGN) * _ALIGN
        self.X, self.drop = X, settings.drop
        self.dtype, self.scale = torch.float32, 1.0
        if half:
            self.dtype = torch.float16
            self.scale = 2.0 ** -math.frexp(X.abs().max().item() / (1 - self.drop))[1]
        padded = X.new_zeros(self.stride, self.d, dtype=self.dtype)
        padded[: self.n] = X * self.scale if half else X
        self._plain = padded
        self.step = torch.zeros(1, dtype=torch.int32, device=X.device)
        repetitions = sorted({run.repetition for run in runs}) if self.drop else []
        self.keys = {r: mask_key(settings.seed, r, 0, self.d) for r in repetitions}
        self.masked = {r: torch.zeros_like(padded) for r in repetitions}
        self.transposes = {r: X.new_zeros(self.d, self.stride, dtype=self.dtype) for r in repetitions}
        self._plain_transposed = None if self.drop else padded.T.contiguous()

    def draw(self, training: bool) -> None:
        self.training = training and bool(self.drop)
        if self.training:
            self.step += 1
            grid = (triton.cdiv(self.n, 32), triton.cdiv(self.d, 64))
            for r, key in self.keys.items():
                kernels.mask_inputs[grid](
                    self.X, self.masked[r], self.transposes[r], self.step, key, self.n, self.d, self.stride, self.drop,
                    self.scale / (1 - self.drop), BN=32, BD=64,
                )  # fmt: skip

    def __getitem__(self, repetition: int) -> Tensor:
        return self.padded(repetition)[: self.n]

    def padded(self, repetition: int) -> Tensor:
        """(padded n, d)."""
        return self.masked[repetition] if self.training else self._plain

    def transposed(self, repetition: int) -> Tensor:
        """(d, padded n), in a training pass."""
        return self.transposes[repetition] if self._plain_transposed is None else self._plain_transposed


class TritonLinearHead(LinearHead):
    """One layer; the gradient is transposed, so that the product for the weights has contiguous inner dimensions."""

    inputs: CudaInputs

    def __init__(
        self, inputs: CudaInputs, runs: list[Run], replicas: Sequence[Replica], c: int, settings: Settings
    ) -> None:
        super().__init__(inputs, runs, replicas, c, settings)
        self._transposed = torch.zeros(len(replicas) * c, inputs.stride, device=self.device)

    def backward(self, gradient: Tensor) -> None:
        g = gradient.transpose(0, 1).contiguous().flatten(1)
        width = g.shape[1]
        kernels.turn[(triton.cdiv(self.n, 64), triton.cdiv(width, 64))](
            g, self._transposed, self.n, width, self.inputs.stride, BN=64, BW=64
        )
        for run, W, b in zip(self.runs, self.parameters["weight"], self.parameters["bias"], strict=True):
            part = self._transposed[run.replicas.start * self.c : run.replicas.stop * self.c]
            torch.mm(part, self.inputs.transposed(run.repetition).T, out=W.grad)
            torch.sum(part, 1, out=b.grad)

    def trained(self) -> list[Trained]:
        """The parameters for the optimizer."""
        return [Trained(parameter) for parameter in self.all_parameters()]


class TritonMLPHead(MLPHead):
    """Two layers; W₁ is kept as (R·h, d), the hidden layer as (R·h, padded n), H⁽⁰⁾ as (n, R, c)."""

    inputs: CudaInputs

    def _side_by_side(self, drawn: Sequence[Weights], name: str) -> list[Tensor]:
        if name == "weight1":
            return self._below_each_other(drawn, name)
        return super()._side_by_side(drawn, name)

    def _prepare(self, n_replicas: int, settings: Settings) -> None:
        width = self.inputs.stride
        kind = self.inputs.dtype
        self._hidden = [
            torch.empty(len(run) * self.h, width, dtype=kind, device=self.device) for run in self.runs
        ]
        self._weights = [weight.to(kind) for weight in self.parameters["weight1"]]
        self._out = torch.empty(self.n, n_replicas, self.c, device=self.device)
        repetitions = sorted({run.repetition for run in self.runs}) if self.drop else []
        self._keys = {r: mask_key(settings.seed, r, 1, self.h) for r in repetitions}
        self.bits = {r: torch.empty(self.h, width, dtype=torch.int8, device=self.device) for r in repetitions}
        self._nothing = torch.empty(1, dtype=torch.int8, device=self.device)
        self._precision = "ieee" if settings.precision == "highest" else "tf32"
        # Block sizes: the best of those tried on an H200 (benchmarks/README.md).
        BC = min(256, max(16, triton.next_power_of_2(self.c)))
        self._forward_blocks = {"BN": 128 if BC == 256 else 64, "BH": 32, "BC": BC}
        self._forward_blocks |= {"num_warps": 8 if BC in (64, 256) else 4, "num_stages": 1}
        self._fused = BC <= _FEW_CLASSES
        if self._fused:
            self._blocks = {"BN": 32, "BH": 64, "BC": BC, "num_warps": 4, "num_stages": 1}
        else:
            rows = 64 if BC == 128 else 32
            self._blocks = {"BN": rows, "BH": 128, "BC": BC, "num_warps": 8, "num_stages": 1}
        # Enough programs to fill the device; their partial sums are added afterwards.
        longest = max(map(len, self.runs))
        self._tiles = triton.cdiv(self.h, self._blocks["BH"]) * triton.cdiv(self.c, BC)
        self._splits = max(1, min(triton.cdiv(self.n, 256), triton.cdiv(2048, self._tiles * longest)))
        self._part_W2 = torch.empty(self._splits, longest, self.h, self.c, device=self.device)
        parts = self._splits if self._fused else triton.cdiv(self.n, _HIDDEN_BLOCKS["BN"])
        self._part_b1 = torch.empty(parts, longest, self.h, device=self.device)

    def forward(self, training: bool) -> Tensor:
        self.inputs.draw(training)
        self._drops = training and bool(self.drop)
        self._kept_times = 1 / (1 - self.drop) if self._drops else 1.0
        if self._drops:
            for r, key in self._keys.items():
                size = self.bits[r].numel()
                kernels.draw_mask[(triton.cdiv(size, _BLOCK),)](
                    self.bits[r], self.inputs.step, key, size, self.drop, BLOCK=_BLOCK
                )
        blocks = self._forward_blocks
        for i, run in enumerate(self.runs):
            inputs = self.inputs.padded(run.repetition)
            product(self._weights[i], inputs.T, self._hidden[i])
            grid = (triton.cdiv(self.n, blocks["BN"]), len(run), triton.cdiv(self.c, blocks["BC"]))
            kernels.mlp_forward[grid](
                self._hidden[i], self.parameters["bias1"][i], self._mask(run), self.parameters["weight2"][0],
                self.parameters["bias2"][0], self._out, self.n, self.h, self.c, self.inputs.stride,
                self._out.shape[1] * self.c, run.replicas.start, self._kept_times, 1 / self.inputs.scale,
                DROP=self._drops, PRECISION=self._precision, **blocks,
            )  # fmt: skip
        return self._out.transpose(0, 1)

    def _mask(self, run: Run) -> Tensor:
        return self.bits[run.repetition] if self._drops else self._nothing

    def backward(self, gradient: Tensor) -> None:
        g = gradient.transpose(0, 1).contiguous()
        weight2, bias2 = self.parameters["weight2"][0], self.parameters["bias2"][0]
        assert weight2.grad is not None  # allocated with the parameter
        torch.sum(gradient, 1, keepdim=True, out=bias2.grad)
        for i, run in enumerate(self.runs):
            self._second_layer_backward(i, run, g)
            torch.sum(self._part_W2[:, : len(run)], 0, out=weight2.grad[run.replicas])
            torch.sum(self._part_b1[:, : len(run)].flatten(1), 0, out=self.parameters["bias1"][i].grad)
            inputs = self.inputs.transposed(run.repetition)
            product(self._hidden[i], inputs.T, self._gradient(i))

    def _second_layer_backward(self, i: int, run: Run, g: Tensor) -> None:
        """Fill the partial gradients of W₂ and b₁, and overwrite the hidden layer with its gradient."""
        layer = (self._hidden[i], self.parameters["bias1"][i], self._mask(run))
        weight2 = self.parameters["weight2"][0]
        longest = self._part_b1.shape[1]
        sizes = (self.n, self.h, self.c, self.inputs.stride, g.shape[1] * self.c, run.replicas.start, longest)
        scales = (self._kept_times, 1 / self.inputs.scale)
        options = {"DROP": self._drops, "PRECISION": self._precision}
        grid = (len(run), self._tiles, self._splits)
        rows = triton.cdiv(triton.cdiv(self.n, self._splits), self._blocks["BN"]) * self._blocks["BN"]
        if self._fused:
            kernels.mlp_backward[grid](
                *layer,
                weight2,
                g,
                self._part_W2,
                self._part_b1,
                *sizes,
                *scales,
                rows,
                **options,
                **self._blocks,
            )
            return
        kernels.weight2_gradient[grid](
            *layer, g, self._part_W2, *sizes, *scales, rows, **options, **self._blocks
        )
        # Blocks of samples on the first axis, the only one that may be longer than 65,535.
        blocks = triton.cdiv(self.h, _HIDDEN_BLOCKS["BH"]) * len(self._part_b1)
        kernels.hidden_gradient[(blocks, len(run))](
            *layer, weight2, g, self._part_b1, *sizes, *scales, **options, **_HIDDEN_BLOCKS
        )

    def _gradient(self, run: int) -> Tensor:
        gradient = self.parameters["weight1"][run].grad
        assert gradient is not None  # allocated with the parameter
        return gradient

    def trained(self) -> list[Trained]:
        """The parameters for the optimizer; the gradient of W₁ has the scale of the inputs."""
        half = self.inputs.dtype == torch.float16
        first = [
            Trained(weight, self.inputs.scale, copy if half else None)
            for weight, copy in zip(self.parameters["weight1"], self._weights, strict=True)
        ]
        others = [p for name, group in self.parameters.items() if name != "weight1" for p in group]
        return first + [Trained(parameter) for parameter in others]

    def _weight1_of(self, run: int, part: slice) -> Tensor:
        return self.parameters["weight1"][run][part].T.contiguous()


def build_head(
    X: Tensor, replicas: Sequence[Replica], n_classes: int, settings: Settings
) -> TritonLinearHead | TritonMLPHead:
    """The head of a batch: one layer for a model without a hidden layer or ``hidden=None``, otherwise two."""
    runs = runs_of(replicas, settings, len(replicas))
    hidden = replicas[0].width(settings)
    if hidden is None:
        return TritonLinearHead(CudaInputs(X, runs, settings), runs, replicas, n_classes, settings)
    inputs = CudaInputs(X, runs, settings, half=settings.precision == "half")
    return TritonMLPHead(inputs, runs, replicas, n_classes, hidden, settings)
