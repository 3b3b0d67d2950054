"""Masks are a function of (seed, repetition, layer, width, epoch) and of nothing else."""

import numpy as np
import pytest
import torch

from grande_gnn.engine.dropout import MaskStream


def masks(key=(0, 0, 0), shape=(50, 30), p=0.5, count=3):
    stream = MaskStream(shape, p, key)
    return torch.stack([stream.next() for _ in range(count)])


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_one_key_gives_one_series(p):
    np.testing.assert_array_equal(masks(p=p), masks(p=p))


@pytest.mark.parametrize("p", [0.5, 0.3])
@pytest.mark.parametrize("key", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)])
def test_another_seed_repetition_or_layer_gives_another(key, p):
    same = (masks(p=p) == masks(key, p=p)).float().mean().item()
    expected = p**2 + (1 - p) ** 2  # how often independent masks agree
    assert same == pytest.approx(expected, abs=0.04)


def test_every_epoch_has_a_new_mask():
    first, second, third = masks()
    for other in (second, third):
        assert (first == other).float().mean().item() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_ones_and_zeros_in_the_right_share(p):
    got = masks(shape=(300, 101), p=p, count=4)
    assert got.dtype == torch.float32
    assert got.shape == (4, 300, 101)
    assert set(got.unique().tolist()) <= {0.0, 1.0}
    spread = 5 * np.sqrt(p * (1 - p) / got.numel())
    assert got.mean().item() == pytest.approx(1 - p, abs=spread + 1e-9)
    for axis in (0, 1, 2):  # no row, column or epoch is special
        share = got.mean(dim=[a for a in range(3) if a != axis])
        assert (share - (1 - p)).abs().max() <= 6 * np.sqrt(
            p * (1 - p) / (got.numel() / got.shape[axis])
        ) + 1e-9


@pytest.mark.parametrize("p", [0.5, 0.3])
@pytest.mark.parametrize("shape", [(50, 30), (2000, 101), (43_000, 101)])
def test_multiplying_block_by_block_uses_the_same_mask(p, shape):
    values = torch.rand(shape) + 0.5
    out = torch.empty_like(values)
    stream = MaskStream(shape, p, (0, 0, 0))
    for mask in masks(shape=shape, p=p, count=2):
        stream.multiply(values, out)
        assert torch.equal(out, values * mask)
    stream.multiply(values, out, kept=1 / (1 - p))
    assert torch.equal(out, values * (masks(shape=shape, p=p)[2] * (1 / (1 - p))))


@pytest.mark.parametrize("shape", [(8, 4), (3, 5), (50, 30)])  # 4, 2 and 188 bytes per mask
def test_the_bits_are_those_of_numpys_own_bytes(shape):
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([0, 0, 0, shape[1]])))
    n = shape[0] * shape[1]
    for mask in masks(shape=shape, count=3):
        bits = np.unpackbits(np.frombuffer(rng.bytes((n + 7) // 8), dtype=np.uint8), count=n)
        np.testing.assert_array_equal(mask.flatten(), bits)


def test_rows_of_a_drawn_mask_can_be_asked_for_more_than_once():
    rows = MaskStream((50, 30), 0.5, (0, 0, 0)).draw()
    np.testing.assert_array_equal(rows(slice(10, 20)), masks(count=1)[0, 10:20])
    np.testing.assert_array_equal(rows(slice(10, 20)), masks(count=1)[0, 10:20])
