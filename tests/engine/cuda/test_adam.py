"""Adam on CUDA is torch's, undoes the scale of the gradient, and updates the copy in half precision."""

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from grande_gnn.engine import Settings
from grande_gnn.engine.cuda.adam import Trained, TritonAdam


def test_adam_equals_torchs(make, tensor):
    settings = Settings(epochs=20, lr=0.01, weight_decay=0.1)
    start = tensor(37, 41, seed=4)
    ours, theirs = start.clone(), start.clone()
    ours.grad, half = torch.empty_like(ours), ours.half()
    optimizer = TritonAdam([Trained(ours, 8.0, half)], settings)
    reference = torch.optim.Adam([theirs], settings.lr, weight_decay=settings.weight_decay)
    for epoch in range(settings.epochs):
        theirs.grad = tensor(37, 41, seed=5 + epoch)
        ours.grad.copy_(8 * theirs.grad)
        optimizer.step()
        reference.step()
    assert make.distance(theirs, ours) < 1e-6
    assert (half == ours.half()).all()


def test_parameters_of_all_shapes_are_updated(tensor):
    parameters = [tensor(3, 1100), tensor(5), tensor(1, 1)]
    before = [p.clone() for p in parameters]
    for p in parameters:
        p.grad = torch.ones_like(p)
    TritonAdam([Trained(p) for p in parameters], Settings(lr=0.5, weight_decay=0.0)).step()
    for p, was in zip(parameters, before, strict=True):
        np.testing.assert_allclose(
            p.cpu(), was.cpu() - 0.5, rtol=1e-5, atol=1e-6
        )  # the first step has length lr
