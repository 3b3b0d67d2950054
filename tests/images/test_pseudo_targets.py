"""Pseudo-labels: aligned, smoothed and weighted."""

import pytest
import torch
from torch.nn.functional import normalize

from grande_gnn.images.pseudo_targets import REMEMBERED, PseudoTargets

LOGITS = torch.tensor([[3.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
Z = normalize(torch.randn(4, 8, generator=torch.Generator().manual_seed(0)), dim=1)
KNOWN = torch.tensor([0, 1])


def first(marginal):
    return PseudoTargets(marginal, 0.2).targets(LOGITS, Z, Z[:2], KNOWN)


def test_they_are_aligned_to_the_expected_shares():
    raw = torch.softmax(LOGITS, 1)
    for share in (0.5, 0.9):
        marginal = torch.tensor([share, 1 - share])
        aligned = raw * marginal / raw.mean(0)
        torch.testing.assert_close(first(marginal), aligned / aligned.sum(1, keepdim=True))


def test_shares_that_are_as_predicted_change_nothing():
    raw = torch.softmax(LOGITS, 1)
    torch.testing.assert_close(first(raw.mean(0)), raw)
    torch.testing.assert_close(first(None), raw)


def test_a_full_bank_smooths_them():
    run = PseudoTargets(torch.tensor([0.5, 0.5]), 0.2)
    aligned = run.targets(LOGITS, Z, Z[:2], KNOWN)
    for _ in range(REMEMBERED - 1):
        torch.testing.assert_close(run.targets(LOGITS, Z, Z[:2], KNOWN), aligned)
    bank, remembered = (torch.cat(parts) for parts in zip(*run.bank, strict=True))
    assert len(bank) == REMEMBERED * 6
    expected = 0.9 * aligned + 0.1 * torch.softmax(Z @ bank.T / 0.2, 1) @ remembered
    smoothed = run.targets(LOGITS, Z, Z[:2], KNOWN)
    torch.testing.assert_close(smoothed, expected)
    torch.testing.assert_close(smoothed.sum(1), torch.ones(4))


def test_the_surer_half_counts_fully_and_the_others_by_their_distance():
    p = torch.tensor([0.5, 0.6, 0.9, 1.0])
    weights = PseudoTargets(None, 0.2).weights(torch.stack([p, 1 - p], 1))
    mean, variance = p.mean(), p.var(correction=0)
    assert weights[2:].tolist() == [1, 1]
    torch.testing.assert_close(weights[:2], torch.exp(-2 * (p[:2] - mean) ** 2 / variance))


def test_the_bar_follows_the_confidence_slowly():
    run = PseudoTargets(None, 0.2)
    low, high = (torch.tensor([[a, 1 - a], [a + 0.1, 0.9 - a]]) for a in (0.5, 0.8))
    run.weights(low)
    run.weights(high)
    assert run.center.item() == pytest.approx(0.55 + 0.05 * 0.3, abs=1e-6)
