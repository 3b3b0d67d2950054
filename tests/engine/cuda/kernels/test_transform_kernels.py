"""Each kernel of the heads against its formula."""

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from grande_gnn.engine.cuda.kernels import transform_kernels as kernels

N, H, C, R, STRIDE = 37, 20, 5, 3, 64
BLOCKS = {"DROP": True, "PRECISION": "ieee", "BN": 16, "BH": 16, "BC": 16, "num_warps": 4, "num_stages": 1}


@pytest.fixture
def step(device):
    return torch.ones(1, dtype=torch.int32, device=device)


@pytest.mark.parametrize("p", [0.25, 0.5])
def test_masked_inputs_and_their_transpose(tensor, device, step, p):
    X = tensor(N, H) + 10  # no zeros
    out, transposed = torch.zeros(N, H, device=device), torch.zeros(H, STRIDE, device=device)
    kernels.mask_inputs[(2, 1)](X, out, transposed, step, 7, N, H, STRIDE, p, 2.0, BN=32, BD=64)
    kept = out != 0
    assert kept.float().mean().item() == pytest.approx(1 - p, abs=0.06)
    np.testing.assert_array_equal(out.cpu(), torch.where(kept, 2 * X, 0.0).cpu())
    np.testing.assert_array_equal(transposed[:, :N].cpu(), out.T.cpu())
    assert not transposed[:, N:].any()


def test_a_mask_depends_on_key_and_step_alone(device, step):
    def mask(key, epoch, size=4000):
        out = torch.full((size,), 9, dtype=torch.int8, device=device)
        kernels.draw_mask[(-(-size // 1024),)](out, step * epoch, key, size, 0.3, BLOCK=1024)
        return out.cpu()

    first = mask(1, 1)
    assert set(first.tolist()) == {0, 1}
    assert first.float().mean().item() == pytest.approx(0.7, abs=0.03)
    np.testing.assert_array_equal(first, mask(1, 1))
    np.testing.assert_array_equal(first[:3000], mask(1, 1, 3000))
    for other in (mask(2, 1), mask(1, 2)):
        assert (first == other).float().mean().item() == pytest.approx(0.58, abs=0.04)


def test_turn_is_a_transpose(tensor, device):
    x, out = tensor(N, 70), torch.zeros(70, STRIDE, device=device)
    kernels.turn[(1, 2)](x, out, N, 70, STRIDE, BN=64, BW=64)
    np.testing.assert_array_equal(out[:, :N].cpu(), x.T.cpu())
    assert not out[:, N:].any()


@pytest.fixture
def layer(tensor, device):
    """Inputs of the second layer: pre-activations (R·h, stride), bias, mask, W₂, and the activated hidden layer."""
    pre, bias = tensor(R * H, STRIDE), tensor(R * H, seed=1)
    mask = (tensor(H, STRIDE, seed=2) > -0.3).to(torch.int8)
    weight = tensor(R, H, C, seed=3)
    hidden = (0.5 * pre + bias[:, None]).relu().view(R, H, STRIDE) * mask * 1.5
    return pre, bias, mask, weight, hidden[:, :, :N]


def test_forward(layer, tensor, device):
    pre, bias, mask, weight, hidden = layer
    bias2, out = tensor(R, C, seed=4), torch.empty(N, R, C, device=device)
    kernels.mlp_forward[(3, R, 1)](
        pre, bias, mask, weight, bias2, out, N, H, C, STRIDE, R * C, 0, 1.5, 0.5, **BLOCKS
    )
    expected = torch.einsum("rhn,rhc->nrc", hidden, weight) + bias2
    np.testing.assert_allclose(out.cpu(), expected.cpu(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("fused", [True, False])
def test_backward(layer, tensor, device, fused):
    pre, bias, mask, weight, hidden = layer
    g, pre = tensor(N, R, C, seed=5), pre.clone()
    sizes, scales, splits = (N, H, C, STRIDE, R * C, 0, R), (1.5, 0.5), 2
    part_W2 = torch.zeros(splits, R, H, C, device=device)
    rows = 32  # of each split
    if fused:
        part_b1 = torch.zeros(splits, R, H, device=device)
        kernels.mlp_backward[(R, 2, splits)](
            pre, bias, mask, weight, g, part_W2, part_b1, *sizes, *scales, rows, **BLOCKS
        )
    else:
        part_b1 = torch.zeros(3, R, H, device=device)
        kernels.weight2_gradient[(R, 2, splits)](pre, bias, mask, g, part_W2, *sizes, *scales, rows, **BLOCKS)
        kernels.hidden_gradient[(2 * 3, R)](pre, bias, mask, weight, g, part_b1, *sizes, *scales, **BLOCKS)
    back = torch.einsum("rhc,nrc->rhn", weight, g) * (hidden > 0) * 1.5
    to_W2 = torch.einsum("rhn,nrc->rhc", hidden, g)
    np.testing.assert_allclose(part_W2.sum(0).cpu(), to_W2.cpu(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(part_b1.sum(0).cpu(), back.sum(-1).cpu(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(pre.view(R, H, STRIDE)[:, :, :N].cpu(), back.cpu(), rtol=1e-3, atol=1e-4)


def test_a_gradient_beyond_float16_is_clamped(layer, tensor, device):
    pre, bias, mask, weight, _ = layer
    short = pre.half()
    g = 1e6 * tensor(N, R, C, seed=5)
    kernels.hidden_gradient[(2 * 3, R)](
        short, bias, mask, weight, g, torch.zeros(3, R, H, device=device),
        N, H, C, STRIDE, R * C, 0, R, 1.5, 0.5, **BLOCKS,
    )  # fmt: skip
    gradient = short.view(R, H, STRIDE)[:, :, :N].float()
    assert torch.isfinite(gradient).all()
    assert gradient.abs().max().item() == 65504
