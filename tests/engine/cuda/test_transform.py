"""The heads on CUDA against the torch reference with the same masks, forward and backward."""

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from grande_gnn.engine import Settings
from grande_gnn.engine.cpu.transform import Inputs, LinearHead, MLPHead
from grande_gnn.engine.cuda.transform import build_head, mask_key


class Replay:
    """A mask stream that gives the mask that a kernel has drawn."""

    def __init__(self, mask):
        self.mask = mask

    def next(self):
        return self.mask.float().cpu()

    def draw(self, kept):
        mask = (self.next() * kept).numpy()
        return lambda rows: mask[rows]

    def multiply(self, values, out, kept):
        torch.mul(values, self.next() * kept, out=out)


@pytest.mark.parametrize("hidden", [20, None])
@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
def test_the_fused_heads_equal_the_reference(case, dropout, hidden, make, device, tensor):
    if hidden and case.name == "many replicas" and device.type == "cpu":
        pytest.skip("the interpreter takes minutes for two layers of 500 replicas")
    n, c, R = case.n, case.c, case.R
    X = tensor(n, 7, seed=1)
    replicas = make.replicas(n, c, R, np.random.default_rng(1), hidden)
    settings = Settings(dropout=dropout, precision="highest")
    fused = build_head(X, replicas, c, settings)
    H = fused.forward(training=True).clone()
    inputs = Inputs(X, fused.runs, settings)
    reference = (
        MLPHead(inputs, fused.runs, replicas, c, hidden, settings)
        if hidden
        else LinearHead(inputs, fused.runs, replicas, c, settings)
    )
    if dropout:
        inputs.masks = {r: Replay(m[:n] != 0) for r, m in fused.inputs.masked.items()}
    if dropout and hidden:
        reference.masks = {r: Replay(bits[:, :n].T) for r, bits in fused.bits.items()}
    assert make.distance(reference.forward(training=True), H) < 1e-5
    gradient = tensor(R, n, c, seed=2)
    reference.backward(gradient)
    fused.backward(gradient)
    for name, tensors in reference.parameters.items():
        for ours, theirs in zip(tensors, fused.parameters[name], strict=True):
            there = theirs.grad.T if name == "weight1" else theirs.grad  # kept transposed on CUDA
            assert make.distance(ours.grad, there) < 1e-4, name
    assert make.distance(reference.forward(training=False), fused.forward(training=False)) < 1e-5


def test_masks_are_fresh_every_epoch_and_keep_the_right_share(make, device):
    X = torch.ones(64, 64, device=device)
    replicas = make.replicas(64, 2, 4, np.random.default_rng(2))
    inputs = build_head(X, replicas, 2, Settings(dropout=0.25)).inputs
    drawn = []
    for _ in range(2):
        inputs.draw(training=True)
        drawn += [inputs[0].clone(), inputs[1].clone()]
    kept = torch.stack([(m != 0).float() for m in drawn])
    assert kept.mean(dim=(1, 2)).sub(0.75).abs().max() < 0.04
    overlap = torch.stack([(kept[a] * kept[b]).mean() for a in range(4) for b in range(a)])
    assert overlap.sub(0.75**2).abs().max() < 0.05  # independent between epochs and repetitions
    assert torch.allclose(drawn[0][kept[0] > 0], torch.tensor(1 / 0.75, device=device))


@pytest.mark.parametrize("layer", ["inputs", "hidden"])
def test_masks_differ_by_seed_and_repetition(layer, make, device):
    X = torch.ones(64, 64, device=device)

    def masks(seed):
        head = build_head(X, make.replicas(64, 2, 4, np.random.default_rng(2), 64), 2, Settings(seed=seed))
        head.forward(training=True)
        drawn = head.inputs.masked if layer == "inputs" else head.bits
        return [(drawn[r] != 0).float() for r in (0, 1)]

    first, other = masks(0), masks(1)
    np.testing.assert_array_equal(first[0].cpu(), masks(0)[0].cpu())
    for a, b in [(first[0], first[1]), (first[0], other[0]), (first[1], other[1])]:
        assert (a == b).float().mean().item() == pytest.approx(0.5, abs=0.05)


def test_keys_of_masks_are_distinct():
    assert len({mask_key(s, r, layer, 8) for s in range(3) for r in range(3) for layer in range(2)}) == 18


def test_what_the_optimizer_gets(make, device, tensor):
    replicas = make.replicas(9, 2, 3, np.random.default_rng(3), 8)
    for precision in ("highest", "half"):
        head = build_head(100 * tensor(9, 7), replicas, 2, Settings(precision=precision))
        trained = head.trained()
        assert {id(t.parameter) for t in trained} == {id(p) for p in head.all_parameters()}
        copies = [t for t in trained if t.copy is not None]
        assert len(copies) == (len(head.runs) if precision == "half" else 0)
        for t in trained:
            assert t.scale == (head.inputs.scale if t.copy is not None else 1.0)
    linear = build_head(tensor(9, 7), replicas, 2, Settings(model="sgc"))
    assert [t.parameter is p for t, p in zip(linear.trained(), linear.all_parameters(), strict=True)]
