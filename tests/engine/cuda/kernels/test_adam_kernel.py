"""The kernel of Adam against its formula, one step at a time."""

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from grande_gnn.engine.cuda.kernels.adam_kernel import adam


@pytest.mark.parametrize("copies", [True, False])
def test_one_step(tensor, device, copies):
    p, g, m, v = (tensor(37, seed=s) for s in range(4))
    g, v = g * 1e-8, v.square() * 1e-16  # so small that ε matters
    corrections = torch.tensor([[9.0, 9.0], [1.3, 7.0]], device=device)
    step = torch.ones(1, dtype=torch.int32, device=device)
    got = [x.clone() for x in (p, m, v)]
    copy = torch.zeros(37, dtype=torch.float16, device=device)
    adam[(3,)](
        got[0], 4 * g, got[1], got[2], copy if copies else got[0], corrections, step, 37, 0.01, 0.1, 0.25,
        COPIES=copies, BLOCK=16,
    )  # fmt: skip
    gradient = g + 0.1 * p
    mean, square = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
    expected = p - 0.01 * 1.3 * mean / ((7.0 * square).sqrt() + 1e-8)
    for ours, theirs in zip(got, (expected, mean, square), strict=True):
        np.testing.assert_allclose(ours.cpu(), theirs.cpu(), rtol=1e-5)
    if copies:
        np.testing.assert_array_equal(copy.cpu(), got[0].half().cpu())


def test_epsilon_bounds_a_step_along_a_vanishing_gradient(tensor, device):
    p, zero = tensor(8), torch.zeros(8, device=device)
    corrections = torch.tensor([[10.0, 1000.0]], device=device)
    step = torch.zeros(1, dtype=torch.int32, device=device)
    got = p.clone()
    gradient = torch.full((8,), 1e-8, device=device)
    adam[(1,)](
        got,
        gradient,
        zero.clone(),
        zero.clone(),
        got,
        corrections,
        step,
        8,
        1.0,
        0.0,
        1.0,
        COPIES=False,
        BLOCK=8,
    )
    np.testing.assert_allclose((p - got).cpu(), 0.5, rtol=1e-3)  # g/(|g| + ε) with g = ε
