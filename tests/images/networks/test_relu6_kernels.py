"""The two kernels: what they write, and that they write nothing else."""

from __future__ import annotations

import torch

from grande_gnn.images.networks.relu6_kernels import add_and_clip, clip_gradient

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def test_the_forward_kernel_ends_with_its_numbers() -> None:
    x = torch.tensor([-3.0, 1, 5, 5, -1, 2], device=DEVICE)  # two rows of three channels
    out = torch.full((8,), 9.0, device=DEVICE)
    add_and_clip[(2,)](x, torch.tensor([1.0, 2, 3], device=DEVICE), out, 6, 3, BLOCK=4)
    assert out.tolist() == [0, 3, 6, 6, 1, 5, 9, 9]


def test_the_backward_kernel_sums_over_the_rows_of_each_program() -> None:
    y = torch.tensor([[0.0, 3], [6, 1], [2, 0], [1, 5], [5, 6]], device=DEVICE)
    gradient = torch.arange(1.0, 11, device=DEVICE).view(5, 2)
    out = torch.full((6, 2), 9.0, device=DEVICE)
    sums = torch.full((3, 2), -1.0, device=DEVICE)
    clip_gradient[(2, 1)](gradient, y, out, sums, 5, 2, PER=4, ROWS=2, WIDTH=4)
    assert out.tolist() == [[0, 2], [0, 4], [5, 0], [7, 8], [9, 0], [9, 9]]
    assert sums.tolist() == [[12, 14], [9, 0], [-1, -1]]
