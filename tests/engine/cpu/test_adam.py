"""The direct call of torch's fused kernel is torch's Adam, and so is the fallback."""

import subprocess
import sys

import pytest
import torch

from grande_gnn.engine import Settings
from grande_gnn.engine.cpu.adam import Adam


def trained(make, start, steps=20):
    """The parameters after some steps with made-up gradients."""
    generator = torch.Generator().manual_seed(1)
    parameters = [p.clone() for p in start]
    optimizer = make(parameters)
    for _ in range(steps):
        for p in parameters:
            p.grad = torch.randn(p.shape, generator=generator)
        optimizer.step()
    return parameters


@pytest.fixture
def start():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in ((5, 7), (3,))]


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_it_is_torchs_adam(start, weight_decay):
    ours = trained(lambda ps: Adam(ps, Settings(lr=0.01, weight_decay=weight_decay)), start)
    theirs = trained(lambda ps: torch.optim.Adam(ps, lr=0.01, weight_decay=weight_decay), start)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def other_signature(parameters, gradients, means, squares):
    """A later torch might have changed the private function."""


@pytest.mark.parametrize("torchs", [None, other_signature], ids=["gone", "changed"])
def test_without_the_private_kernel_the_public_optimizer_gives_the_same(start, torchs, monkeypatch):
    settings = Settings(lr=0.01, weight_decay=0.1)
    expected = trained(lambda ps: Adam(ps, settings), start)
    if torchs is None:
        monkeypatch.delattr(torch, "_fused_adam_")
    else:
        monkeypatch.setattr(torch, "_fused_adam_", torchs)
    monkeypatch.setattr(torch.optim, "Adam", watched(torch.optim.Adam, calls := []))
    got = trained(lambda ps: Adam(ps, settings), start)
    assert len(calls) == 1
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7)


def watched(function, calls):
    def call(*arguments, **options):
        calls.append(options)
        return function(*arguments, **{**options, "fused": False})  # fused needs the kernel that is gone

    return call


def test_a_fit_does_not_load_torchs_compiler():
    script = """
import sys
import numpy as np
from grande_gnn import GrandeClassifier
GrandeClassifier(epochs=2, device="cpu").fit(np.random.default_rng(0).normal(size=(30, 4)), [0, 1, -1] * 10)
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
