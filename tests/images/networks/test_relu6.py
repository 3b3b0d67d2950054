"""The fused activation: the same as plain torch, forward and backward."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import relu6

from grande_gnn.images.networks import relu6_kernels
from grande_gnn.images.networks.relu6 import PER, FusedRelu6, biased_relu6

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SHAPES = [(1, 1, 1, 1), (3, 5, 4, 7), (2, 70, 3, 3), (PER + 1, 3, 1, 1)]


def draw(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = 6 * torch.randn(shape, generator=generator)
    bias = torch.randn(shape[1], generator=generator)
    return x.to(DEVICE, dtype).contiguous(memory_format=torch.channels_last), bias.to(DEVICE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients_are_those_of_plain_torch(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, bias = draw(shape, dtype)
    above = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(DEVICE, dtype)
    results = []
    for function in (FusedRelu6.apply, lambda a, b: relu6(a.float() + b[:, None, None]).to(dtype)):
        inputs = x.clone().requires_grad_(), bias.clone().requires_grad_()
        out = function(*inputs)
        results.append([out.detach(), *torch.autograd.grad(out, inputs, above)])
    (out, dx, db), (out_plain, dx_plain, db_plain) = results
    torch.testing.assert_close(out, out_plain)
    rounded = (out == 6) & (dx != dx_plain)  # bfloat16 rounds some outputs to 6, where the gradient is 0
    assert torch.equal(dx[~rounded], dx_plain[~rounded])
    assert not rounded.any() or dtype == torch.bfloat16
    torch.testing.assert_close(db, dx.float().sum((0, 2, 3)))
    if dtype == torch.float32:
        torch.testing.assert_close(db, db_plain)


def test_a_gradient_in_another_layout_counts_the_same() -> None:
    x, bias = draw((2, 5, 4, 4))
    x.requires_grad_()
    above = torch.randn(2, 5, 4, 4, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    one = torch.autograd.grad(FusedRelu6.apply(x, bias), x, above)[0]
    two = torch.autograd.grad(
        FusedRelu6.apply(x, bias), x, above.contiguous(memory_format=torch.channels_last)
    )[0]
    assert torch.equal(one, two)


def test_other_layouts_are_left_to_plain_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relu6_kernels, "add_and_clip", None)
    x, bias = draw((2, 5, 4, 4))
    x = x.contiguous()
    assert torch.equal(biased_relu6(x, bias), relu6(x + bias[:, None, None]))
