"""Pseudo-labels: aligned, smoothed and weighted."""

import pytest
import torch
from torch.nn.functional import normalize

from grande_gnn.images.pseudo_targets import REMEMBERED, WINDOW, PseudoTargets, Recent

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
    bank, remembered = run.bank.stacked.flatten(0, 1), run.remembered.stacked.flatten(0, 1)
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


def test_recent_tensors_are_kept_in_order_and_in_place():
    recent = Recent(3)
    for number in range(3):
        recent.append(torch.tensor([number, -number]))
        assert recent.stacked[:, 0].tolist() == list(range(number + 1))
    place = recent.stacked.data_ptr()
    recent.append(torch.tensor([3, -3]))
    assert recent.stacked.tolist() == [[1, -1], [2, -2], [3, -3]]
    assert recent.stacked.data_ptr() == place
    recent.append(torch.tensor([4]))  # batches became smaller
    assert recent.stacked.tolist() == [[4]]
    assert not recent.is_full


def test_recent_tensors_can_be_restored_and_are_then_a_copy():
    recent, other = Recent(3), Recent(3)
    assert recent.state() == []
    for number in range(5):
        recent.append(torch.tensor([number]))
    other.append(torch.tensor([9, 9]))
    other.restore(recent.state())
    recent.append(torch.tensor([5]))
    assert other.stacked.tolist() == [[2], [3], [4]]
    assert other.is_full


def test_they_are_settled_once_nothing_grows_any_more():
    run, without = PseudoTargets(torch.tensor([0.5, 0.5]), 0.2), PseudoTargets(None, 0.2)
    for number in range(1, WINDOW + 1):
        for targets, after in ((run, WINDOW), (without, REMEMBERED)):
            targets.targets(LOGITS, Z, Z[:2], KNOWN)
            assert targets.is_settled == (number >= after)


def test_the_given_shares_are_copied():
    shares = torch.tensor([0.5, 0.5])
    run = PseudoTargets(shares, 0.2)
    shares.zero_()
    assert run.marginal.tolist() == [0.5, 0.5]
