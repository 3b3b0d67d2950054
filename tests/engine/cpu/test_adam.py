import subprocess
import sys

import pytest
import torch

from grande_gnn.engine import Settings
from grande_gnn.engine.cpu.adam import Adam


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_it_is_torchs_adam(weight_decay):
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, generator=generator) for shape in ((5, 7), (3,))]
    ours, theirs = [p.clone() for p in start], [p.clone() for p in start]
    optimiser = Adam(ours, Settings(lr=0.01, weight_decay=weight_decay))
    reference = torch.optim.Adam(theirs, lr=0.01, weight_decay=weight_decay)
    for _ in range(20):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = b.grad = torch.randn(a.shape, generator=generator)
        optimiser.step()
        reference.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_a_fit_does_not_load_torchs_compiler():
    script = """
import sys
import numpy as np
from grande_gnn import GrandeClassifier
GrandeClassifier(epochs=2, device="cpu").fit(np.random.default_rng(0).normal(size=(30, 4)), [0, 1, -1] * 10)
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
